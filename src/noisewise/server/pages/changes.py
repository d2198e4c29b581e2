"""What forms of pages change: each goes back to its page, with what was done or why it was refused."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response

from noisewise.core.remarks import heard_warnings
from noisewise.server.auth.forms import read_form, texts_of
from noisewise.server.auth.roles import Role, Visitor, needs, visitor_of
from noisewise.server.pages.fields import sentence_of
from noisewise.server.pages.measurements import arguments_of, measured_of
from noisewise.server.pages.rendering import key_of, rendered
from noisewise.server.pages.shown import (
    shown_check,
    shown_measurements,
    shown_options,
    shown_overview,
    studies_of,
    study_page,
    used,
)
from noisewise.server.pages.tables import (
    OF_READERS,
    Added,
    HandedIn,
    Pasted,
    add_named,
    added_options,
    formats,
    handed_in,
    preview,
    tell_handed,
)
from noisewise.server.problems import ProblemError
from noisewise.server.tasks import LongTasks
from noisewise.study.study import Study
from noisewise.study.telling.rows import measurement_of, read_told

CHANGES = APIRouter(include_in_schema=False)
LOOK, WORK, OWN = (Depends(needs(role)) for role in (Role.VIEWER, Role.WORKER, Role.OWNER))
REFUSED = (ValueError, KeyError, TypeError)
Change = Callable[[Study, dict[str, str], str | None], str]
Refusal = Callable[[Request, Study, dict[str, str], str], HTMLResponse]


def _tell(study: Study, form: dict[str, str], by: str | None) -> str:
    state = study.analysis().state
    one = study.tell(**arguments_of(form, options=state.index, jobs=state.jobs), by=by)
    return f"measurements?{urlencode({'told': one.id})}#{one.id}"


def _void(study: Study, form: dict[str, str], by: str | None) -> str:
    study.void(form.get("measurement", ""), form.get("reason", ""))
    return f"measurements?{urlencode({'q': form['measurement'], 'done': 'void'})}"


def _amend(study: Study, form: dict[str, str], by: str | None) -> str:
    one = study.amend(form.get("measurement", ""), form.get("reason", ""), **measured_of(form))
    return f"measurements?{urlencode({'q': one.id, 'done': 'amend'})}"


def _ask(study: Study, form: dict[str, str], by: str | None) -> str:
    study.ask(by=by)
    return "./#under-way"


def _release(study: Study, form: dict[str, str], by: str | None) -> str:
    study.release(form.get("job", ""))
    return "./#under-way"


def _fail(study: Study, form: dict[str, str], by: str | None) -> str:
    study.fail(form.get("job", ""), form.get("reason", ""))
    return "./#under-way"


def _exclude(study: Study, form: dict[str, str], by: str | None) -> str:
    study.exclude(form.get("option", ""), form.get("reason", ""))
    return "options?standing=excluded"


def _include(study: Study, form: dict[str, str], by: str | None) -> str:
    study.include(form.get("option", ""))
    return f"options?{urlencode({'q': form['option']})}"


def _switch(study: Study, form: dict[str, str], by: str | None) -> str:
    if not form.get("reason", "").strip():
        raise ValueError("say why the model is changed: the log keeps the reason.")
    names = ("model", "deviation", "extra_scatter", "reason")
    said: dict[str, Any] = {one: form[one] for one in names if form.get(one)}
    study.switch(**said)
    return "check"


def _on_overview(request: Request, study: Study, form: dict[str, str], why: str) -> HTMLResponse:
    return shown_overview(request, study, message=why, status=422)


def _on_options(request: Request, study: Study, form: dict[str, str], why: str) -> HTMLResponse:
    return shown_options(request, study, message=why, status=422)


def _on_check(request: Request, study: Study, form: dict[str, str], why: str) -> HTMLResponse:
    return shown_check(request, study, message=why, status=422)


def _on_measurements(request: Request, study: Study, form: dict[str, str], why: str) -> HTMLResponse:
    fix = form.get("measurement", "")
    return shown_measurements(request, study, form=form, message=why, fix=fix, status=422)


#: Forms by the end of their address: who may send them, what they change, and the page that shows a refusal.
FORMS: dict[str, tuple[Any, Change, Refusal]] = {
    "tell": (WORK, _tell, _on_measurements),
    "void": (OWN, _void, _on_measurements),
    "amend": (OWN, _amend, _on_measurements),
    "ask": (WORK, _ask, _on_overview),
    "release": (WORK, _release, _on_overview),
    "fail": (WORK, _fail, _on_overview),
    "exclude": (OWN, _exclude, _on_options),
    "include": (OWN, _include, _on_options),
    "switch": (OWN, _switch, _on_check),
}


def _route(change: Change, refusal: Refusal) -> Callable[..., Any]:
    """A route that does what a form asks for, and goes where ``change`` says or shows the reason."""

    async def changed(request: Request, study: str) -> Response:
        studies_of(request).check_writable()
        form = texts_of(await read_form(request))

        def done() -> Response:
            key, by = key_of(request, form), visitor_of(request).name
            with used(request, study, write=True) as opened:
                if key is not None and opened.appended_as(key):  # a double click
                    return RedirectResponse("./", 303)
                try:
                    with heard_warnings(), opened.acting(by, key=key):
                        place = change(opened, form, by)
                except REFUSED as problem:
                    return refusal(request, opened, form, sentence_of(problem))
                return RedirectResponse(place, 303)

        return await run_in_threadpool(done)

    return changed


for _end, (_role, _change, _refusal) in FORMS.items():
    CHANGES.add_api_route(
        f"/s/{{study}}/{_end}", _route(_change, _refusal), methods=["POST"], dependencies=[_role],
        name=f"form {_end}",
    )  # fmt: skip


@CHANGES.post("/s/{study}/tell/preview")
async def say_what_would_be_told(request: Request, study: str, visitor: Visitor = LOOK) -> HTMLResponse:
    """How a form would be understood; nothing is told."""
    form = texts_of(await read_form(request))

    def understood() -> HTMLResponse:
        if not form.get("kind") or not form.get("what", "").strip():
            return rendered(request, "preview.html", words="", bad=False)
        with used(request, study) as opened:
            state = opened.analysis().state
            try:
                given = arguments_of(form, options=state.index, jobs=state.jobs)
                body = read_told(
                    state, {"job": None, "value": None, **given}, now=studies_of(request).clock()
                )
            except REFUSED as problem:
                return rendered(request, "preview.html", words=sentence_of(problem), bad=True)
            one = measurement_of(len(state.told) + 1, body)
        what = one.option if one.minus is None else f"{one.option} − {one.minus}"
        error = "" if one.se is None else f" ± {one.se:.3g}"
        enters = (
            "its error is estimated with others" if one.sigma is None else f"it enters with {one.sigma:.3g}"
        )
        notes = "".join(f"; {note}" for note in one.notes)
        return rendered(
            request, "preview.html", words=f"{what} = {one.value:.6g}{error}; {enters}{notes}.", bad=False
        )

    return await run_in_threadpool(understood)


@CHANGES.post("/s/{study}/cancel")
async def cancel(request: Request, study: str, visitor: Visitor = LOOK) -> Response:
    """Stop what a worker computes for a page."""
    form = texts_of(await read_form(request))
    tasks: LongTasks = request.app.state.tasks
    await tasks.cancel_for(visitor, form.get("task", ""))
    back = form.get("back", "")
    return RedirectResponse(back if back in ("worth", "report") else "plan", 303)


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
        of_readers=OF_READERS, status=status,
    )  # fmt: skip


@CHANGES.get("/s/{study}/paste", dependencies=[WORK])
def paste(request: Request, study: str) -> HTMLResponse:
    """A table to be pasted, or files to be uploaded."""
    studies_of(request).check_writable()
    with used(request, study) as opened:
        return table_page(request, opened, Pasted(), {})


@CHANGES.post("/s/{study}/paste")
async def tell_table(request: Request, study: str, visitor: Visitor = WORK) -> Response:
    """A table: previewed, and told if that was asked for."""
    studies_of(request).check_writable()
    try:
        texts, handed = await read_handed_in(request)
        problem = ""
    except ValueError as refused:
        texts, handed, problem = {}, HandedIn(), sentence_of(refused)
    if not visitor.may_correct and (texts.get("amend", "").strip() or texts.get("unknown") == "add"):
        raise ProblemError(403, "correcting what was recorded, and adding options, needs the role owner.")

    def done() -> Response:
        with used(request, study, write=texts.get("do") == "tell") as opened:
            if problem:
                return table_page(request, opened, Pasted(problem=problem), texts, 422)
            return _table_told(request, opened, texts, handed)

    return await run_in_threadpool(done)


def _table_told(request: Request, study: Study, texts: dict[str, str], handed: HandedIn) -> Response:
    seen = "role.0" in texts and not handed.files  # what is told was seen before
    if texts.get("do") == "tell" and seen:
        try:
            return RedirectResponse(_told(request, study, texts, handed), 303)
        except REFUSED:  # the page shows why, beside the row
            pass
    page = preview(study, handed, texts)
    return table_page(request, study, page, texts, 422 if page.problem else 200)


def _told(request: Request, study: Study, texts: dict[str, str], handed: HandedIn) -> str:
    visitor = visitor_of(request)
    with study.acting(visitor.name), heard_warnings():  # the preview has said them
        taken: Any = tell_handed(study, handed, texts, visitor.name)
    first = next((one.id for one in taken), "")
    return f"measurements?{urlencode({'told': first, 'many': len(taken)})}"


@CHANGES.get("/s/{study}/add", dependencies=[OWN])
def add_page(request: Request, study: str) -> HTMLResponse:
    """Options to be added."""
    studies_of(request).check_writable()
    with used(request, study) as opened:
        return study_page(request, opened, "add.html", "Options", page=added_options(opened, HandedIn()))


@CHANGES.post("/s/{study}/add")
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
