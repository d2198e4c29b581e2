"""What forms of pages change: each goes back to its page, with what was done or why it was refused."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response

from noisewise.study.intake.entry import measurement_of, read_told
from noisewise.study.study import Study
from noisewise.web.auth.forms import read_form
from noisewise.web.auth.roles import Role, Visitor, needs
from noisewise.web.pages.routes import (
    shown_check,
    shown_measurements,
    shown_options,
    shown_overview,
    studies_of,
)
from noisewise.web.pages.shown import study_page
from noisewise.web.pages.templating import rendered
from noisewise.web.pages.views.pasted import Pasted, columns_of, preview, read_pasted, reading_of
from noisewise.web.pages.views.tell_form import arguments_of, measured_of

CHANGES = APIRouter(include_in_schema=False)
WORK, OWN = Depends(needs(Role.WORKER)), Depends(needs(Role.OWNER))
REFUSED = (ValueError, KeyError, TypeError)
Refusal = Callable[[Request, Study, dict[str, str], str], HTMLResponse]


def said_by(problem: BaseException) -> str:
    """The sentence of a refusal, beginning like one."""
    said = str(problem.args[0]) if problem.args else str(problem)
    return f"{said[:1].upper()}{said[1:]}"


def texts_of(form: FormData) -> dict[str, str]:
    """The fields of a form that are texts."""
    return {name: value for name, value in form.items() if isinstance(value, str)}


async def _changed(
    request: Request,
    name: str,
    change: Callable[[Study, dict[str, str]], str],
    refusal: Refusal,
) -> Response:
    """Do what a form asks for; go where ``change`` says, or show the page again with the reason."""
    form = texts_of(await read_form(request))

    def done() -> Response:
        with studies_of(request).use(name, write=True) as study:
            try:
                return RedirectResponse(change(study, form), 303)
            except REFUSED as problem:
                return refusal(request, study, form, said_by(problem))

    return await run_in_threadpool(done)


def _on_overview(request: Request, study: Study, form: dict[str, str], why: str) -> HTMLResponse:
    return shown_overview(request, study, message=why, status=422)


def _on_options(request: Request, study: Study, form: dict[str, str], why: str) -> HTMLResponse:
    return shown_options(request, study, message=why, status=422)


def _on_check(request: Request, study: Study, form: dict[str, str], why: str) -> HTMLResponse:
    return shown_check(request, study, message=why, status=422)


def _on_measurements(request: Request, study: Study, form: dict[str, str], why: str) -> HTMLResponse:
    fix = form.get("measurement", "")
    return shown_measurements(request, study, form=form, message=why, fix=fix, status=422)


@CHANGES.post("/s/{name:path}/tell/preview")
async def say_what_would_be_told(request: Request, name: str, visitor: Visitor = WORK) -> HTMLResponse:
    """How a form would be understood; nothing is told."""
    form = texts_of(await read_form(request))

    def understood() -> HTMLResponse:
        if not form.get("kind") or not form.get("what", "").strip():
            return rendered(request, "preview.html", words="", bad=False)
        with studies_of(request).use(name) as study:
            state = study.analysis().state
            try:
                given = arguments_of(form, options=state.index, jobs=state.jobs)
                body = read_told(state, {"job": None, "value": None, **given}, now=studies_of(request).clock())
            except REFUSED as problem:
                return rendered(request, "preview.html", words=said_by(problem), bad=True)
            one = measurement_of(len(state.told) + 1, body)
        what = one.option if one.minus is None else f"{one.option} − {one.minus}"
        error = "" if one.se is None else f" ± {one.se:.3g}"
        enters = "its error is estimated with others" if one.sigma is None else f"it enters with {one.sigma:.3g}"
        notes = "".join(f"; {note}" for note in one.notes)
        return rendered(
            request, "preview.html", words=f"{what} = {one.value:.6g}{error}; {enters}{notes}.", bad=False
        )

    return await run_in_threadpool(understood)


@CHANGES.post("/s/{name:path}/tell")
async def tell(request: Request, name: str, visitor: Visitor = WORK) -> Response:
    """One measurement."""

    def told(study: Study, form: dict[str, str]) -> str:
        state = study.analysis().state
        given = arguments_of(form, options=state.index, jobs=state.jobs)
        one = study.tell(**given, by=visitor.name)
        return f"measurements?{urlencode({'told': one.id})}#{one.id}"

    return await _changed(request, name, told, _on_measurements)


@CHANGES.post("/s/{name:path}/void")
async def void(request: Request, name: str, visitor: Visitor = OWN) -> Response:
    """Make a measurement count no longer."""

    def voided(study: Study, form: dict[str, str]) -> str:
        study.void(form.get("measurement", ""), form.get("reason", ""))
        return f"measurements?{urlencode({'q': form['measurement']})}"

    return await _changed(request, name, voided, _on_measurements)


@CHANGES.post("/s/{name:path}/amend")
async def amend(request: Request, name: str, visitor: Visitor = OWN) -> Response:
    """Correct a measurement."""

    def amended(study: Study, form: dict[str, str]) -> str:
        one = study.amend(form.get("measurement", ""), form.get("reason", ""), **measured_of(form))
        return f"measurements?{urlencode({'q': one.id})}"

    return await _changed(request, name, amended, _on_measurements)


@CHANGES.post("/s/{name:path}/ask")
async def ask(request: Request, name: str, visitor: Visitor = WORK) -> Response:
    """Reserve what is suggested next."""

    def asked(study: Study, form: dict[str, str]) -> str:
        study.ask(by=visitor.name)
        return "./#under-way"

    return await _changed(request, name, asked, _on_overview)


@CHANGES.post("/s/{name:path}/release")
async def release(request: Request, name: str, visitor: Visitor = WORK) -> Response:
    """Give a suggestion back."""

    def released(study: Study, form: dict[str, str]) -> str:
        study.release(form.get("job", ""))
        return "./#under-way"

    return await _changed(request, name, released, _on_overview)


@CHANGES.post("/s/{name:path}/fail")
async def fail(request: Request, name: str, visitor: Visitor = WORK) -> Response:
    """Say that a suggestion could not be measured."""

    def failed(study: Study, form: dict[str, str]) -> str:
        study.fail(form.get("job", ""), form.get("reason", ""))
        return "./#under-way"

    return await _changed(request, name, failed, _on_overview)


@CHANGES.post("/s/{name:path}/exclude")
async def exclude(request: Request, name: str, visitor: Visitor = OWN) -> Response:
    """Take an option out."""

    def excluded(study: Study, form: dict[str, str]) -> str:
        study.exclude(form.get("option", ""), form.get("reason", ""))
        return "options?standing=excluded"

    return await _changed(request, name, excluded, _on_options)


@CHANGES.post("/s/{name:path}/include")
async def include(request: Request, name: str, visitor: Visitor = OWN) -> Response:
    """Take an option back in."""

    def included(study: Study, form: dict[str, str]) -> str:
        study.include(form.get("option", ""))
        return f"options?{urlencode({'q': form['option']})}"

    return await _changed(request, name, included, _on_options)


@CHANGES.post("/s/{name:path}/switch")
async def switch(request: Request, name: str, visitor: Visitor = OWN) -> Response:
    """Follow the advice of the check."""

    def switched(study: Study, form: dict[str, str]) -> str:
        if not form.get("reason", "").strip():
            raise ValueError("say why the model is changed: the log keeps the reason.")
        names = ("model", "deviation", "extra_scatter", "span", "reason")
        study.switch(**{one: form[one] for one in names if form.get(one)})
        return "check"

    return await _changed(request, name, switched, _on_check)


@CHANGES.post("/s/{name:path}/paste")
async def tell_table(request: Request, name: str, visitor: Visitor = WORK) -> Response:
    """A table: previewed, and told if that was asked for."""
    form = await read_form(request)
    texts, upload = texts_of(form), form.get("file")
    content, file_name = b"", ""
    if isinstance(upload, UploadFile) and upload.filename:
        content, file_name = await upload.read(), upload.filename

    def done() -> Response:
        with studies_of(request).use(name, write=texts.get("do") == "tell") as study:
            return _table(request, study, texts, file_name, content)

    return await run_in_threadpool(done)


def _table(
    request: Request, study: Study, texts: dict[str, str], file_name: str, content: bytes
) -> Response:
    text, amend_reason = texts.get("table", ""), texts.get("amend", "").strip()
    try:
        table, shown = read_pasted(text, file_name, content)
        chosen: Any = texts if "role.0" in texts and not content else None
        if texts.get("do") == "tell" and chosen is not None:
            reading = reading_of(columns_of(table.frame, chosen))
            taken = study.tell_many(table, amend=amend_reason or None, **reading)
            first = next((one.id for one in taken), "")
            return RedirectResponse(f"measurements?{urlencode({'told': first})}", 303)
        page = preview(study, table, shown, chosen, amend_reason)
    except REFUSED as problem:
        page = Pasted(text=text, problem=said_by(problem))
    status = 422 if page.problem else 200
    return study_page(request, study, "paste.html", "Measurements", page=page, status=status)
