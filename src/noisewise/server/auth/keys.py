"""Who sends a request: tokens, and sessions of browsers."""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable

from noisewise.server.auth.roles import ROLES, Role, Visitor
from noisewise.server.auth.tokens import Token, TokenFile

COOKIE = "noisewise_session"
#: Seconds without a request after which a session ends.
IDLE = 12 * 3600.0
#: Sessions at a time; beyond them the one that was idle longest ends.
MOST_SESSIONS = 10_000
#: Forms and requests of scripts send the CSRF token under these names.
CSRF_FIELD, CSRF_HEADER = "csrf_token", "x-csrf-token"


class Sessions:
    """Which browser has signed in with which token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._tokens: dict[str, tuple[str, float]] = {}  # the id of the token, and when it was last seen
        self._changing = threading.Lock()

    def begin(self, token: str) -> str:
        """A new session of the holder of a token, by its id; what the cookie says."""
        session = secrets.token_urlsafe(32)
        with self._changing:
            self._forget_old()
            self._tokens[hashed(session)] = (token, self._clock())
        return session

    def find(self, session: str) -> str | None:
        """The id of the token of a session that goes on."""
        key = hashed(session)
        with self._changing:
            token, seen = self._tokens.get(key, ("", 0.0))
            if not token:
                return None
            if self._clock() - seen > IDLE:
                del self._tokens[key]
                return None
            self._tokens[key] = (token, self._clock())
            return token

    def end(self, session: str) -> None:
        """Sign out."""
        with self._changing:
            self._tokens.pop(hashed(session), None)

    def csrf(self, session: str | None) -> str:
        """What a form of this session must send; without tokens, and so without sessions, of this server."""
        return hmac.new(self._key, (session or "local").encode(), hashlib.sha256).hexdigest()

    def is_csrf(self, session: str | None, sent: str) -> bool:
        """Whether it is the one."""
        return hmac.compare_digest(self.csrf(session).encode(), sent.encode())

    def _forget_old(self) -> None:
        now = self._clock()
        for key in [key for key, (_, seen) in self._tokens.items() if now - seen > IDLE]:
            del self._tokens[key]
        while len(self._tokens) >= MOST_SESSIONS:
            del self._tokens[min(self._tokens, key=lambda key: self._tokens[key][1])]


def hashed(session: str) -> str:
    """Sessions are kept as hashes, like tokens."""
    return hashlib.sha256(session.encode(errors="replace")).hexdigest()


class Keys:
    """Who may come in: the tokens, and the sessions of browsers."""

    def __init__(self, tokens: TokenFile | None) -> None:
        self.tokens, self._closed = tokens, False
        self.sessions = Sessions()

    @property
    def open(self) -> bool:
        """Whether there never was a token: then everyone who reaches the server is an owner.

        Revoking the last token, or removing the file, lets no one in.
        """
        if self.tokens is None or self._closed:
            return not self._closed
        self._closed = bool(self.tokens.tokens(revoked=True))
        return not self._closed

    def visitor(self, headers: dict[bytes, bytes]) -> Visitor:
        """Who sends these headers."""
        if self.tokens is None or self.open:
            return Visitor(Role.OWNER)
        kind, _, secret = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind.lower() == "bearer":
            return self._with(self.tokens.find(secret.strip()), None)
        session = session_in(headers)
        found = None if session is None else self.sessions.find(session)
        if session is None or found is None:
            return Visitor()
        token = next((one for one in self.tokens.tokens() if one.id == found), None)
        return self._with(token, session)

    def _with(self, token: Token | None, session: str | None) -> Visitor:
        return Visitor() if token is None else Visitor(ROLES[token.role], token.name, token.id, session)


def session_in(headers: dict[bytes, bytes]) -> str | None:
    """The session that a cookie names; `http.cookies` takes longer than linear time for some headers."""
    for cookie in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, value = cookie.partition("=")
        if name.strip() == COOKIE:
            return value.strip()
    return None
