"""What follows from the measurements: certificate, check, worth, plan, slot, report."""

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response

from noisewise.core.support.strict_json import plain
from noisewise.server.api.answers import (
    REFUSALS,
    UNCHANGED,
    AnyObject,
    StudyName,
    Viewer,
    answer,
    name_in,
    unchanged,
)
from noisewise.server.api.json_bodies import JsonBodyRoute
from noisewise.server.api.long_answers import accepted, awaited, computed, report_page
from noisewise.server.api.question_bodies import (
    Certified,
    NoiseLevelBody,
    PlanningBody,
    Reporting,
    Slots,
    WorthBody,
)
from noisewise.server.auth.roles import Visitor
from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError
from noisewise.server.worker import SLOT, VERIFY, filled_slots
from noisewise.study.creation import compare_certificate
from noisewise.study.plain import certificate_of, check_row
from noisewise.study.study import Study

JUDGEMENT = APIRouter(
    prefix="/studies/{study}", tags=["judging"], route_class=JsonBodyRoute, responses=REFUSALS
)
#: Slots that are quicker than a worker begins.
FEW_SLOTS = 10


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
        text = json.dumps(claimed.certificate)
        if type(claimed.certificate.get("n_events")) is not int:
            raise ProblemError(422, "`certificate` must be a certificate as JSON, as this server gives it.")
        try:
            compared = compare_certificate(text, opened)
        except ValueError as refusal:
            return {"agrees": False, "problem": str(refusal), "sentence": None}
        sentence, problem = compared.certificate.sentence, compared.about_words or None
        return {"agrees": problem is None, "problem": problem, "sentence": sentence}

    return look(request, study, at)


@JUDGEMENT.get("/verify", response_model=AnyObject)
async def verify_hashes(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """Compute every hash of the log afresh, and name the first event that does not fit."""
    task = await awaited(request, name_in(study), visitor, VERIFY, {}, afresh=True)
    return answer({"study": task.study, **task.result})


@JUDGEMENT.get("/check", response_model=AnyObject, responses=UNCHANGED)
def check(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """Check whether the measurements fit the model and their own error bars, and what to do if not."""
    return look(request, study, lambda opened: check_row(opened.check()))


@JUDGEMENT.post("/slot", response_model=AnyObject)
async def slot(request: Request, study: StudyName, slots: Slots, visitor: Viewer) -> Response:
    """Say what to do with opportunities whose error bar is known; nothing is reserved."""
    return await _filled(request, study, visitor, slots.said())


@JUDGEMENT.get("/slot", response_model=AnyObject, responses=UNCHANGED)
async def slot_of(
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
    return await _filled(request, study, visitor, said)


async def _filled(request: Request, study: str, visitor: Visitor, said: dict[str, Any]) -> Response:
    """What to do with slots; of many a worker computes it, so that nobody waits for the study meanwhile."""
    if len(said["sigma"]) > FEW_SLOTS:
        return await computed(request, study, visitor, SLOT, said)
    return await run_in_threadpool(look, request, study, lambda opened: filled_slots(opened, **said))


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
    return await computed(request, study, visitor, "worth", said)


@JUDGEMENT.get("/plan", response_model=AnyObject, responses=UNCHANGED)
async def plan(
    request: Request,
    study: StudyName,
    visitor: Viewer,
    eps: Annotated[str | None, Query(min_length=1, max_length=100)] = None,
    paths: Annotated[int, Query(ge=2, le=1000)] = 19,
    seed: Annotated[int, Query(ge=0, le=2**63 - 1)] = 0,
    block: Annotated[int | None, Query(ge=1, le=10_000)] = None,
    batch: Annotated[int | None, Query(ge=1, le=10_000)] = None,
) -> Response:
    """Forecast how many more measurements it takes; who goes away meanwhile cancels it."""
    said = {"eps": None if eps is None else _amount(eps), "block": block, "batch": batch}
    said = {name: value for name, value in said.items() if value is not None}
    return await computed(request, study, visitor, "plan", {**said, "paths": paths, "seed": seed})


@JUDGEMENT.post("/plan", status_code=202, response_model=AnyObject)
async def begin_plan(request: Request, study: StudyName, asked: PlanningBody, visitor: Viewer) -> Response:
    """Begin a forecast; `GET /tasks/{id}` tells how it goes, and `DELETE` cancels it."""
    return await accepted(request, study, visitor, "plan", _planned(asked))


@JUDGEMENT.post("/worth", status_code=202, response_model=AnyObject)
async def begin_worth(request: Request, study: StudyName, asked: WorthBody, visitor: Viewer) -> Response:
    """Begin to compute what each measurement contributed, as a task."""
    return await accepted(request, study, visitor, "worth", asked.said())


@JUDGEMENT.post("/report", status_code=202, response_model=AnyObject)
async def begin_report(request: Request, study: StudyName, asked: Reporting, visitor: Viewer) -> Response:
    """Begin a report, as a task whose result is the page; `plan` also says what it would take."""
    planned = asked.plan if isinstance(asked.plan, bool) else _planned(asked.plan)
    said = {"most": asked.most} | ({"plan": planned} if planned is not False else {})
    return await accepted(request, study, visitor, "report", said)


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


def _planned(asked: PlanningBody) -> dict[str, Any]:
    """The arguments of `Study.plan`."""
    said = asked.said()
    for name, second in (("noise", "share"), ("menu", "cost")):
        levels = getattr(asked, name)
        if levels is not None:
            said[name] = [_level(name, level, second) for level in levels]
    return said


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
