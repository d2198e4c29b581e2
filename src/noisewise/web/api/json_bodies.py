"""Bodies as JSON has them, and as nobody can misread them: names once, and not nested without end."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from noisewise.core.support.text import printable
from noisewise.web.problems import ProblemError

#: Levels of lists and objects in one another; no request needs more than six.
MOST_LEVELS = 32


class JsonBodyRequest(Request):
    """A request whose body is read once, and strictly."""

    async def json(self) -> Any:
        """The body; `ProblemError` 400 if another reader could understand something else."""
        body = await self.body()
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            raise ProblemError(400, "the body is no text in UTF-8; nothing was changed.") from None
        try:
            found = json.loads(text, object_pairs_hook=_once)
        except RecursionError:
            raise _too_deep() from None
        _check_levels(found)
        return found


class JsonBodyRoute(APIRoute):
    """A route whose requests are such."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        answer = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await answer(JsonBodyRequest(request.scope, request.receive))

        return strictly


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a name that stands twice is read as its first value by some, and as its last by others."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ProblemError(
            400, f"the name {printable(twice[:100])!r} stands twice in one object; nothing was changed."
        )
    return found


def _check_levels(found: Any) -> None:
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(MOST_LEVELS):
        inside = [one.values() if isinstance(one, dict) else one for one in level]
        level = [one for parts in inside for one in parts if isinstance(one, dict | list)]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> ProblemError:
    return ProblemError(400, f"the body is nested deeper than {MOST_LEVELS} levels; nothing was changed.")
