"""JSON bodies: authorised first, then parsed and validated, strictly and in time linear in their size.

The framework would parse a body before it knows who sent it, and on the event loop.
"""

import typing
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from noisewise.core.sequences import without_collector
from noisewise.core.strict_json import DuplicateNameError, parse_json
from noisewise.core.text import printable
from noisewise.operations.schemas import wrong_kinds
from noisewise.server.auth.forms import Parser
from noisewise.server.auth.roles import check_role, role_of, visitor_of
from noisewise.server.problems import ProblemError, refused

#: Levels of lists and objects in one another; no request needs more than six.
MOST_LEVELS = 32
#: Brackets that open a list or an object. Those in texts count too: telling them apart would take long.
MOST_PARTS = 1_000_000


class JsonBodyRequest(Request):
    """A request whose body is parsed and validated at once; the framework accepts the result as it is."""

    kind: type[BaseModel] | None = None

    async def json(self) -> Any:
        """The validated body; `ProblemError` 400 if it is not strict JSON, 422 if it is of another type."""
        body = await self.body()
        parser: Parser = self.app.state.parser
        return await parser.run(len(body), partial(_validated, body, self.kind))


class JsonBodyRoute(APIRoute):
    """A route whose requests are such."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        answer, role, kind = super().get_route_handler(), role_of(self), None
        if self.body_field is not None:
            hints = typing.get_type_hints(self.endpoint, include_extras=True)
            kind = hints[self.body_field.name]

        async def strictly(request: Request) -> Response:
            if role is not None:
                check_role(visitor_of(request), role)
            strict = JsonBodyRequest(request.scope, request.receive)
            strict.kind = kind
            return await answer(strict)

        return strictly


def _validated(body: bytes, kind: type[BaseModel] | None) -> Any:
    _check_parts(body)
    with without_collector():  # which would stop all threads to look at millions of new lists
        return _found(body, kind)


def _check_parts(body: bytes) -> None:
    """Refuse more lists and objects than any request needs, before each of them takes memory."""
    if body.count(b"[") + body.count(b"{") > MOST_PARTS:
        raise ProblemError(
            400,
            f"the body has more than {MOST_PARTS:,} lists and objects, or [ and {{ in texts; nothing was "
            "changed.",
        )


def _found(body: bytes, kind: type[BaseModel] | None) -> Any:
    try:
        found = parse_json(body.decode("utf-8"))
    except UnicodeDecodeError:
        raise ProblemError(400, "the body is not UTF-8 text; nothing was changed.") from None
    except RecursionError:
        raise _too_deep() from None
    except DuplicateNameError as problem:
        name = printable(str(problem)[:100])
        raise ProblemError(
            400, f"the name {name!r} appears twice in one object; nothing was changed."
        ) from None
    except ValueError as problem:
        digits = "digits" in str(problem)
        why = "has a number with too many digits" if digits else "is not JSON"
        raise ProblemError(400, f"the body {why}; nothing was changed.") from None
    _check_levels(found)
    if kind is None:
        return found
    try:
        return kind.model_validate(found)
    except ValidationError as problem:
        errors = problem.errors(include_url=False, include_context=False)
        raise refused(wrong_kinds(errors, list(kind.model_fields))) from None


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
