"""Sessions of browsers: a cookie for a token, and the CSRF token of forms.

Sessions are in memory: a server that is started anew asks browsers to sign in again.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable

COOKIE = "noisewise_session"
#: Seconds without a request after which a session ends.
IDLE = 12 * 3600.0
#: Sessions at a time; beyond them the one that was idle longest ends.
MOST = 10_000
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
        while len(self._tokens) >= MOST:
            del self._tokens[min(self._tokens, key=lambda key: self._tokens[key][1])]


def hashed(session: str) -> str:
    """Sessions are kept as hashes, like tokens."""
    return hashlib.sha256(session.encode(errors="replace")).hexdigest()
