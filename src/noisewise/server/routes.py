"""The JSON interface, made from the declarations: a route for each operation, and its description."""

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from noisewise.core.refusals import JSON, RefusedError
from noisewise.core.remarks import HeardWarning, heard_warnings
from noisewise.core.text import check_text
from noisewise.operations.schemas import Body, StrictBody, answer_model, given_model
from noisewise.operations.table import Operation, Param, field_names, load_table
from noisewise.operations.words import speaking
from noisewise.server.answers import (
    REFUSALS,
    UNCHANGED,
    AnyObject,
    ProblemDocument,
    StudyName,
    answer,
    name_in,
    name_in_path,
    unchanged,
)
from noisewise.server.auth.roles import Visitor, needs
from noisewise.server.bodies import JsonBodyRoute
from noisewise.server.open_studies import OpenStudies, ServedStore
from noisewise.server.problems import ProblemError
from noisewise.server.tables import REBUILDING, TABLES
from noisewise.server.tasks import TASKS, LongTasks, computed
from noisewise.study.log.events import Event
from noisewise.study.running.owners import is_mark
from noisewise.study.stores.protocol import LogMovedOnError
from noisewise.study.study import Study

#: Letters of these two headers.
LONGEST_IF_MATCH, LONGEST_KEY = 100, 1000
IfMatch = Annotated[
    str | None,
    Header(description="Change nothing unless the study's ETag is this one.", max_length=LONGEST_IF_MATCH),
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A request with the same key and content is answered, and done, once.",
        max_length=LONGEST_KEY,
    ),
]


_OTHER_CONTENT = "this Idempotency-Key was sent with another content; use a new one."


def change(
    request: Request,
    name: str,
    visitor: Visitor,
    act: Callable[[Study], Any],
    *,
    body: Any,
    status: int = 200,
    if_match: str | None = None,
    key: str | None = None,
    again: Callable[[Study, list[Event]], Any],
) -> Response:
    """Change a study, and answer with what ``act`` returns and the version after it.

    Args:
        request: The request.
        name: The study, as the address has it.
        visitor: Who changes it.
        act: Does it, and returns the content of the answer.
        body: What was asked for, to know a repetition.
        status: Of the answer.
        if_match: The version that is meant.
        key: By which the log knows a repetition.
        again: The answer to a repetition, from the events of the first try.
    """
    studies: OpenStudies = request.app.state.studies
    name = name_in(name)
    whose = None if key is None else (visitor.token or "", request.url.path, check_key(key))
    content = hashlib.sha256(repr(body).encode(errors="replace")).hexdigest()
    with studies.use(name, write=True) as study:
        known_as = None if whose is None else repr(whose)
        written = [] if known_as is None else _appended(study, known_as, content)
        try:
            with heard_warnings() as heard:
                number = None
                if written:
                    done = again(study, written)
                else:
                    with study.acting(
                        visitor.name, only_at=version_in(if_match), key=known_as, request=content
                    ) as acted:
                        done = act(study)
                    number = acted.n_events
        except LogMovedOnError:
            raise ProblemError(
                412,
                f"{name!r} has changed: it has {study.n_events} events now, and If-Match meant {if_match}.",
            ) from None
        number = study.n_events if number is None else number  # what was just appended need not be looked for
        return answer({"study": name, **done, **warnings_in(heard)}, status, event=number)


def warnings_in(heard: Sequence[HeardWarning]) -> dict[str, Any]:
    """What a study has warned of, for the answer; a client warns of it again."""
    said = [{"category": one.category.__name__, "message": one.message} for one in heard]
    return {"warnings": said} if said else {}


def _appended(study: Study, key: str, content: str) -> list[Event]:
    """What was written with a key; 409 if that was about another content."""
    try:
        return study.appended_as(key, content)
    except ValueError:
        raise ProblemError(409, _OTHER_CONTENT) from None


def version_in(if_match: str | None) -> int | None:
    """The version that If-Match means; None: any."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'\s*"(\d{1,15})"\s*', if_match, re.ASCII)
    if found is None:
        raise ProblemError(412, 'If-Match must be an ETag of this study, such as "17".')
    return int(found[1])


def check_key(key: str) -> str:
    """An Idempotency-Key as the log can keep it."""
    return check_text("Idempotency-Key", key)


PREFIX = "/api/v1"
HEALTH = APIRouter(tags=["watching"], responses=REFUSALS)
Said = dict[str, Any]


def add_api(app: FastAPI, studies: OpenStudies) -> None:
    """Give an app the interface, and what it needs."""
    app.state.tasks = LongTasks(studies)
    api = APIRouter(prefix=PREFIX)
    for op in load_table().values():
        if "http" in op.on:
            api.include_router(routes_of(op))
    for by_hand in (TASKS, REBUILDING, TABLES):
        api.include_router(by_hand)
    app.include_router(api)
    app.include_router(HEALTH)
    app.openapi = lambda: described(app)  # type: ignore[method-assign]


def routes_of(op: Operation) -> APIRouter:
    """The routes of an operation: changes are posted, looks are got.

    What a look needs may be too much for an address: then it can be posted as well.
    """
    router = APIRouter(route_class=JsonBodyRoute, responses=REFUSALS, tags=[op.group.lower()])
    place = f"/studies{'' if op.opens == 'store' else '/{study}'}{f'/{op.path}' if op.path else ''}"
    about: dict[str, Any] = {} if op.opens == "store" else {"study": (str, ...), "event": (int, ...)}

    def add(method: str, endpoint: Callable[..., Any], status: int, suffix: str = "", **more: Any) -> None:
        router.add_api_route(
            place, endpoint, methods=[method], status_code=status, operation_id=f"{op.name}{suffix}",
            summary=op.help.partition("\n")[0], description=op.help,
            **{"response_model": answer_model(op.outcome, about)} | more,
        )  # fmt: skip

    large = [param for param in shown(op) if not param.fits_query]
    if op.writes:
        also = {200: {"description": "Only tried."}} if op.opens == "store" and op.status != 200 else {}
        add("POST", changing(op), op.status, responses=also)
        return router
    add("GET", looking(op), op.status, responses=UNCHANGED if op.opens != "store" else {})
    if large:
        add("POST", looking(op, posted=True), 200, "_posted")
    return router


def shown(op: Operation) -> list[Param]:
    """The parameters of an operation that mean something on another machine."""
    return [param for param in op.params.values() if not param.form.local]


def done(op: Operation, opened: Any, said: Said) -> dict[str, Any]:
    """Do it, and return the document that ``--json`` prints."""
    speaking.set(JSON)
    found: dict[str, Any] = op(opened, **said).to_dict()
    return found


def changing(op: Operation) -> Callable[..., Response]:
    """The endpoint of an operation that writes."""
    body_model: Any = given_model(op, shown(op), StrictBody)
    role: Any = Depends(needs(op.role))

    def change_study(
        request: Request, study: StudyName, body: body_model, visitor: Annotated[Visitor, role],
        if_match: IfMatch = None, key: Key = None,
    ) -> Response:  # fmt: skip
        said = allowed(op, body.said(), visitor)
        sign(op, said, visitor)
        if key is not None and give_keys(op, said, check_key(key)):
            key = None  # the log knows the measurements by it

        def act(opened: Study) -> Said:
            return {**done(op, opened, said), "event": opened.n_events}

        def again(opened: Study, written: list[Event]) -> Said:
            known = {name: said[name] for name in field_names(op.outcome) if name in said}
            return {**known, **({} if op.again is None else op.again(written)), "event": opened.n_events}

        return change(
            request, study, visitor, act, body=body, status=op.status, if_match=if_match, key=key, again=again
        )

    def change_store(request: Request, body: body_model, visitor: Annotated[Visitor, role]) -> Response:
        studies: OpenStudies = request.app.state.studies
        studies.check_writable()
        said = allowed(op, body.said(), visitor)
        with heard_warnings() as heard:
            content = done(op, ServedStore(studies), said)
        if said.get("dry_run"):
            return answer(content | warnings_in(heard))
        name = content["study"]
        content |= {"event": studies.number(name), **warnings_in(heard)}
        place = f"{request.scope.get('root_path', '')}{PREFIX}/studies/{quote(name_in_path(name), safe='')}"
        headers = {"Location": place} if op.status == 201 else {}
        return answer(content, op.status, event=content["event"], headers=headers)

    return change_store if op.opens == "store" else change_study


def allowed(op: Operation, said: Said, visitor: Visitor) -> Said:
    """What was said; parameters that need another role, and more than others can wait for, are refused."""
    for name, value in said.items():
        needed = op.params[name].form.needs
        if needed is not None and value and (visitor.role or 0) < needed:
            raise ProblemError(403, f'"{name}" needs the role {needed.word} here.')
        if name in op.most and isinstance(value, int) and value > op.most[name]:
            problem = "must be at most {most:,} for a server, where others wait meanwhile"
            raise RefusedError(name, problem, got=value, most=op.most[name])
    return said


def sign(op: Operation, said: Said, visitor: Visitor) -> None:
    """Say who it was: the holder of the token; without tokens, the name in the request.

    Behind the name is the mark of a run, if it is for one: by that the next run on that machine finds what a
    run that was killed has left.
    """
    rows = said["results"] if op.name == "tell_all" else [said] if "by" in op.params else []
    for row in rows if visitor.name is not None else []:
        given = row.get("by")
        is_run = op.name == "ask" and given is not None and is_mark(given)
        row["by"] = f"{visitor.name}: {given}" if is_run else visitor.name


def give_keys(op: Operation, said: Said, key: str) -> bool:
    """Let the request's key be that of its measurements; returns whether they have any."""
    if op.name == "tell_all":
        for number, row in enumerate(said["results"], start=1):
            row.setdefault("key", f"{key}/{number}")
        return True
    if "key" in op.params and said.setdefault("key", key) != key:
        raise ProblemError(422, '"key" and Idempotency-Key must be the same, or one of them left out.')
    return "key" in op.params


def looking(op: Operation, *, posted: bool = False) -> Callable[..., Any]:
    """The endpoint of an operation that only looks, with its parameters in the address or in a body."""
    params = [param for param in shown(op) if posted or param.fits_query]
    model = given_model(op, params, StrictBody if posted else Body)
    given: Any = model if posted else Annotated[model, Query()]
    role: Any = Depends(needs(op.role))

    async def look_at_study(
        request: Request, study: StudyName, asked: given, visitor: Annotated[Visitor, role]
    ) -> Response:
        said = read_texts(op, asked.said())
        if op.long:
            return await computed(request, study, visitor, op.name, said)
        return await run_in_threadpool(look, request, name_in(study), partial(done, op, said=said))

    def look_at_store(request: Request, asked: given, visitor: Annotated[Visitor, role]) -> Response:
        return answer(done(op, ServedStore(request.app.state.studies), asked.said()))

    return look_at_store if op.opens == "store" else look_at_study


def read_texts(op: Operation, said: Said) -> Said:
    """What was said; amounts in an address are texts, and read as if they were typed."""
    for name, value in said.items():
        typed = op.params[name].typed
        if isinstance(value, str) and typed is not None:
            said[name] = typed.read(value)
    return said


def look(request: Request, name: str, at: Callable[[Study], Said]) -> Response:
    """Look at a study, unless the visitor has seen this version."""
    studies: OpenStudies = request.app.state.studies
    with studies.use(name) as opened:
        number = opened.n_events
        if (same := unchanged(request, number)) is not None:
            return same
        return answer({"study": opened.name, "event": number, **at(opened)}, event=number)


@HEALTH.get("/healthz", response_model=AnyObject)
async def healthz() -> Response:
    """Whether the server is alive."""
    return answer({"alive": True})


@HEALTH.get("/readyz", response_model=AnyObject)
def readyz(request: Request) -> Response:
    """Whether the store can be read."""
    request.app.state.studies.names()
    return answer({"ready": True})


def described(app: FastAPI) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes: with the tokens, and with our problem documents in the place of others."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes,
            servers=[{"url": app.root_path}] if app.root_path else None,
        )  # fmt: skip
        parts = schema.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        schemas["Problem"] = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{"token": []}]
        app.openapi_schema = schema
    return app.openapi_schema
