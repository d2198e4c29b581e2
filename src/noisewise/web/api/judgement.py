"""What follows from the measurements: certificate, check, worth, plan, slot, report."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response

from noisewise.core.support.strict_json import plain, strict_json
from noisewise.study.creation import verify_certificate
from noisewise.study.plain import certificate_of, check_row
from noisewise.study.study import Study
from noisewise.web.api.answers import (
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
from noisewise.web.api.bodies import Certified, NoiseLevelBody, Planning, Slots
from noisewise.web.auth.roles import Role, Visitor
from noisewise.web.open_studies import OpenStudies
from noisewise.web.problems import ProblemError
from noisewise.web.tasks import CANCELLED, DONE, ENDED, LongTask, LongTasks

JUDGEMENT = APIRouter(prefix="/studies/{study}", tags=["judging"], responses=REFUSALS)
TASKS = APIRouter(prefix="/tasks", tags=["judging"], responses=REFUSALS)
#: Seconds between two looks whether who asked is still there, and the longest wait for a task.
LOOK, LONGEST_WAIT = 0.5, 60.0


def look(request: Request, name: str, at: Callable[[Study], dict[str, Any]]) -> Response:
    """Look at a study, unless who asks has seen this version."""
    studies: OpenStudies = request.app.state.studies
    with studies.use(name_in(name)) as opened:
        number = opened.n_events
        if (same := unchanged(request, number)) is not None:
            return same
        return answer({"study": opened.name, "event": number, **at(opened)}, event=number)


@JUDGEMENT.get("/certificate", response_model=AnyObject, responses=UNCHANGED)
def certificate(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """State which option to take, how far it can be from the best, and whether measuring may stop."""
    return look(request, study, lambda opened: {"certificate": certificate_of(opened)})


@JUDGEMENT.get("/bound", response_model=AnyObject, responses=UNCHANGED)
def bound(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """A glance at the bound, which is no certificate: whether the measurements fit is not looked at."""
    return look(request, study, lambda opened: {"bound": plain(opened._bound_now())})


@JUDGEMENT.post("/certificate/verify", response_model=AnyObject)
def verify(request: Request, study: StudyName, claimed: Certified, visitor: Viewer) -> Response:
    """Compute a certificate afresh from the log, and say whether it agrees."""

    def at(opened: Study) -> dict[str, Any]:
        text = strict_json(claimed.certificate)
        if type(claimed.certificate.get("n_events")) is not int:
            raise ProblemError(422, "`certificate` must be a certificate as JSON, as this server gives it.")
        try:
            return {"agrees": True, "problem": None, "sentence": verify_certificate(text, opened).sentence}
        except ValueError as refusal:
            return {"agrees": False, "problem": str(refusal), "sentence": None}

    return look(request, study, at)


@JUDGEMENT.get("/check", response_model=AnyObject, responses=UNCHANGED)
def check(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """Check whether the measurements fit the model and their own error bars, and what to do if not."""
    return look(request, study, lambda opened: check_row(opened.check()))


@JUDGEMENT.post("/slot", response_model=AnyObject)
def slot(request: Request, study: StudyName, slots: Slots, visitor: Viewer) -> Response:
    """Say what to do with opportunities whose error bar is known; nothing is reserved."""
    said = slots.said()
    return look(request, study, lambda opened: _slots(opened, said))


@JUDGEMENT.get("/slot", response_model=AnyObject, responses=UNCHANGED)
def slot_of(
    request: Request,
    study: StudyName,
    visitor: Viewer,
    sigma: Annotated[list[str], Query(min_length=1, max_length=1000)],
    budget: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    block: Annotated[str | None, Query(min_length=1, max_length=1000)] = None,
    probe: Literal["option", "difference"] | None = None,
) -> Response:
    """The same for a link."""
    said = {"sigma": [_amount(one) for one in sigma], "budget": budget, "block": block, "probe": probe}
    return look(request, study, lambda opened: _slots(opened, said))


def _slots(opened: Study, said: dict[str, Any]) -> dict[str, Any]:
    return {"slots": [plain(one.to_plain()) for one in opened.slot(**said)]}


@JUDGEMENT.get("/worth", response_model=AnyObject, responses=UNCHANGED)
async def worth(
    request: Request,
    study: StudyName,
    visitor: Viewer,
    by: Literal["block", "instrument", "option"] | None = None,
    looks: Annotated[int | None, Query(ge=8, le=100_000)] = None,
) -> Response:
    """What each measurement contributed: precision, information, the bound before and after."""
    said: dict[str, Any] = ({} if by is None else {"by": by}) | ({} if looks is None else {"looks": looks})
    return await _computed(request, study, visitor, "worth", said)


@JUDGEMENT.get("/plan", response_model=AnyObject, responses=UNCHANGED)
async def plan(
    request: Request,
    study: StudyName,
    visitor: Viewer,
    eps: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    paths: Annotated[int, Query(ge=2, le=1000)] = 60,
    seed: Annotated[int, Query(ge=0, le=2**63 - 1)] = 0,
    block: Annotated[int | None, Query(ge=1, le=10_000)] = None,
    batch: Annotated[int | None, Query(ge=1, le=10_000)] = None,
) -> Response:
    """Forecast how many more measurements it takes; who goes away meanwhile cancels it."""
    said = {"eps": None if eps is None else _amount(eps), "block": block, "batch": batch}
    said = {name: value for name, value in said.items() if value is not None}
    return await _computed(request, study, visitor, "plan", {**said, "paths": paths, "seed": seed})


@JUDGEMENT.post("/plan", status_code=202, response_model=AnyObject)
async def begin_plan(request: Request, study: StudyName, asked: Planning, visitor: Viewer) -> Response:
    """Begin a forecast; `GET /tasks/{id}` tells how it goes, and `DELETE` cancels it."""
    said = asked.said()
    for name, second in (("noise", "share"), ("menu", "cost")):
        levels = getattr(asked, name)
        if levels is not None:
            said[name] = [_level(name, level, second) for level in levels]
    task, _ = await _begun(request, study, visitor, "plan", said)
    place = f"{request.scope.get('root_path', '')}/api/v1/tasks/{task.id}"
    return answer(task.to_plain(), 202, headers={"Location": place})


@JUDGEMENT.get(
    "/report.html",
    response_class=HTMLResponse,
    responses={**UNCHANGED, 200: {"content": {"text/html": {}}, "description": "The report."}},
)
async def report(
    request: Request,
    study: StudyName,
    visitor: Viewer,
    plan: Annotated[bool, Query(description="Also say what it would take.")] = False,
    download: Annotated[bool, Query(description="Save it, in the place of showing it.")] = False,
) -> Response:
    """Everything about a study as one page that needs neither a network nor scripts."""
    return await report_page(request, name_in(study), visitor, plan=plan, download=download)


@TASKS.get("/{id}", response_model=AnyObject)
async def get_task(
    request: Request,
    id: str,
    visitor: Viewer,
    wait: Annotated[float, Query(ge=0, le=LONGEST_WAIT, description="Seconds to wait for its end.")] = 0.0,
) -> Response:
    """How a task goes, and what came of it."""
    task = _task(request, id, visitor)
    if wait and task.state not in ENDED:
        await asyncio.wait([asyncio.ensure_future(task.over.wait())], timeout=wait)
    return answer(task.to_plain())


@TASKS.delete("/{id}", response_model=AnyObject)
async def cancel_task(request: Request, id: str, visitor: Viewer) -> Response:
    """Cancel a task."""
    tasks: LongTasks = request.app.state.tasks
    task = _task(request, id, visitor)
    await tasks.cancel(task)
    return answer(task.to_plain())


def _task(request: Request, id: str, visitor: Visitor) -> LongTask:
    """A task of this visitor; owners see those of others."""
    tasks: LongTasks = request.app.state.tasks
    task = tasks.find(id)
    if task.token != visitor.token and visitor.role != Role.OWNER:
        raise ProblemError(404, "there is no such task; those that ended long ago are forgotten.")
    return task


async def _begun(
    request: Request, study: str, visitor: Visitor, kind: str, said: dict[str, Any]
) -> tuple[LongTask, int]:
    studies: OpenStudies = request.app.state.studies
    tasks: LongTasks = request.app.state.tasks
    name = name_in(study)
    number = await run_in_threadpool(studies.number, name)
    return tasks.begin(kind, name, number, said, visitor.token), number


async def _computed(
    request: Request, study: str, visitor: Visitor, kind: str, said: dict[str, Any]
) -> Response:
    studies: OpenStudies = request.app.state.studies
    number = await run_in_threadpool(studies.number, name_in(study))
    if (same := unchanged(request, number)) is not None:
        return same
    task = await awaited(request, name_in(study), visitor, kind, said)
    return answer({"study": task.study, "event": task.event, **task.result}, event=task.event)


async def awaited(request: Request, name: str, visitor: Visitor, kind: str, said: dict[str, Any]) -> LongTask:
    """Compute something while who asks is there; whoever goes away cancels what nobody else waits for."""
    tasks: LongTasks = request.app.state.tasks
    task, _ = await _begun(request, name.replace("~", "~0"), visitor, kind, said)
    task.waiting += 1
    try:
        while task.state not in ENDED:
            if await request.is_disconnected():
                break
            await asyncio.wait([asyncio.ensure_future(task.over.wait())], timeout=LOOK)
    finally:
        task.waiting -= 1
        if task.state not in ENDED and not task.waiting:
            await tasks.cancel(task)
    if task.state == CANCELLED:
        raise ProblemError(409, f"the {kind} was cancelled.")
    if task.state != DONE:
        raise ProblemError(422, task.refusal or f"there is no {kind}.")
    return task


async def report_page(
    request: Request, name: str, visitor: Visitor, *, plan: bool = False, download: bool = False
) -> Response:
    """The report of a study as a page."""
    from noisewise.study.showing.page.style import content_policy

    studies: OpenStudies = request.app.state.studies
    number = await run_in_threadpool(studies.number, name)
    if (same := unchanged(request, number)) is not None:
        return same
    task = await awaited(request, name, visitor, "report", {"plan": True} if plan else {})
    headers = {
        "Content-Security-Policy": f"{content_policy()}; frame-ancestors 'none'",
        "ETag": etag_of(task.event or 0),
        "Cache-Control": "private, no-cache",
    }
    if download:
        headers["Content-Disposition"] = 'attachment; filename="report.html"'
    return HTMLResponse(task.result, headers=headers)


def _level(name: str, level: NoiseLevelBody, second: str) -> tuple[float | str, float]:
    amount = getattr(level, second)
    other = level.cost if second == "share" else level.share
    if amount is None or other is not None:
        raise ProblemError(422, f"every level of `{name}` needs `sigma` and `{second}`, and nothing else.")
    return level.sigma, amount


def _amount(text: str) -> float | str:
    """A number where it is one; what else it may be is judged by the study."""
    try:
        return float(text)
    except ValueError:
        return text
