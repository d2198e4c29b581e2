"""Connections to a server: direct, or through the proxy that the environment names.

Variables are those of other programs: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, also in small letters. What is
sent to a server by https:// goes through a tunnel, so that the proxy sees neither the token nor the data.
"""

import http.client
import os
import ssl
from base64 import b64encode
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from noisewise.client.server_address import ServerAddress
from noisewise.core.text import printable

Line = http.client.HTTPConnection


class ProxyRefusalError(OSError):
    """A proxy does not let a request through; the sentence says why."""


class Proxy(NamedTuple):
    """Through which requests go."""

    host: str
    port: int
    credentials: str | None  # as a header has them

    @property
    def headers(self) -> dict[str, str]:
        """For the proxy alone."""
        return {} if self.credentials is None else {"Proxy-Authorization": self.credentials}

    def __repr__(self) -> str:  # without the password
        return f"Proxy({self.host}:{self.port})"


class Route:
    """The way to a server, by which connections are made."""

    def __init__(self, address: ServerAddress, timeout: float) -> None:
        self._address, self._timeout = address, timeout
        self._context = ssl.create_default_context() if address.secure else None
        self._proxy = proxy_for(address)

    def new_line(self) -> Line:
        """A connection that opens itself when it is used."""
        place, proxy = self._address, self._proxy
        if self._context is None:
            if proxy is None:
                return Line(place.host, place.port, timeout=self._timeout)
            return ForwardedLine(place, proxy, self._timeout)
        at = place if proxy is None else proxy
        line = TunnelledLine(at.host, at.port, timeout=self._timeout, context=self._context)
        if proxy is not None:
            line.set_tunnel(place.host, place.port, proxy.headers)
        return line


class TunnelledLine(http.client.HTTPSConnection):
    """A connection by TLS, perhaps through a proxy, whose refusal is said as such."""

    def connect(self) -> None:
        """Open it."""
        try:
            super().connect()
        except OSError as problem:
            said = str(problem)
            if not said.startswith("Tunnel connection failed"):
                raise
            status = said.partition(": ")[2]
            if status.startswith(("502", "503", "504")):  # not now
                raise ConnectionResetError(said) from None
            raise ProxyRefusalError(
                f"the proxy {self.host}:{self.port} refuses the way there ({printable(status)}); look at "
                "HTTPS_PROXY, or name the server in NO_PROXY"
            ) from None


class ForwardedLine(Line):
    """A plain connection to a proxy, which is told the whole address; never used with a token."""

    def __init__(self, address: ServerAddress, proxy: Proxy, timeout: float) -> None:
        super().__init__(proxy.host, proxy.port, timeout=timeout)
        self._origin, self._for_proxy = address.origin, proxy.headers

    def putrequest(
        self, method: str, url: str, skip_host: bool = False, skip_accept_encoding: bool = False
    ) -> None:
        """Begin a request."""
        super().putrequest(method, f"{self._origin}{url}", skip_host, skip_accept_encoding)
        for name, value in self._for_proxy.items():
            self.putheader(name, value)


def proxy_for(address: ServerAddress) -> Proxy | None:
    """The proxy that the environment names for a server; what stays on this machine needs none."""
    if address.on_this_machine or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies_environment, proxy_bypass

    named = getproxies_environment()
    found = named.get("https" if address.secure else "http") or named.get("all")
    if not found or proxy_bypass(f"{address.host}:{address.port}"):
        return None
    variable = "HTTPS_PROXY" if address.secure else "HTTP_PROXY"
    refusal = ValueError(f"{variable} must be the address of a proxy, such as http://proxy.example.org:3128.")
    try:
        parts = urlsplit(found if "://" in found else f"http://{found}")
        port = parts.port or 80
    except ValueError:
        raise refusal from None
    if not parts.hostname:
        raise refusal
    if parts.scheme != "http":
        raise ValueError(
            f"{variable} names a proxy by {printable(parts.scheme)}://, which is not supported: use one by "
            "http:// (what goes to an https:// server is encrypted all the way), or set NO_PROXY."
        )
    if parts.username is None:
        return Proxy(parts.hostname, port, None)
    said = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return Proxy(parts.hostname, port, f"Basic {b64encode(said).decode()}")


def close_all(lines: list[Line]) -> None:
    """Let go of connections."""
    while lines:
        lines.pop().close()
