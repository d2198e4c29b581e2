"""What takes long over HTTP: begun, watched and cancelled as a task, or waited for by who asks."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response, StreamingResponse

from noisewise.server.answers import (
    REFUSALS,
    UNCHANGED,
    AnyObject,
    StudyName,
    Viewer,
    answer,
    etag_of,
    name_in,
    unchanged,
)
from noisewise.server.auth.roles import Role, Visitor
from noisewise.server.bodies import JsonBodyRoute
from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError
from noisewise.server.stream import ALIVE, EventStreams
from noisewise.server.tasks import CANCELLED, DONE, ENDED, REPORT, LongTask, LongTasks
from noisewise.server.worker import VERIFY

TASKS = APIRouter(tags=["long work"], route_class=JsonBodyRoute, responses=REFUSALS)
#: Seconds between two looks whether who asked is still there, and the longest wait for a task.
LOOK, LONGEST_WAIT = 0.5, 60.0


@TASKS.get("/tasks", response_model=AnyObject)
async def list_tasks(request: Request, visitor: Viewer) -> Response:
    """One's own tasks, without their results; owners see those of all."""
    tasks: LongTasks = request.app.state.tasks
    seen = [task.to_plain() for task in tasks.all() if _may_see(visitor, task)]
    return answer({"tasks": [{name: one[name] for name in one if name != "result"} for one in seen]})


@TASKS.get(
    "/tasks/{id}",
    response_model=AnyObject,
    responses={
        200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "The task."}
    },
)
async def get_task(
    request: Request,
    id: str,
    visitor: Viewer,
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for its end.")] = 0.0,
) -> Response:
    """How a task goes, and what came of it; with `Accept: text/event-stream` as a stream until its end."""
    task = _task(request, id, visitor)
    if "text/event-stream" in request.headers.get("accept", ""):
        streams: EventStreams = request.app.state.streams
        streams.check_room()
        return StreamingResponse(
            _steps(streams, task),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )
    if wait:
        await task.ends_within(wait)
    return answer(task.to_plain())


@TASKS.delete("/tasks/{id}", response_model=AnyObject)
async def cancel_task(request: Request, id: str, visitor: Viewer) -> Response:
    """Cancel a task."""
    tasks: LongTasks = request.app.state.tasks
    task = _task(request, id, visitor)
    await tasks.cancel(task)
    return answer(task.to_plain())


async def _steps(streams: EventStreams, task: LongTask) -> AsyncIterator[bytes]:
    """How a task goes, whenever it has gone on; the last message has the result."""
    with streams.one_more():
        while not streams.stopping.is_set():
            yield f"event: {task.state}\ndata: {json.dumps(task.to_plain())}\n\n".encode()
            if task.state in ENDED:
                return
            for _ in range(int(ALIVE / LOOK)):
                if await task.news(LOOK) or streams.stopping.is_set():
                    break
            else:
                yield b": still here\n\n"


def _may_see(visitor: Visitor, task: LongTask) -> bool:
    return task.token == visitor.token or visitor.role == Role.OWNER


def _task(request: Request, id: str, visitor: Visitor) -> LongTask:
    """A task of this visitor; owners see those of others."""
    tasks: LongTasks = request.app.state.tasks
    task = tasks.find(id)
    if not _may_see(visitor, task):
        raise ProblemError(404, "there is no such task; those that ended long ago are forgotten.")
    return task


async def accepted(
    request: Request, study: str, visitor: Visitor, kind: str, said: dict[str, Any]
) -> Response:
    """Begin a task, and say where to look for it."""
    studies: OpenStudies = request.app.state.studies
    tasks: LongTasks = request.app.state.tasks
    name = name_in(study)
    number = await run_in_threadpool(studies.number, name)
    task = tasks.begin(kind, name, number, said, visitor.token)
    place = f"{request.scope.get('root_path', '')}/api/v1/tasks/{task.id}"
    return answer(task.to_plain(), 202, headers={"Location": place})


async def computed(
    request: Request, study: str, visitor: Visitor, kind: str, said: dict[str, Any]
) -> Response:
    """The answer to who waits for it."""
    studies: OpenStudies = request.app.state.studies
    name = name_in(study)
    number = await run_in_threadpool(studies.number, name)
    if (same := unchanged(request, number)) is not None:
        return same
    task = await awaited(request, name, visitor, kind, said)
    return answer({"study": task.study, "event": task.event, **task.result}, event=task.event)


async def awaited(
    request: Request, name: str, visitor: Visitor, kind: str, said: dict[str, Any], *, afresh: bool = False
) -> LongTask:
    """Compute something while who asks is there; whoever goes away cancels what nobody else waits for."""
    tasks: LongTasks = request.app.state.tasks
    number = await run_in_threadpool(request.app.state.studies.number, name)
    known = tasks.all()
    # Many may open one link to a report: they wait for the same one.
    task = tasks.begin(kind, name, number, said, visitor.token, shared=kind == REPORT, afresh=afresh)
    task.by_request = task.by_request or task not in known
    task.waiting += 1
    try:
        while not await task.ends_within(LOOK):
            if await request.is_disconnected():
                break
    finally:
        task.waiting -= 1
        if task.state not in ENDED and not task.waiting and task.by_request:
            await tasks.cancel(task)
    if task.state == CANCELLED:
        raise ProblemError(409, f"the {kind} was cancelled.")
    if task.state != DONE:
        raise ProblemError(422, task.refusal or f"there is no {kind}.", **task.problem)
    return task


@TASKS.get("/studies/{study}/verify", response_model=AnyObject)
async def verify_hashes(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """Compute every hash of the log afresh, and name the first event that does not fit."""
    task = await awaited(request, name_in(study), visitor, VERIFY, {}, afresh=True)
    return answer({"study": task.study, **task.result})


@TASKS.get(
    "/studies/{study}/report.html",
    response_class=HTMLResponse,
    responses={**UNCHANGED, 200: {"content": {"text/html": {}}, "description": "The report."}},
)
async def report(
    request: Request,
    study: StudyName,
    visitor: Viewer,
    plan: Annotated[bool, Query(description="Also forecast how many more it takes.")] = False,
    download: Annotated[bool, Query(description="Save it instead of showing it.")] = False,
) -> Response:
    """Everything about a study as one page that needs neither a network nor scripts."""
    return await report_page(request, name_in(study), visitor, plan=plan, download=download)


async def report_page(
    request: Request, name: str, visitor: Visitor, *, plan: bool = False, download: bool = False
) -> Response:
    """The report of a study as a page."""
    from noisewise.study.report.elements import content_policy

    studies: OpenStudies = request.app.state.studies
    number = await run_in_threadpool(studies.number, name)
    if (same := unchanged(request, number)) is not None:
        return same
    task = await awaited(request, name, visitor, REPORT, {"plan": True} if plan else {})
    headers = {
        "Content-Security-Policy": f"{content_policy()}; frame-ancestors 'none'",
        "ETag": etag_of(task.event or 0),
        "Cache-Control": "private, no-cache",
    }
    if download:
        headers["Content-Disposition"] = 'attachment; filename="report.html"'
    return HTMLResponse(task.result, headers=headers)
