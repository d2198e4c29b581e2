"""A page of one study: what all of them have on top, filled with what each shows."""

from typing import Any

from fastapi import Request
from starlette.responses import HTMLResponse

from noisewise.study.study import Study
from noisewise.web.pages.memory import PageMemory
from noisewise.web.pages.templating import rendered
from noisewise.web.pages.views.headline import HELD, Headline, headline_of
from noisewise.web.pages.views.studies import question_of
from noisewise.web.pages.views.times import since

#: Kinds of events, which are those of the stream that pages listen to.
EVENT_KINDS = (
    "tell", "ask", "fail", "release", "void", "amend", "mend", "exclude", "include", "add", "policy", "switch",
)  # fmt: skip


def memory_of(request: Request) -> PageMemory:
    """What was computed for pages of this server."""
    state = request.app.state
    if not hasattr(state, "page_memory"):
        state.page_memory = PageMemory()
    found: PageMemory = state.page_memory
    return found


def headline(request: Request, study: Study) -> Headline:
    """The certificate on top of every page."""
    return memory_of(request).of(study, "headline", lambda: headline_of(study.certificate()))


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
        "event_kinds": EVENT_KINDS,
        "measured": certificate.n_measurements,
        "n_options": len(study.options),
        "message": message,
        "message_kind": message_kind,
    }
    return rendered(request, template, status, **(context | more))
