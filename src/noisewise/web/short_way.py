"""The short way of what workers send all day: a result, or a question what to measure next.

The framework looks for the route, and reads and checks each declared parameter by itself, for every request:
that takes longer than the study takes for a tell. Here the same function is called with the same objects.
Whatever is not plainly right goes the long way, where it is refused in the words of all other requests.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from fastapi import FastAPI
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Message, Receive, Scope, Send

from noisewise.web.api.answers import LONGEST_NAME
from noisewise.web.api.bodies import AskBody, OneOrSeveral
from noisewise.web.api.changes import LONGEST_IF_MATCH, LONGEST_KEY
from noisewise.web.api.json_bodies import JsonBodyRequest
from noisewise.web.api.measuring import ask, tell
from noisewise.web.auth.roles import Role, Visitor
from noisewise.web.problems import ProblemError

#: What is called with bodies of which type, by the end of the path.
CALLED: dict[str, tuple[Callable[..., Response], TypeAdapter[Any]]] = {
    "asks": (ask, TypeAdapter(AskBody)),
    "tells": (tell, TypeAdapter(OneOrSeveral)),
}
#: Headers that mean something to these requests, with the length that they may have.
READ = {b"content-type": 100, b"if-match": LONGEST_IF_MATCH, b"idempotency-key": LONGEST_KEY}
#: In the scope of a request that was sent the long way.
LONG = "noisewise.long_way"


class PlainRequest(NamedTuple):
    """What a request says."""

    study: str
    body: Any
    visitor: Visitor
    if_match: str | None
    key: str | None


class ShortWay(BaseRoute):
    """Stands before all other routes."""

    def __init__(self, app: FastAPI, prefix: str) -> None:
        self._app = app
        self._path = re.compile(rf"{re.escape(prefix)}/studies/([^/]+)/({'|'.join(CALLED)})")

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is of those."""
        if scope["type"] != "http" or scope["method"] != "POST" or LONG in scope:
            return Match.NONE, {}
        found = self._path.fullmatch(scope["path"].removeprefix(scope.get("root_path", "")))
        return (Match.NONE, {}) if found is None else (Match.FULL, {"short_way": found.groups()})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer it, or send it the long way."""
        name, end = scope["short_way"]
        call, body = CALLED[end]
        request = JsonBodyRequest(scope, receive)
        said = await _understood(request, name, body)
        if said is None:
            scope[LONG] = True
            await self._app.router(scope, await _from_the_start(request), send)
            return
        given = await run_in_threadpool(call, request, *said)
        await given(scope, receive, send)


async def _understood(request: JsonBodyRequest, name: str, body: TypeAdapter[Any]) -> PlainRequest | None:
    """What a request says; None if anything about it is unusual."""
    visitor: Visitor = request.scope["visitor"]
    sent = [(header, value) for header, value in request.scope["headers"] if header in READ]
    headers = dict(sent)
    usual = (
        visitor.role is not None
        and visitor.role >= Role.WORKER
        and headers.get(b"content-type") == b"application/json"
        and len(headers) == len(sent)  # each once
        and all(0 < len(value) <= READ[header] for header, value in sent)
        and len(name) <= LONGEST_NAME
    )
    if not usual:
        return None
    try:
        if not await request.body():
            return None
        request.kind = body
        content = await request.json()
    except ClientDisconnect:  # nobody hears it
        raise HTTPException(400) from None
    except (ValueError, ProblemError) as problem:
        if isinstance(problem, ProblemError) and not hasattr(request, "_body"):
            raise  # it came too slowly, or is too large: there is nothing to be read again
        return None
    return PlainRequest(
        name, content, visitor, _text(headers, b"if-match"), _text(headers, b"idempotency-key")
    )


def _text(headers: dict[bytes, bytes], name: bytes) -> str | None:
    return headers[name].decode("latin-1") if name in headers else None


async def _from_the_start(request: JsonBodyRequest) -> Receive:
    """What comes in, with the body that was read already before it."""
    if not hasattr(request, "_body"):
        return request.receive
    first: list[Message] = [{"type": "http.request", "body": await request.body(), "more_body": False}]

    async def receive() -> Message:
        return first.pop() if first else await request.receive()

    return receive
