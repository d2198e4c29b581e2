"""A page of one study: what all of them have on top, filled with what each shows."""

from contextlib import AbstractContextManager
from typing import Any

import polars as pl
from fastapi import Request
from starlette.responses import HTMLResponse

from noisewise.server.answers import name_in
from noisewise.server.open_studies import OpenStudies
from noisewise.server.pages.check import LONG, check_page
from noisewise.server.pages.fields import fields_for
from noisewise.server.pages.measurements import BESIDE, filled_with, kinds_for, measurements_page
from noisewise.server.pages.options import options_page
from noisewise.server.pages.overview import SLOW, overview_of, question_of
from noisewise.server.pages.rendering import HELD, Headline, headline_of, rendered, since
from noisewise.study.certificates.check import check_fit
from noisewise.study.report.intervals import view_of
from noisewise.study.study import Study

#: Options that a field offers as one types.
MOST_OFFERED = 1000

#: Kinds of events.
EVENT_KINDS = (
    "tell",
    "table",
    "ask",
    "fail",
    "release",
    "void",
    "amend",
    "exclude",
    "include",
    "add",
    "policy",
    "switch",
)


def studies_of(request: Request) -> OpenStudies:
    """The studies that this server has open."""
    found: OpenStudies = request.app.state.studies
    return found


def used(request: Request, segment: str, *, write: bool = False) -> AbstractContextManager[Study]:
    """The study that a part of an address means, for this thread alone until the block ends."""
    return studies_of(request).use(name_in(segment), write=write)


def headline(request: Request, study: Study) -> Headline:
    """The certificate on top of every page."""
    return studies_of(request).remembered(study, "headline", lambda: headline_of(study.certificate()))


def options_frame(request: Request, study: Study) -> pl.DataFrame:
    """The table of options, which takes long to make where there are many."""
    return studies_of(request).remembered(study, "options", lambda: study.frame("options"))


def study_page(
    request: Request,
    study: Study,
    template: str,
    tab: str,
    *,
    message: str = "",
    message_kind: str = HELD,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """One page of a study.

    Args:
        request: Who asks for it.
        study: The study, held by this thread.
        template: The page.
        tab: The title of the page among those of the study.
        message: A sentence on top: what was done, or why it was refused.
        message_kind: Its light.
        status: Of the answer.
        more: What the template shows.
    """
    certificate, events = study.certificate(), study.n_events
    tabs = [
        ("", "Overview", None),
        ("options", "Options", len(study.options)),
        ("measurements", "Measurements", len(study.analysis().state.told)),
        ("check", "Check", None),
        ("plan", "Plan", None),
        ("worth", "Worth", None),
        ("report", "Report", None),
        ("log", "Log", events),
    ]
    context = {
        "study": study.name,
        "question": question_of(study, certificate),
        "event": events,
        "since": since(study.last_change, request.app.state.studies.clock()),
        "tabs": tabs,
        "tab_title": tab,
        "headline": headline(request, study),
        "measured": certificate.n_measurements,
        "n_options": len(study.options),
        "message": message,
        "message_kind": message_kind,
    }
    return rendered(request, template, status, **(context | more))


def shown_overview(request: Request, study: Study, **top: Any) -> HTMLResponse:
    """The first page, with a message on top."""
    studies = studies_of(request)
    asked = request.headers.get("hx-trigger") == "next" or "next" in request.query_params
    page = overview_of(
        study,
        study.certificate(),
        lambda what, make: studies.remembered(study, what, make),
        suggest=asked or len(study.options) <= SLOW,
    )
    return study_page(request, study, "overview.html", "Overview", page=page, **top)


def shown_options(request: Request, study: Study, **top: Any) -> HTMLResponse:
    """The table of options, with a message on top."""
    certificate = study.certificate()
    frame = options_frame(request, study)
    view = studies_of(request).remembered(study, "view", lambda: view_of(study.analysis(), certificate))
    page = options_page(frame, view, certificate, request.query_params)
    changing = request.query_params.get("change", "")
    return study_page(request, study, "options.html", "Options", page=page, changing=changing, **top)


def shown_measurements(
    request: Request, study: Study, *, form: dict[str, str], just_told: str = "", fix: str = "", **top: Any
) -> HTMLResponse:
    """The table of measurements, with what was filled in."""
    query = dict(request.query_params) | ({"fix": fix} if fix else {})
    names = [job.id for job in study.pending] + study.options
    page = measurements_page(study, query)
    fixed = (
        {} if page.fixing is None else filled_with(study.analysis().state.told[int(page.fixing.id[2:]) - 1])
    )
    return study_page(
        request, study, "measurements.html", "Measurements",
        page=page, form=form, names=names[:MOST_OFFERED], kinds=kinds_for(study),
        fixed=form if form.get("measurement") else fixed, beside=fields_for("tell", BESIDE),
        just_told=just_told, **top,
    )  # fmt: skip


def shown_check(request: Request, study: Study, **top: Any) -> HTMLResponse:
    """The check, with a message on top."""
    remembered, analysis = studies_of(request).remembered, study.analysis()
    asked = request.headers.get("hx-trigger") == "check" or "causes" in request.query_params
    if asked or analysis.columns.value.size <= LONG:
        page = remembered(study, "check", lambda: check_page(study.check(), analysis))
    else:
        page = remembered(study, "first check", lambda: check_page(check_fit(analysis), analysis))
    return study_page(request, study, "check.html", "Check", page=page, **top)
