"""Making a study on a page: what would be made is shown first."""

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from noisewise.core.support.remarks import heard_warnings
from noisewise.web.api.answers import name_in_path
from noisewise.web.auth.roles import Role, Visitor, needs
from noisewise.web.pages.changes import REFUSED, said_by
from noisewise.web.pages.handing_in import read_handed_in
from noisewise.web.pages.seen import is_as_seen, mark_of
from noisewise.web.pages.shown import studies_of
from noisewise.web.pages.templating import rendered
from noisewise.web.pages.views.choices import GROUPS, QUESTION, touched
from noisewise.web.pages.views.new_study import SOURCES, NewStudyPage, look_at, name_in_form, read_question
from noisewise.web.pages.views.tables.handed import OF_READERS, HandedIn, formats

#: What is said to whoever changed the form after looking.
CHANGED = "Nothing was made yet: the form was changed after you looked. This is what it would make now."
MAKING = APIRouter(include_in_schema=False)
OWN = Depends(needs(Role.OWNER))


def new_page(request: Request, page: NewStudyPage, form: dict[str, str], status: int = 200) -> HTMLResponse:
    """The page on which a study is made."""
    opened = [group.title for group in GROUPS if touched(group, form)]
    return rendered(
        request, "new.html", status, page=page, form=form, sources=SOURCES, question=QUESTION, groups=GROUPS,
        opened=opened, formats=formats(), of_readers=OF_READERS,
        seen=mark_of({**form, "source": page.source}, page.table),
    )  # fmt: skip


@MAKING.get("/new", dependencies=[OWN])
def new(request: Request) -> HTMLResponse:
    """An empty form."""
    studies_of(request).check_writable()
    return new_page(request, NewStudyPage(), {})


@MAKING.post("/new")
async def make(request: Request, visitor: Visitor = OWN) -> Response:
    """A study: shown as it would be, and made if that was asked for."""
    studies = studies_of(request)
    studies.check_writable()
    try:
        form, handed = await read_handed_in(request)
    except ValueError as refused:
        return new_page(request, NewStudyPage(problem=said_by(refused)), {}, 422)
    return await run_in_threadpool(_made, request, form, handed, visitor)


def _made(request: Request, form: dict[str, str], handed: HandedIn, visitor: Visitor) -> Response:
    studies = studies_of(request)
    page = look_at(form, handed, studies.names())
    changed = form.get("do") == "make" and not is_as_seen(form)
    if changed and page.ready:
        page = page._replace(problem=CHANGED)
    elif form.get("do") == "make" and page.ready:
        try:
            name = name_in_form(form, studies.names())
            arguments: dict[str, Any] = read_question(form, handed, visitor.name).arguments
            with heard_warnings():  # the preview has shown what comes of it
                studies.create(name, **arguments)
            return RedirectResponse(f"./s/{quote(name_in_path(name), safe='')}/?made=1", 303)
        except REFUSED as problem:  # somebody was faster
            page = page._replace(problem=said_by(problem), ready=False)
    return new_page(request, page, form, 422 if page.problem else 200)
