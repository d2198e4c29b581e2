"""Who sends a request: tokens, sessions of browsers, and how many requests each may send."""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable

from noisewise.server.auth.roles import ROLES, Role, Visitor
from noisewise.server.auth.tokens import Token, TokenFile

#: Buckets that are remembered; a full one need not be.
MOST_BUCKETS = 10_000


class RateLimit:
    """At most ``rate`` requests a second on average, and ``burst`` at once, for each key."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst = rate, burst
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}  # how much is left, and when that was
        self._changing = threading.Lock()

    def wait(self, key: str) -> float:
        """Take one; 0 if that is allowed, else the seconds until it is."""
        now = self._clock()
        with self._changing:
            left = self._left(key, now)
            if left < 1.0:
                return (1.0 - left) / self.rate
            if len(self._buckets) >= MOST_BUCKETS:
                self._forget_full(now)
            self._buckets[key] = (left - 1.0, now)
            return 0.0

    def _left(self, key: str, now: float) -> float:
        left, then = self._buckets.get(key, (self.burst, now))
        return min(self.burst, left + (now - then) * self.rate)

    def _forget_full(self, now: float) -> None:
        kept = {key: self._buckets[key] for key in self._buckets if self._left(key, now) < self.burst}
        # If all are in use, somebody invents keys: those who are known begin anew.
        self._buckets = kept if len(kept) < MOST_BUCKETS else {}


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
        """A new session of somebody with a token, by its id; what the cookie says."""
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

    def goes_on(self, session: str) -> bool:
        """Whether a session goes on; asking does not keep it alive."""
        with self._changing:
            found = self._tokens.get(hashed(session))
            return found is not None and self._clock() - found[1] <= IDLE

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


#: Requests a second of one token, on average and at once; and of strangers, by address.
RATE, BURST = 500.0, 2000.0
STRANGER_RATE, STRANGER_BURST = 10.0, 100.0


class Keys:
    """Who may come in: the tokens, the sessions of browsers, and how often they may ask."""

    def __init__(
        self, tokens: TokenFile | None, *, read_only: bool = False, rate: float = RATE, burst: float = BURST
    ) -> None:
        self.tokens, self.read_only = tokens, read_only
        self._closed = False
        self.sessions = Sessions()
        self.known = RateLimit(rate, burst)
        self.strangers = RateLimit(STRANGER_RATE, STRANGER_BURST)

    @property
    def open(self) -> bool:
        """Whether there never was a token: then whoever reaches the server is an owner.

        Revoking the last token, or removing the file, lets nobody in.
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

    def is_welcome(self, visitor: Visitor) -> bool:
        """Whether who came in may still be here: with a token that is valid, and a session that goes on."""
        try:
            if self.tokens is None or visitor.token is None:
                return self.open  # who came in before there was a token has none
            valid = self.tokens.is_valid(visitor.token)
        except (ValueError, OSError):  # tokens that cannot be read let nobody in
            return False
        return valid and (visitor.session is None or self.sessions.goes_on(visitor.session))

    def _with(self, token: Token | None, session: str | None) -> Visitor:
        return Visitor() if token is None else Visitor(ROLES[token.role], token.name, token.id, session)

    def wait(self, visitor: Visitor, address: str) -> float:
        """Seconds until this visitor may ask again; 0: now."""
        if visitor.role is None:
            return self.strangers.wait(address)
        return self.known.wait(visitor.token or "local")


def session_in(headers: dict[bytes, bytes]) -> str | None:
    """The session that a cookie names; `http.cookies` takes longer than linear time for some headers."""
    for cookie in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, value = cookie.partition("=")
        if name.strip() == COOKIE:
            return value.strip()
    return None
