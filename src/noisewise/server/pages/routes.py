"""The pages to look at."""

import asyncio
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from noisewise.core.text import counted
from noisewise.server.answers import name_in
from noisewise.server.auth.roles import Role, Visitor, needs
from noisewise.server.open_studies import SHORT_PATIENCE, OpenStudies
from noisewise.server.pages.fields import sentence_of
from noisewise.server.pages.log import LogReader
from noisewise.server.pages.measurements import filled_for
from noisewise.server.pages.overview import (
    StudyRow,
    busy_row,
    plan_arguments,
    studies_page,
    study_row,
    unreadable_row,
    worth_in_pictures,
)
from noisewise.server.pages.rendering import HELD, STOP, rendered
from noisewise.server.pages.shown import (
    EVENT_KINDS,
    shown_check,
    shown_measurements,
    shown_options,
    shown_overview,
    studies_of,
    study_page,
    used,
)
from noisewise.server.problems import ProblemError
from noisewise.server.tasks import DONE, ENDED, WAITING, LongTasks
from noisewise.study.report.elements import CHARTS, ON_PHONES, ROWS_WITH_PICTURES
from noisewise.study.study import Study
from noisewise.study.telling.slips import slips_in

#: Seconds for which the first answer waits where no process has to start: what is quick is shown at once.
AT_ONCE = 0.15


class TaskShown(NamedTuple):
    """How far it is."""

    id: str = ""
    running: bool = False
    seconds: int = 0
    doing: str = ""  # what it is at
    share: float | None = None  # of that, in per cent
    result: Any = None
    refusal: str = ""


NOT_ASKED = TaskShown()


async def begun(
    request: Request, segment: str, visitor: Visitor, kind: str, arguments: dict[str, Any]
) -> TaskShown:
    """Begin to compute, or find what was begun before; wait a moment for what may be over by then."""
    tasks: LongTasks = request.app.state.tasks
    name = name_in(segment)
    number = await run_in_threadpool(studies_of(request).number, name)
    task = tasks.begin(kind, name, number, arguments, visitor.token, shared=True)
    await asyncio.sleep(0)  # its turn may come at once
    if task.state not in ENDED and not tasks.starts_processes:
        await asyncio.wait([asyncio.ensure_future(task.over.wait())], timeout=AT_ONCE)
    doing, share = _progress(task.progress, waiting=task.state == WAITING)
    return TaskShown(
        task.id, task.state not in ENDED, int(task.seconds), doing, share,
        task.result if task.state == DONE else None, task.refusal or "",
    )  # fmt: skip


def _progress(told: dict[str, Any] | None, *, waiting: bool) -> tuple[str, float | None]:
    """What it is at, and how much of that is done."""
    if told is None:
        return ("waiting for its turn" if waiting else ""), None
    done, of = float(told.get("done", 0)), float(told.get("of", 0))
    return str(told.get("doing", "")), round(100.0 * min(1.0, done / of), 1) if of > 1 else None


PAGES = APIRouter(include_in_schema=False)
VIEWER = Depends(needs(Role.VIEWER))
LOOK = [VIEWER]
#: After how many measurements the bound is computed for the page of what was worth most.
LOOKS = 8
#: Studies with no more options and measurements are quicker than a worker begins.
SMALL = 500
_CHARTS = f"{CHARTS}{ROWS_WITH_PICTURES}@media (max-width: 40rem) {{{ON_PHONES}}}"


@PAGES.get("/charts.css")
def charts_style() -> Response:
    """How charts look: the same rules as in a report."""
    return Response(_CHARTS, media_type="text/css", headers={"Cache-Control": "max-age=300"})


@PAGES.get("/", dependencies=LOOK)
def all_studies(request: Request) -> HTMLResponse:
    """All studies, with the state of each."""
    studies = studies_of(request)
    rows = [_row(request, studies, name) for name in studies.names()]
    page = studies_page(rows, request.query_params)
    return rendered(request, "studies.html", page=page, version=_version(studies))


@PAGES.get("/now", dependencies=LOOK)
def version_of_all(request: Request) -> PlainTextResponse:
    """A text that changes when anything does, for pages that poll."""
    return PlainTextResponse(_version(studies_of(request)), headers={"Cache-Control": "no-store"})


def _version(studies: OpenStudies) -> str:
    numbers = []
    for name in studies.names():
        try:
            numbers.append(str(studies.number(name, patience=SHORT_PATIENCE)))
        except (ValueError, KeyError, OSError, ProblemError):
            numbers.append("?")
    return "-".join(numbers)


def _row(request: Request, studies: OpenStudies, name: str) -> StudyRow:
    try:
        with studies.use(name, patience=SHORT_PATIENCE) as study:
            return study_row(study, studies.clock())
    except ProblemError as problem:  # others are at work on it, or have just renamed it
        return busy_row(name, problem.detail)
    except (ValueError, KeyError, TypeError, OSError) as problem:
        return unreadable_row(name, str(problem.args[0]) if problem.args else str(problem))


@PAGES.get("/s/{study}", dependencies=LOOK)
def with_slash(request: Request, study: str) -> RedirectResponse:
    """A study's pages are below it, so its address needs its last stroke; relative, as all are."""
    return RedirectResponse(f"./{quote(study, safe='')}/")


@PAGES.get("/s/{study}/now", dependencies=LOOK)
def version_of_one(request: Request, study: str) -> PlainTextResponse:
    """The number of the last event, for pages that poll."""
    number = studies_of(request).number(name_in(study), patience=SHORT_PATIENCE)
    return PlainTextResponse(str(number), headers={"Cache-Control": "no-store"})


@PAGES.get("/s/{study}/options", dependencies=LOOK)
def options(request: Request, study: str) -> HTMLResponse:
    """The table of options."""
    added = request.query_params.get("added", "")
    said = ""
    if added.isdecimal() and len(added) < 12:
        said = f"{counted(int(added), 'option')} {'was' if int(added) == 1 else 'were'} added."
    with used(request, study) as opened:
        return shown_options(request, opened, message=said, message_kind=STOP)


@PAGES.get("/s/{study}/measurements", dependencies=LOOK)
def measurements(request: Request, study: str) -> HTMLResponse:
    """The table of measurements, and the form that tells one."""
    with used(request, study) as opened:
        told = request.query_params.get("told", "")
        said = _told_in_words(told, request.query_params.get("many", "1")) or _done_in_words(
            request.query_params.get("q", ""), request.query_params.get("done", "")
        )
        form = filled_for(opened, request.query_params.get("what", ""))
        slips = _slips_in(opened, told)
        return shown_measurements(
            request, opened, form=form, just_told=told,
            message=" ".join([said, *slips]), message_kind=HELD if slips else STOP,
        )  # fmt: skip


def _told_in_words(first: str, many: str) -> str:
    if not (first.startswith("m-") and first[2:].isdecimal() and len(first) < 20):
        return "Nothing new was recorded." if many == "0" else ""
    several = many.isdecimal() and len(many) < 12 and int(many) > 1
    return (
        f"{int(many):,} measurements were recorded, from {first} on." if several else f"{first} was recorded."
    )


def _slips_in(study: Study, told: str) -> list[str]:
    """What looks like a slip in the measurement that was just told."""
    state = study.analysis().state
    if not _told_in_words(told, "1").startswith("m-") or int(told[2:]) > len(state.told):
        return []
    return slips_in(state, int(told[2:]))


def _done_in_words(which: str, done: str) -> str:
    if not (which.startswith("m-") and which[2:].isdecimal() and len(which) < 20):
        return ""
    words = {"void": f"{which} counts no longer.", "amend": f"{which} was amended."}
    return words.get(done, "")


@PAGES.get("/s/{study}/check", dependencies=LOOK)
def check(request: Request, study: str) -> HTMLResponse:
    """Whether the measurements fit."""
    with used(request, study) as opened:
        return shown_check(request, opened)


@PAGES.get("/s/{study}/plan")
async def plan(request: Request, study: str, visitor: Visitor = VIEWER) -> HTMLResponse:
    """How many more it will take, simulated by a worker."""
    query = dict(request.query_params)
    shown: dict[str, Any] = {"query": query, "plan_problem": ""}
    task = NOT_ASKED
    try:
        if query.get("do") == "plan":
            task = await begun(request, study, visitor, "plan page", plan_arguments(query))
    except (ValueError, KeyError, TypeError) as problem:
        shown["plan_problem"] = sentence_of(problem)

    def page() -> HTMLResponse:
        with used(request, study) as opened:
            return study_page(request, opened, "plan.html", "Plan", task=task, **shown)

    return await run_in_threadpool(page)


@PAGES.get("/s/{study}/worth")
async def worth(request: Request, study: str, visitor: Visitor = VIEWER) -> HTMLResponse:
    """What each measurement contributed; of a large study a worker computes it."""

    def small() -> TaskShown | None:
        with used(request, study) as opened:
            if max(opened.n_measurements, len(opened.options)) > SMALL:
                return None
            made = studies_of(request).remembered(
                opened, "worth", lambda: worth_in_pictures(opened.worth(LOOKS))
            )
            return TaskShown(result=made)

    task = await run_in_threadpool(small)
    if task is None:
        task = await begun(request, study, visitor, "worth page", {"looks": LOOKS})

    def page() -> HTMLResponse:
        with used(request, study) as opened:
            return study_page(request, opened, "worth.html", "Worth", task=task)

    return await run_in_threadpool(page)


@PAGES.get("/s/{study}/log", dependencies=LOOK)
def log(request: Request, study: str) -> HTMLResponse:
    """The events."""
    with used(request, study) as opened:
        page = LogReader(opened, studies_of(request).storage).page(request.query_params, EVENT_KINDS)
        return study_page(request, opened, "log.html", "Log", page=page)


@PAGES.get("/s/{study}/", dependencies=LOOK)
def overview(request: Request, study: str) -> HTMLResponse:
    """The first page of a study."""
    with used(request, study) as opened:
        made = "The study was made." if request.query_params.get("made") else ""
        return shown_overview(request, opened, message=made, message_kind=STOP)


@PAGES.get("/s/{study}/report")
async def report(request: Request, study: str, visitor: Visitor = VIEWER) -> HTMLResponse:
    """The report: computed when it is asked for, then opened or downloaded."""
    planned = bool(request.query_params.get("plan"))
    task = NOT_ASKED
    if request.query_params.get("do") == "report":
        task = await begun(request, study, visitor, "report", {"plan": True} if planned else {})

    def page() -> HTMLResponse:
        with used(request, study) as opened:
            return study_page(request, opened, "report.html", "Report", task=task, planned=planned)

    return await run_in_threadpool(page)
