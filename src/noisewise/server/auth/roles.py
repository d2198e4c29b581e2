"""Roles, who is asking, and the dependency by which a route says whom it needs."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, NamedTuple

from fastapi import Request
from fastapi.routing import APIRoute

from noisewise.operations.table import Role as Role
from noisewise.server.problems import ProblemError


class Visitor(NamedTuple):
    """Who is asking."""

    role: Role | None = None  # None: unknown
    name: str | None = None  # becomes `by`; None where there are no tokens
    token: str | None = None  # the id of the token, which is not secret
    session: str | None = None  # of a browser; then changes need the CSRF token

    @property
    def may_correct(self) -> bool:
        """Whether they may let what was told count otherwise."""
        return self.role is not None and self.role >= Role.OWNER


ROLES = {role.word: role for role in Role}
#: What a request without a valid token is told.
WHO_ARE_YOU = (
    "this needs a token: send it as `Authorization: Bearer nw_...`, or sign in; an owner makes one with "
    "`noisewise token add`."
)


def visitor_of(request: Request) -> Visitor:
    """Who is asking, as the guards found out."""
    found: Visitor = request.scope["visitor"]
    return found


def check_role(visitor: Visitor, role: Role) -> None:
    """Refuse a visitor without at least this role."""
    if visitor.role is None:
        raise ProblemError(401, WHO_ARE_YOU, headers={"WWW-Authenticate": 'Bearer realm="noisewise"'})
    if visitor.role < role:
        raise ProblemError(
            403, f"this needs the role {role.word}; {visitor.name} has the role {visitor.role.word}."
        )


def needs(role: Role) -> Callable[[Request], Awaitable[Visitor]]:
    """The dependency of a route that needs at least this role, as in ``Depends(needs(Role.WORKER))``.

    It gives the visitor. A test goes through all routes and tries every role on each.
    """

    async def allowed(request: Request) -> Visitor:  # without a thread of its own
        visitor = visitor_of(request)
        check_role(visitor, role)
        return visitor

    allowed.role = role  # type: ignore[attr-defined]
    return allowed


def role_of(route: Any) -> Role | None:
    """The role that a route declares; None: it is for everybody."""
    found = [
        getattr(one.call, "role", None)
        for one in getattr(getattr(route, "dependant", None), "dependencies", ())
    ]
    return max((role for role in found if role is not None), default=None)


def routes_of(routes: Iterable[Any], prefix: str = "") -> Iterator[tuple[str, str, Any]]:
    """All routes of an app as method, path and route, those of routers that were included among them."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield from ((method, prefix + route.path, route) for method in sorted(route.methods or ()))
        elif hasattr(route, "original_router"):
            inside = getattr(getattr(route, "include_context", None), "prefix", "") or ""
            yield from routes_of(route.original_router.routes, prefix + inside)
