"""Tables and files that are handed in: told as measurements, or added as options; always previewed first."""

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response

from noisewise.core.support.remarks import heard_warnings
from noisewise.study.study import Study
from noisewise.web.auth.forms import read_form
from noisewise.web.auth.roles import Role, Visitor, needs, visitor_of
from noisewise.web.pages.changes import REFUSED, said_by, texts_of
from noisewise.web.pages.seen import CHANGED, is_as_seen, mark_of
from noisewise.web.pages.shown import studies_of, study_page, used
from noisewise.web.pages.views.tables.added import Added, add_named, added_options
from noisewise.web.pages.views.tables.handed import OF_READERS, HandedIn, formats, handed_in
from noisewise.web.pages.views.tables.pasted import Pasted, preview, tell_handed
from noisewise.web.problems import ProblemError

HANDING_IN = APIRouter(include_in_schema=False)
WORK, OWN = (Depends(needs(role)) for role in (Role.WORKER, Role.OWNER))


async def read_handed_in(request: Request) -> tuple[dict[str, str], HandedIn]:
    """The texts of a form, and the table or files that came with it."""
    form: FormData = await read_form(request)
    texts = texts_of(form)
    sent = [one for one in form.getlist("file") if isinstance(one, UploadFile) and one.filename]
    uploads = [(str(one.filename), await one.read()) for one in sent]
    await form.close()
    return texts, handed_in(texts, uploads)


def table_page(
    request: Request, study: Study, page: Pasted, texts: dict[str, str], status: int = 200
) -> HTMLResponse:
    """The page on which a table is handed in."""
    return study_page(
        request, study, "paste.html", "Measurements", page=page, form=texts, formats=formats(),
        of_readers=OF_READERS, seen=mark_of(texts, page), status=status,
    )  # fmt: skip


@HANDING_IN.get("/s/{study}/paste", dependencies=[WORK])
def paste(request: Request, study: str) -> HTMLResponse:
    """A table to be pasted, or files to be uploaded."""
    studies_of(request).check_writable()
    with used(request, study) as opened:
        return table_page(request, opened, Pasted(), {})


@HANDING_IN.post("/s/{study}/paste")
async def tell_table(request: Request, study: str, visitor: Visitor = WORK) -> Response:
    """A table: previewed, and told if that was asked for."""
    studies_of(request).check_writable()
    try:
        texts, handed = await read_handed_in(request)
        problem = ""
    except ValueError as refused:
        texts, handed, problem = {}, HandedIn(), said_by(refused)
    if not visitor.may_correct and (texts.get("amend", "").strip() or texts.get("unknown") == "add"):
        raise ProblemError(403, "correcting what was told, and adding options, needs the role owner.")

    def done() -> Response:
        with used(request, study, write=texts.get("do") == "tell") as opened:
            if problem:
                return table_page(request, opened, Pasted(problem=problem), texts, 422)
            return _table(request, opened, texts, handed)

    return await run_in_threadpool(done)


def _table(request: Request, study: Study, texts: dict[str, str], handed: HandedIn) -> Response:
    # What is told was seen before: a table whose columns were chosen, or files that the form has kept.
    seen = "role.0" in texts if handed.text.strip() else bool(texts.get("kept"))
    changed = texts.get("do") == "tell" and not is_as_seen(texts)
    if texts.get("do") == "tell" and seen and not changed:
        try:
            return RedirectResponse(_told(request, study, texts, handed), 303)
        except REFUSED:  # the page shows why, beside the row
            pass
    page = preview(study, handed, texts)
    if changed and not page.problem:
        page = page._replace(said=f"{CHANGED} {page.said}")
    return table_page(request, study, page, texts, 422 if page.problem else 200)


def _told(request: Request, study: Study, texts: dict[str, str], handed: HandedIn) -> str:
    visitor = visitor_of(request)
    with study.acting(visitor.name), heard_warnings():  # the preview has said them
        taken: Any = tell_handed(study, handed, texts, visitor.name)
    first = next((one.id for one in taken), "")
    return f"measurements?{urlencode({'told': first, 'many': len(taken)})}"


@HANDING_IN.get("/s/{study}/add", dependencies=[OWN])
def add_page(request: Request, study: str) -> HTMLResponse:
    """Options to be added."""
    studies_of(request).check_writable()
    with used(request, study) as opened:
        return study_page(request, opened, "add.html", "Options", page=added_options(opened, HandedIn()))


@HANDING_IN.post("/s/{study}/add")
async def add(request: Request, study: str, visitor: Visitor = OWN) -> Response:
    """More options: previewed, and added if that was asked for."""
    studies_of(request).check_writable()
    texts, handed = await read_handed_in(request)

    def done() -> Response:
        with used(request, study, write=texts.get("do") == "add") as opened:
            page = added_options(opened, handed)
            if page.ready and texts.get("do") == "add":
                with opened.acting(visitor.name):
                    names = add_named(opened, handed)
                return RedirectResponse(
                    f"options?{urlencode({'added': len(names), 'standing': 'never'})}", 303
                )
            return _add_page(request, opened, page)

    return await run_in_threadpool(done)


def _add_page(request: Request, study: Study, page: Added) -> HTMLResponse:
    status = 422 if page.problem else 200
    return study_page(request, study, "add.html", "Options", page=page, status=status)
