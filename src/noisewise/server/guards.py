"""What every request passes before anything else: Host and Origin, who is asking, how much.

Plain ASGI, so that it costs nothing to speak of and sees the request before a byte of its body is read.
"""

import asyncio
import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from noisewise.core.text import printable
from noisewise.server.auth.keys import CSRF_HEADER, Keys
from noisewise.server.auth.roles import Visitor
from noisewise.server.problems import ProblemError, problem_response

LOG = logging.getLogger("noisewise.server")
#: Nothing but what this server itself sends; no page of others may frame it.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),  # with "no-referrer" browsers send forms with the origin "null"
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: Bytes of a body: of those we know, and of others.
MOST_BYTES, MOST_BYTES_OF_STRANGERS = 16 * 2**20, 64 * 2**10
#: Bytes of an address with its query, and of one header.
MOST_ADDRESS, MOST_OTHER_HEADER = 32 * 2**10, 16 * 2**10
MOST_HEADER = {b"content-type": 1000, b"host": 1000, b"origin": 1000, b"authorization": 1000}
#: Seconds between two pieces of a body, and for all of it.
PIECE_SECONDS, BODY_SECONDS = 20.0, 120.0


class Guards:
    """The outermost layer of the app."""

    def __init__(
        self,
        app: ASGIApp,
        keys: Keys,
        hosts: Sequence[str] | None,
        most_bytes: int = MOST_BYTES,
        seconds: float = BODY_SECONDS,
    ) -> None:
        self.app, self.keys = app, keys
        self.hosts = None if hosts is None else frozenset(host.lower() for host in hosts)
        self.most_bytes, self.seconds = most_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or let the request through with its visitor noted."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        guarded = _with_headers(send)
        _add_prefix(scope)
        _name_untyped(scope)
        try:
            _check_head(scope)
            headers = dict(scope["headers"])
            self._check_host(headers)
            self._check_origin(scope["method"], headers)
            visitor = scope["visitor"] = self._visitor(headers)
            self._check_csrf(scope["method"], visitor, headers, scope["path"])
            most = self.most_bytes if visitor.role is not None else MOST_BYTES_OF_STRANGERS
            limited = LimitedBody(receive, headers, most, self.seconds)
        except ProblemError as problem:
            refusal = problem_response(problem.status_code, problem.detail, problem.headers, **problem.more)
            await refusal(scope, receive, guarded)
            return
        await self.app(scope, limited, guarded)

    def _visitor(self, headers: dict[bytes, bytes]) -> Visitor:
        try:
            return self.keys.visitor(headers)
        except (ValueError, OSError) as problem:
            LOG.error("the tokens cannot be read: %s", printable(problem))
            raise ProblemError(503, "the server cannot read its tokens; its log has the details.") from None

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse names that are not this server's: a page of a stranger's site may lead its name here."""
        host = headers.get(b"host", b"").decode("latin-1")
        if not host or any(letter in host for letter in "/\\@ "):
            raise ProblemError(400, "the request must name its host.")
        if self.hosts is not None and _name(host) not in self.hosts:
            raise ProblemError(
                403,
                f"this server does not answer as {_name(host)!r}; start it with --allow-host if it should.",
            )

    def _check_origin(self, method: str, headers: dict[bytes, bytes]) -> None:
        """Refuse changes that a page of another site asks for."""
        if method in SAFE_METHODS:
            return
        origin, host = headers.get(b"origin"), headers.get(b"host", b"").decode("latin-1")
        other = origin is not None and _place_of(origin.decode("latin-1")) != host.lower()
        if other or headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
            raise ProblemError(
                403,
                "this change was asked for by a page of another site, or the proxy does not pass Host on.",
            )

    def _check_csrf(self, method: str, visitor: Visitor, headers: dict[bytes, bytes], path: str) -> None:
        """Changes by a browser's session need the CSRF token; forms are checked where they are read."""
        if method in SAFE_METHODS or visitor.session is None or is_form(headers):
            return
        sent = headers.get(CSRF_HEADER.encode(), b"").decode("latin-1")
        if not self.keys.sessions.is_csrf(visitor.session, sent):
            raise ProblemError(403, f"changes by a browser need the header {CSRF_HEADER} of its page.")


class LimitedBody:
    """The body of a request as it comes in: not too much of it, and not too slowly."""

    def __init__(self, receive: Receive, headers: dict[bytes, bytes], most: int, seconds: float) -> None:
        self._receive, self._most, self._seconds = receive, most, seconds
        self._read, self._whole = 0, False
        self._began = asyncio.get_running_loop().time()
        length = headers.get(b"content-length", b"0")
        if length == b"0" and b"transfer-encoding" not in headers:
            self._whole = True
        if length.isdigit() and int(length) > most:
            raise self._too_much()

    async def __call__(self) -> Message:
        """The next piece."""
        if self._whole:  # what comes now is the end of the connection, however late
            return await self._receive()
        left = self._began + self._seconds - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(0.0, min(PIECE_SECONDS, left))):  # `wait_for` would make a task
                message = await self._receive()
        except TimeoutError:
            raise ProblemError(
                408, "the body came too slowly; nothing was changed.", headers={"Connection": "close"}
            ) from None
        self._read += len(message.get("body", b""))
        if self._read > self._most:
            raise self._too_much()
        self._whole = not message.get("more_body", False)
        return message

    def _too_much(self) -> ProblemError:
        return ProblemError(
            413,
            f"a body may have {self._most:,} bytes; nothing was changed.",
            headers={"Connection": "close"},
        )


def _check_head(scope: Scope) -> None:
    """Refuse an address or headers that would take long to take apart."""
    address = len(scope.get("raw_path") or scope["path"]) + len(scope.get("query_string", b""))
    if address > MOST_ADDRESS:
        raise ProblemError(414, f"the address of a request may have {MOST_ADDRESS:,} bytes.")
    for name, value in scope["headers"]:
        if len(value) > MOST_HEADER.get(name, MOST_OTHER_HEADER):
            limit = MOST_HEADER.get(name, MOST_OTHER_HEADER)
            raise ProblemError(431, f"the header {name.decode('latin-1')[:40]!r} may have {limit:,} bytes.")


def _add_prefix(scope: Scope) -> None:
    """Let paths begin with the prefix, whether the proxy has cut it off or not; mounted files need that."""
    root = scope.get("root_path", "")
    if root and not scope["path"].startswith(f"{root}/"):
        scope["path"] = root + scope["path"]


def _name_untyped(scope: Scope) -> None:
    """Say of a body without a type that it is bytes (RFC 9110, section 8.3).

    FastAPI below 0.132 would read it as JSON, and a page of another site may send such a body unasked.
    """
    if scope["method"] not in SAFE_METHODS and not dict(scope["headers"]).get(b"content-type"):
        others = [header for header in scope["headers"] if header[0] != b"content-type"]
        scope["headers"] = [*others, (b"content-type", b"application/octet-stream")]


def is_form(headers: dict[bytes, bytes]) -> bool:
    """Whether the body is that of a form, which carries the CSRF token inside."""
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    return kind in (b"application/x-www-form-urlencoded", b"multipart/form-data")


def _place_of(origin: str) -> str:
    """The host and port of an Origin; empty if it has none, or is not an address."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _name(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _with_headers(send: Send) -> Send:
    """Add the headers that every answer has, unless a route has set its own."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *(header for header in HEADERS if header[0] not in there),
            ]
        await send(message)

    return sending
