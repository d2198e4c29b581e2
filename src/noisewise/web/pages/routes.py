"""The pages to look at; none of them writes anything."""

from pathlib import Path

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from noisewise.study.showing.intervals import view_of
from noisewise.study.showing.page.style import CHARTS, ON_PHONES, ROWS_WITH_PICTURES
from noisewise.study.study import Study
from noisewise.web.auth.roles import Role, needs
from noisewise.web.open_studies import OpenStudies
from noisewise.web.pages.shown import headline, memory_of, study_page
from noisewise.web.pages.templating import rendered
from noisewise.web.pages.views.check import check_page
from noisewise.web.pages.views.compare import Side, compare
from noisewise.web.pages.views.headline import STOP
from noisewise.web.pages.views.log import log_page
from noisewise.web.pages.views.measurements import measurements_page
from noisewise.web.pages.views.options import options_page
from noisewise.web.pages.views.outlook import LOOKS, asked_plan, asked_slots, worth_page
from noisewise.web.pages.views.overview import overview_of
from noisewise.web.pages.views.paging import page_of
from noisewise.web.pages.views.pasted import Pasted
from noisewise.web.pages.views.studies import StudyRow, studies_page, study_row, unreadable_row
from noisewise.web.pages.views.tell_form import BESIDE, ERROR_KINDS
from noisewise.web.problems import ProblemError

STATIC = Path(__file__).parent / "static"
PAGES = APIRouter(include_in_schema=False)
LOOK = [Depends(needs(Role.VIEWER))]
#: Options that a field offers as one types.
MOST_OFFERED = 1000
_CHARTS = f"{CHARTS}{ROWS_WITH_PICTURES}@media (max-width: 40rem) {{{ON_PHONES}}}"


def studies_of(request: Request) -> OpenStudies:
    """The studies that this server has open."""
    found: OpenStudies = request.app.state.studies
    return found


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
            numbers.append(str(studies.number(name)))
        except (ValueError, KeyError, OSError):
            numbers.append("?")
    return "-".join(numbers)


def _row(request: Request, studies: OpenStudies, name: str) -> StudyRow:
    try:
        with studies.use(name) as study:
            return study_row(study, studies.clock())
    except (ValueError, KeyError, TypeError, OSError) as problem:
        return unreadable_row(name, str(problem.args[0]) if problem.args else str(problem))


@PAGES.get("/compare", dependencies=LOOK)
def two_studies(request: Request) -> HTMLResponse:
    """Two studies side by side."""
    studies, query = studies_of(request), dict(request.query_params)
    chosen = [query.get("a", ""), query.get("b", "")]
    context = {"names": studies.names(), "query": query, "problem": "", "page": None}
    if not all(chosen):
        return rendered(request, "compare.html", **context)
    sides, frames = [], []
    try:
        for name in chosen:
            with studies.use(name) as study:
                frames.append(memory_of(request).of(study, "options", lambda one=study: one.frame("options")))
                sides.append(
                    Side(name, headline(request, study), study.n_measurements, len(study.options),
                         study.specification.unit)
                )  # fmt: skip
    except ProblemError as problem:
        return rendered(request, "compare.html", 404, **context | {"problem": problem.detail})
    return rendered(request, "compare.html", **context | {"page": compare(sides, frames, query)})


@PAGES.get("/s/{name:path}/now", dependencies=LOOK)
def version_of_one(request: Request, name: str) -> PlainTextResponse:
    """The number of the last event, for pages that poll."""
    number = studies_of(request).number(name)
    return PlainTextResponse(str(number), headers={"Cache-Control": "no-store"})


@PAGES.get("/s/{name:path}/options", dependencies=LOOK)
def options(request: Request, name: str) -> HTMLResponse:
    """The table of options."""
    with studies_of(request).use(name) as study:
        return shown_options(request, study)


def shown_options(request: Request, study: Study, *, message: str = "", status: int = 200) -> HTMLResponse:
    """The table of options, with a message on top."""
    memory, certificate = memory_of(request), study.certificate()
    frame = memory.of(study, "options", lambda: study.frame("options"))
    view = memory.of(study, "view", lambda: view_of(study.analysis(), certificate))
    page = options_page(frame, view, certificate, request.query_params)
    changing = request.query_params.get("change", "")
    return study_page(
        request, study, "options.html", "Options", page=page, changing=changing, message=message, status=status
    )


@PAGES.get("/s/{name:path}/measurements", dependencies=LOOK)
def measurements(request: Request, name: str) -> HTMLResponse:
    """The table of measurements, and the form that tells one."""
    with studies_of(request).use(name) as study:
        told = request.query_params.get("told", "")
        said = f"{told} was told." if told.startswith("m-") and told[2:].isdecimal() else ""
        form = {"what": request.query_params.get("what", "")}
        return shown_measurements(request, study, form=form, message=said, kind=STOP, just_told=told)


def shown_measurements(
    request: Request,
    study: Study,
    *,
    form: dict[str, str],
    message: str = "",
    kind: str = "held",
    just_told: str = "",
    fix: str = "",
    status: int = 200,
) -> HTMLResponse:
    """The same with what somebody has filled in."""
    query = dict(request.query_params) | ({"fix": fix} if fix else {})
    names = [job.id for job in study.pending] + study.options
    return study_page(
        request, study, "measurements.html", "Measurements",
        page=measurements_page(study, query), form=form, names=names[:MOST_OFFERED], kinds=ERROR_KINDS,
        beside=BESIDE, just_told=just_told, message=message, message_kind=kind, status=status,
    )  # fmt: skip


@PAGES.get("/s/{name:path}/paste", dependencies=LOOK)
def paste(request: Request, name: str) -> HTMLResponse:
    """A table to be pasted or uploaded."""
    with studies_of(request).use(name) as study:
        return study_page(request, study, "paste.html", "Measurements", page=Pasted())


@PAGES.get("/s/{name:path}/check", dependencies=LOOK)
def check(request: Request, name: str) -> HTMLResponse:
    """Whether the measurements fit."""
    with studies_of(request).use(name) as study:
        return shown_check(request, study)


def shown_check(request: Request, study: Study, *, message: str = "", status: int = 200) -> HTMLResponse:
    """The check, with a message on top."""
    page = memory_of(request).of(study, "check", lambda: check_page(study.check(), study.analysis()))
    return study_page(request, study, "check.html", "Check", page=page, message=message, status=status)


@PAGES.get("/s/{name:path}/plan", dependencies=LOOK)
def plan(request: Request, name: str) -> HTMLResponse:
    """How many more it will take, and what to do with a slot."""
    studies, query = studies_of(request), dict(request.query_params)
    context = {"query": query, "plan": None, "slots": [], "plan_problem": "", "slot_problem": ""}
    try:
        if query.get("do") == "plan":
            # On a study of its own: a plan takes seconds, and others should not wait for it.
            with studies.use(name):
                pass
            context["plan"] = asked_plan(Study(studies.storage, name, studies.clock), query)
        elif query.get("do") == "slot":
            with studies.use(name) as study:
                context["slots"] = asked_slots(study, query)
    except (ValueError, KeyError, TypeError) as problem:
        which = "plan_problem" if query.get("do") == "plan" else "slot_problem"
        context[which] = str(problem.args[0]) if problem.args else str(problem)
    with studies.use(name) as study:
        return study_page(request, study, "plan.html", "Plan", **context)


@PAGES.get("/s/{name:path}/worth", dependencies=LOOK)
def worth(request: Request, name: str) -> HTMLResponse:
    """What each measurement contributed."""
    with studies_of(request).use(name) as study:
        page = memory_of(request).of(study, "worth", lambda: worth_page(study.worth(looks=LOOKS)))
        return study_page(request, study, "worth.html", "Worth", page=page)


@PAGES.get("/s/{name:path}/log", dependencies=LOOK)
def log(request: Request, name: str) -> HTMLResponse:
    """The events."""
    studies = studies_of(request)
    with studies.use(name) as study:
        total = study.n_events
        pager = page_of(total, request.query_params.get("page"), {})
        first, last = total - pager.last, total - pager.first
        later = studies.storage.read(name, first)
        events = later[: last - first]
        # Every telling has the next number, so those of a page follow from how many come after it.
        count = len(study.analysis().state.told) - sum(event.kind == "tell" for event in later[len(events) :])
        page = log_page(events, pager, count, study.head)
        return study_page(request, study, "log.html", "Log", page=page)


@PAGES.get("/s/{name:path}/", dependencies=LOOK)
def overview(request: Request, name: str) -> HTMLResponse:
    """The first page of a study."""
    with studies_of(request).use(name) as study:
        return shown_overview(request, study)


def shown_overview(request: Request, study: Study, *, message: str = "", status: int = 200) -> HTMLResponse:
    """The first page, with a message on top."""
    page = overview_of(study, study.certificate(), memory_of(request).course(study))
    return study_page(request, study, "overview.html", "Overview", page=page, message=message, status=status)
