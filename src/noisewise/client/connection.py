"""Requests to a server: certificates are checked, lost answers asked for again, and nothing is done twice.

A request that changes something carries a key, and a second try carries the same one: the server answers it
with what the first did. So a try may be repeated whatever has become of the one before.
"""

import builtins
import http.client
import importlib
import json
import os
import random
import socket
import ssl
import threading
import time
import weakref
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode, urlsplit

from noisewise.client.opening import HiddenToken, ServerAddress
from noisewise.core.refusals import refusal_from
from noisewise.core.text import printable
from noisewise.core.version import __version__
from noisewise.study.log.told import MeasurementWarning

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
            return Line(place.host, place.port, timeout=self._timeout)
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


def proxy_for(address: ServerAddress) -> Proxy | None:
    """The proxy that the environment names for a server by https://; plain connections need none."""
    if not address.secure or address.on_this_machine:
        return None
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies_environment, proxy_bypass

    named = getproxies_environment()
    found = named.get("https") or named.get("all")
    if not found or proxy_bypass(f"{address.host}:{address.port}"):
        return None
    refusal = ValueError("HTTPS_PROXY must be the address of a proxy, such as http://proxy.example.org:3128.")
    try:
        parts = urlsplit(found if "://" in found else f"http://{found}")
        port = parts.port or 80
    except ValueError:
        raise refusal from None
    if not parts.hostname:
        raise refusal
    if parts.scheme != "http":
        raise ValueError(
            f"HTTPS_PROXY names a proxy by {printable(parts.scheme)}://, which is not supported: use one by "
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


PROBLEM = "application/problem+json"
#: Characters of an answer that is none, in a message.
SHOWN = 80
#: Errors of a study by name, and where those are that are not Python's own.
ERRORS: dict[str, type[Exception]] = {"KeyError": KeyError, "TypeError": TypeError, "ValueError": ValueError}
OWN_ERRORS = {
    "DamagedError": "noisewise.study.stores.protocol",
    "NameTakenError": "noisewise.study.stores.protocol",
    "ToldOtherwiseError": "noisewise.study.telling.rows",
}


def error_called(name: str) -> type[Exception]:
    """The error of this name; a ValueError if there is none."""
    if name in OWN_ERRORS:
        found: type[Exception] = getattr(importlib.import_module(OWN_ERRORS[name]), name)
        return found
    return ERRORS.get(name, ValueError)


def problem_in(kind: str, content: bytes) -> dict[str, Any] | None:
    """The problem document of an answer; None: it is none, so that no noisewise has answered."""
    if kind.partition(";")[0].strip().lower() != PROBLEM:
        return None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("detail"), str) else None


def refusal(where: str, status: int, problem: dict[str, Any] | None, with_token: bool) -> Exception:
    """The error that an answer stands for.

    Args:
        where: The address.
        status: Of the answer.
        problem: What `problem_in` found.
        with_token: Whether a token was sent.
    """
    if problem is None:
        return ConnectionError(f"{where} answers with status {status}, and not as a noisewise server does: "
                               "look at the address, and at its prefix.")  # fmt: skip
    said = printable(problem["detail"])
    if status == 401 and with_token:
        return PermissionError(
            f"{where} does not know this token: it may be revoked, or for another server. Ask for a new one "
            "(noisewise token add)."
        )
    if status == 401:
        return PermissionError(
            f"{where} asks for a token: say token=, or set NOISEWISE_TOKEN (noisewise token add makes one)."
        )
    if status == 403:
        return PermissionError(said)
    if problem.get("error") is not None:
        error, plain = str(problem["error"]), problem.get("refusal")
        refused = refusal_from(plain, error) if isinstance(plain, dict) else None
        if refused is None or error in OWN_ERRORS:
            return error_called(error)(said if refused is None else printable(str(refused)))
        return refused
    if status in (429, 503):
        return ConnectionError(f"{where} is too busy, or cannot use its store: {said}")
    if status >= 500:
        return OSError(f"{where}: {said}")
    if status == 412:
        from noisewise.study.stores.protocol import LogMovedOnError

        return LogMovedOnError(said)
    if status in (404, 405):
        return ConnectionError(
            f"{where} has nothing at the address that this noisewise asks for (version 1 of the interface): "
            "look at the address and its prefix, and use the same version on both sides."
        )
    return ValueError(said)


def warnings_in(answer: dict[str, Any]) -> Iterator[tuple[type[Warning], str]]:
    """What a study warned of, and as what."""
    said = answer.get("warnings")
    for one in said if isinstance(said, list) else []:
        plain = one if isinstance(one, dict) else {"message": one}
        yield _category(str(plain.get("category"))), printable(str(plain.get("message")))


def _category(name: str) -> type[Warning]:
    """The category of this name, as far as a study warns with it."""
    if name == MeasurementWarning.__name__:
        return MeasurementWarning
    kind = getattr(builtins, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, Warning) else UserWarning


def no_json(where: str, content: bytes) -> Exception:
    """The refusal of an answer that makes no sense."""
    begins = printable(content[:SHOWN].decode("utf-8", "replace"))
    return ConnectionError(
        f"{where} answers with something that is not noisewise's ({begins!r}): look at the address, and at "
        "its prefix."
    )


@contextmanager
def understanding(where: object) -> Iterator[None]:
    """Refuse an answer without the parts that it should have."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        missing = f"without {problem.args[0]!r}" if isinstance(problem, KeyError) else "with other parts"
        raise ConnectionError(
            f"{where} answers {printable(missing)}, which this noisewise does not understand: use the same "
            "version on both sides."
        ) from None


def redirected(address: ServerAddress, status: int, target: str) -> Exception:
    """The refusal to be sent elsewhere: the token is for this server, and for no other."""
    there = printable(target.partition("?")[0].partition("/api/")[0])
    return ConnectionError(
        f"{address} redirects to {there} (status {status}), which is not followed, since a token is for one "
        "server: if you trust it, use that address."
    )


API = "/api/v1"
#: Seconds from one try to the next: at first, and at most.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
#: Bytes of one answer, and of one piece of it.
MOST_BYTES, PIECE = 2**30, 2**16
#: Connections that are kept for the next request.
KEPT = 16
#: Answers of a proxy whose server is starting, or ended before it answered; and all that say: not now.
NO_ANSWER = (502, 504)
NOT_NOW = (429, 503, *NO_ANSWER)
Query = Mapping[str, str | int | float | None]


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def tag(self) -> str | None:
        """The version that it is about."""
        return self.headers.get("ETag")


class ServerConnection:
    """Requests to one server, from any thread.

    Args:
        address: Of the server.
        token: The bearer token, if there is one; it is sent there and nowhere else, and never shown.
        timeout: Seconds for an answer, and for going on trying where none comes.
    """

    def __init__(self, address: ServerAddress, token: HiddenToken | None, timeout: float) -> None:
        self.address, self._token, self.timeout = address, token, timeout
        if token is not None and not address.secure and not address.on_this_machine:
            raise ValueError(
                f"{address} is not encrypted, and everybody on the way could read the token: use https://, "
                f"or a tunnel (ssh -L 8321:localhost:{address.port} {address.host}) and http://localhost:8321."
            )
        self._route = Route(address, timeout)
        self._idle: list[Line] = []
        self._changing, self._process = threading.Lock(), os.getpid()
        weakref.finalize(self, close_all, self._idle)

    def __repr__(self) -> str:
        return f"ServerConnection({self.address})"

    def get(self, path: str, query: Query | None = None, tag: str | None = None) -> Reply:
        """Look; with a tag, status 304 says that nothing has changed since."""
        headers = {} if tag is None else {"If-None-Match": tag}
        return self.call("GET", path, query=query, headers=headers)

    def post(
        self, path: str, body: Any, key: str | None = None, *, only_at: int | None = None, again: bool = True
    ) -> Any:
        """Change something, and return the answer's JSON.

        Args:
            path: See `call`.
            body: See `call`.
            key: By which the server knows a second try.
            only_at: The number of events that the study must have; `LogMovedOnError` if it has others.
            again: See `call`.
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        headers |= {} if only_at is None else {"If-Match": f'"{only_at}"'}
        return self.json_of(self.call("POST", path, body=body, headers=headers, again=again))

    def json_of(self, reply: Reply) -> Any:
        """The JSON object of an answer."""
        try:
            found = json.loads(reply.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise no_json(str(self.address), reply.content)
        return found

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        patience: float | None = None,
        again: bool = True,
    ) -> Reply:
        """Send a request until it is answered; refusals are raised as the study's own errors.

        Args:
            method: Of HTTP.
            path: Below the interface, beginning with a slash; see `path_of`.
            query: Its parameters; None leaves one out.
            body: What is sent as JSON; bytes are JSON already.
            headers: More of them.
            patience: Seconds after which no other try is made; default: the time-out.
            again: Whether a try whose answer was lost may be repeated; else `OutcomeUnknownError`.
        """
        target = f"{self.address.prefix}{API}{path}"
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        target += f"?{urlencode(asked)}" if asked else ""
        content = body if body is None or isinstance(body, bytes) else written(body)
        give_up = time.monotonic() + (self.timeout if patience is None else patience)
        pause = 0.0  # a connection that was kept may have been closed: then the next try follows at once
        while True:
            try:
                reply = self._once(method, target, content, headers or {})
            except (OSError, http.client.HTTPException) as problem:
                lost = not (again or isinstance(problem, ConnectionRefusedError))
                if lost or is_final(problem) or time.monotonic() + pause >= give_up:
                    raise self._no_answer(problem, method) from None
            else:
                late = time.monotonic() + pause >= give_up
                if reply.status not in NOT_NOW or late or self._is_settled(reply):
                    return self._accepted(reply)
                if reply.status in NO_ANSWER and not again:
                    raise self._no_answer(ConnectionError("the proxy had no answer"), method)
                pause = max(pause, _asked_to_wait(reply, give_up))
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2.0 * pause)) * random.uniform(0.75, 1.25)

    def _once(self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]) -> Reply:
        line = self._take()
        try:
            line.request(method, target, content, {**self._headers(content is not None), **headers})
            answer = line.getresponse()
            reply = Reply(answer.status, answer.headers, self._read(answer))
        except BaseException:
            line.close()
            raise
        if answer.will_close or not self._keep(line):
            line.close()
        return reply

    def _read(self, answer: http.client.HTTPResponse) -> bytes:
        pieces, size, give_up = [], 0, time.monotonic() + max(self.timeout, 1.0) * 4.0
        while piece := answer.read(PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                raise OSError(f"an answer of more than {MOST_BYTES:,} bytes")
            if time.monotonic() > give_up:
                raise TimeoutError("an answer that does not end")
        if answer.length:  # what was announced and did not come
            raise http.client.IncompleteRead(b"", answer.length)
        return b"".join(pieces)

    def _headers(self, with_body: bool) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"noisewise/{__version__}"}
        if with_body:
            headers["Content-Type"] = "application/json"
        if self._token is not None:
            headers["Authorization"] = self._token.header
        return headers

    def _is_settled(self, reply: Reply) -> bool:
        """Whether waiting would not help: the study itself says why it cannot."""
        problem = problem_in(reply.headers.get("Content-Type", ""), reply.content)
        return problem is not None and problem.get("error") is not None

    def _accepted(self, reply: Reply) -> Reply:
        where = str(self.address)
        if reply.status == 304 or 200 <= reply.status < 300:
            return reply
        if 300 <= reply.status < 400:
            raise redirected(self.address, reply.status, reply.headers.get("Location", ""))
        problem = problem_in(reply.headers.get("Content-Type", ""), reply.content)
        raise refusal(where, reply.status, problem, self._token is not None)

    def _no_answer(self, problem: Exception, method: str) -> Exception:
        """One sentence on why there is no answer, and what to do."""
        where, why = str(self.address), _why(problem, self.timeout)
        if method in ("GET", "HEAD") or is_final(problem) or isinstance(problem, ConnectionRefusedError):
            return ConnectionError(f"{where} cannot be reached: {why}.")
        from noisewise.study.stores.protocol import OutcomeUnknownError

        return OutcomeUnknownError(
            f"{where} has not answered ({why}): the change was made, or it was not. Call the same again: "
            "what was made is not made twice."
        )

    def _take(self) -> Line:
        with self._changing:
            if self._process != os.getpid():  # connections of the parent are not ours
                close_all(self._idle)
                self._process = os.getpid()
            if self._idle:
                return self._idle.pop()
        return self._route.new_line()

    def _keep(self, line: Line) -> bool:
        with self._changing:
            if len(self._idle) >= KEPT:
                return False
            self._idle.append(line)
        return True

    def close(self) -> None:
        """Let go of all connections."""
        with self._changing:
            close_all(self._idle)


def written(body: Any) -> bytes:
    """What is sent, as JSON; numbers of NumPy are numbers."""

    def plain(thing: Any) -> Any:
        if not hasattr(thing, "tolist"):
            raise TypeError(f"{type(thing).__name__} is none of these")
        return thing.tolist()

    try:
        return json.dumps(body, allow_nan=False, default=plain).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise TypeError(
            f"what is sent to a server must be finite numbers, texts, lists and mappings; {problem}."
        ) from None


def path_of(*parts: str) -> str:
    """A path below the interface; the name of a study may hold slashes, which are written as ~1."""
    written = (part.replace("~", "~0").replace("/", "~1") for part in parts)
    # Proxies take "." and ".." for steps in a path.
    named = (one.replace(".", "~2") if one in (".", "..") else one for one in written)
    return "".join(f"/{quote(one, safe='~')}" for one in named)


def is_final(problem: Exception) -> bool:
    """Whether another try would meet the same: no such host, no trusted certificate, no HTTP."""
    if isinstance(problem, http.client.BadStatusLine):
        return not isinstance(problem, http.client.RemoteDisconnected)
    if isinstance(problem, socket.gaierror):
        return problem.errno != socket.EAI_AGAIN  # which is: not now
    return isinstance(problem, ProxyRefusalError | ssl.SSLCertVerificationError) or (
        isinstance(problem, ssl.SSLError) and "WRONG_VERSION" in str(problem)
    )


def _asked_to_wait(reply: Reply, give_up: float) -> float:
    """Seconds that the server asks to wait, as far as there is time."""
    text = reply.headers.get("Retry-After", "")
    wait = float(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0.0
    return max(0.0, min(wait, give_up - time.monotonic() - FIRST_PAUSE))


def _why(problem: Exception, timeout: float) -> str:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({printable(problem.verify_message)}); for a certificate of "
            "your own authority set SSL_CERT_FILE"
        )
    if isinstance(problem, ProxyRefusalError):
        return str(problem)
    if isinstance(problem, ssl.SSLError):
        return "it does not speak TLS there: look at the port, or use http:// on this machine"
    if isinstance(problem, socket.gaierror):
        return "there is no such host: look for a typing error"
    if isinstance(problem, TimeoutError):
        return f"no answer within {timeout:g} s; try again, or give it more time (timeout=)"
    if isinstance(problem, ConnectionRefusedError):
        return "nothing listens there: is the server running, and the port right?"
    if isinstance(problem, http.client.BadStatusLine) and is_final(problem):
        return "what answers there is no web server: look at the port"
    if isinstance(problem, http.client.HTTPException | ConnectionError):
        return "the connection broke before the answer was complete"
    return printable(problem.strerror or str(problem)) if isinstance(problem, OSError) else "no answer"
