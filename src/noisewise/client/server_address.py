"""The address of a server: host, port, and the prefix under which a proxy shows it."""

import ipaddress
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from noisewise.core.text import printable

SCHEMES = ("https://", "http://")
#: Names of this very machine.
LOCAL = ("localhost", "localhost.localdomain")


class ServerAddress(NamedTuple):
    """Where a server is."""

    secure: bool  # https
    host: str
    port: int
    prefix: str  # such as "/lab"; empty: none

    @property
    def origin(self) -> str:
        """Scheme, host and port, as one writes them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.port == (443 if self.secure else 80)
        return f"{SCHEMES[0 if self.secure else 1]}{host}{'' if usual else f':{self.port}'}"

    def __str__(self) -> str:
        return f"{self.origin}{self.prefix}"

    @property
    def on_this_machine(self) -> bool:
        """Whether what is sent there stays on this machine."""
        if self.host.lower() in LOCAL:
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def is_address(store: Any) -> bool:
    """Whether a store is a server, rather than a file or a database."""
    return isinstance(store, str) and store.lower().startswith(SCHEMES)


def read_address(text: str) -> ServerAddress:
    """An address as people write it: ``https://host``, ``https://host:8443/lab/``."""
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise ValueError(
            f"`store` must be an address such as https://host/prefix; got {printable(text)!r}."
        ) from None
    if parts.username is not None or parts.password is not None:
        # Without the address, in which a secret stands.
        raise ValueError(
            "`store` must be an address without a name or password in it: give a token with token=, or in "
            "the variable NOISEWISE_TOKEN."
        )
    if not parts.hostname or parts.query or parts.fragment:
        raise ValueError(
            "`store` must be an address such as https://host/prefix, without ? or #; got "
            f"{printable(text.partition('?')[0].partition('#')[0])!r}."
        )
    secure = parts.scheme.lower() == "https"
    prefix = quote(parts.path.rstrip("/"), safe="/%~:@!$&'()*+,;=")
    return ServerAddress(secure, parts.hostname, port or (443 if secure else 80), prefix)
