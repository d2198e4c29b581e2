"""The report of a study, computed by a worker, and the links that show it to others."""

import json
from typing import Any, NamedTuple

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from noisewise.web.api.bodies import Sharing
from noisewise.web.api.shares import list_shares, share, unshare
from noisewise.web.auth.forms import read_form
from noisewise.web.auth.roles import Role, Visitor, needs
from noisewise.web.pages.changes import texts_of
from noisewise.web.pages.long_pages import NOT_ASKED, begun
from noisewise.web.pages.shown import studies_of, study_page, used
from noisewise.web.pages.views.headline import HELD, STOP
from noisewise.web.pages.views.times import day_and_time
from noisewise.web.problems import ProblemError

REPORTING = APIRouter(include_in_schema=False)
VIEWER, OWN = Depends(needs(Role.VIEWER)), Depends(needs(Role.OWNER))


class ShareShown(NamedTuple):
    """A link that is valid."""

    id: str
    name: str
    made: str


@REPORTING.get("/s/{study}/report")
async def report(request: Request, study: str, visitor: Visitor = VIEWER) -> HTMLResponse:
    """The report: computed when it is asked for, then opened or downloaded; and its links."""
    asked = request.query_params.get("do") == "report"
    planned = bool(request.query_params.get("plan"))
    task = NOT_ASKED
    if asked:
        task = await begun(request, study, visitor, "report", {"plan": True} if planned else {})
    told = STOP if request.query_params.get("revoked") else ""
    return await _shown(
        request, study, visitor, task=task, planned=planned,
        message="The link is valid no longer." if told else "", message_kind=told or HELD,
    )  # fmt: skip


@REPORTING.post("/s/{study}/share")
async def share_report(request: Request, study: str, visitor: Visitor = OWN) -> Response:
    """Make a link; its address is shown here and nowhere else."""
    studies_of(request).check_writable()
    name = texts_of(await read_form(request)).get("name", "").strip()
    if not name or len(name) > 1000:
        why = "Say whom the link is for, in a few words: by that you know it again when you revoke it."
        return await _shown(request, study, visitor, message=why, status=422)
    try:
        made = await run_in_threadpool(share, request, study, Sharing(name=name), visitor)
    except ValueError as problem:
        return await _shown(request, study, visitor, message=str(problem), status=422)
    secret = str(_content(made)["path"]).rpartition("/")[2]
    return await _shown(request, study, visitor, secret=secret, shared_with=name)


@REPORTING.post("/s/{study}/unshare")
async def unshare_report(request: Request, study: str, visitor: Visitor = OWN) -> Response:
    """Let a link be valid no longer."""
    studies_of(request).check_writable()
    id = texts_of(await read_form(request)).get("id", "")
    await run_in_threadpool(unshare, request, study, id, visitor)
    return RedirectResponse("report?revoked=1#links", 303)


async def _shown(
    request: Request, study: str, visitor: Visitor, *, secret: str = "", shared_with: str = "", **more: Any
) -> HTMLResponse:
    shown: dict[str, Any] = {
        "task": NOT_ASKED,
        "planned": False,
        "secret": secret,
        "shared_with": shared_with,
    } | more

    def page() -> HTMLResponse:
        links = _links(request, study, visitor)
        with used(request, study) as opened:
            return study_page(request, opened, "report.html", "Report", links=links, **shown)

    return await run_in_threadpool(page)


def _links(request: Request, study: str, visitor: Visitor) -> list[ShareShown] | None:
    """The links that are valid, for owners; None: there can be none."""
    if not visitor.may_correct:
        return None
    try:
        rows = _content(list_shares(request, study, visitor))["shares"]
    except ProblemError as problem:
        if problem.status_code == 404:
            raise
        return None
    return [ShareShown(row["id"], row["name"], day_and_time(row["made"])) for row in rows]


def _content(answer: Response) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bytes(answer.body))
    return found
