"""Who may come in: tokens, sessions of browsers, and how often they may ask."""

from noisewise.web.auth.limits import RateLimit
from noisewise.web.auth.roles import ROLES, Role, Visitor
from noisewise.web.auth.sessions import COOKIE, Sessions
from noisewise.web.auth.tokens import SHARE, Token, TokenFile

#: Requests a second of one token, on average and at once; and of strangers, by address.
RATE, BURST = 500.0, 2000.0
STRANGER_RATE, STRANGER_BURST = 10.0, 100.0


class Keys:
    """Who may come in: the tokens, the sessions of browsers, and how often they may ask."""

    def __init__(
        self,
        tokens: TokenFile | None,
        *,
        read_only: bool = False,
        rate: float = RATE,
        burst: float = BURST,
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
        self._closed = any(token.role != SHARE for token in self.tokens.tokens(revoked=True))
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
        role = None if token is None else self.role_of(token)
        if token is None or role is None:
            return Visitor()
        return Visitor(role, token.name, token.id, session)

    def role_of(self, token: Token) -> Role | None:
        """What the holder of a token may do; links to reports have no role."""
        return ROLES.get(token.role)

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
