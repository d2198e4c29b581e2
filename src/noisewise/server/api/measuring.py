"""Asking, telling, and giving suggestions back: what workers do."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from noisewise.server.api.answers import (
    REFUSALS,
    AnyObject,
    Done,
    MeasurementsTold,
    StudyName,
    Suggestions,
    Worker,
)
from noisewise.server.api.bodies import AskBody, Closing, Failing, OneOrSeveral, TellingBody, Tellings
from noisewise.server.api.changes import IfMatch, Key, change, check_key
from noisewise.server.api.json_bodies import JsonBodyRoute
from noisewise.server.api.table_bodies import Importing, ReadingBody
from noisewise.server.api.table_texts import understood_import
from noisewise.server.auth.roles import Visitor
from noisewise.server.problems import ProblemError
from noisewise.study.log.events import Event
from noisewise.study.log.state import job_of
from noisewise.study.plain import import_content, job_row, measurement_row
from noisewise.study.running.owners import is_mark
from noisewise.study.study import Study

MEASURING = APIRouter(
    prefix="/studies/{study}", tags=["measuring"], route_class=JsonBodyRoute, responses=REFUSALS
)


@MEASURING.post("/asks", status_code=201, response_model=Suggestions)
def ask(
    request: Request,
    study: StudyName,
    asked: AskBody,
    visitor: Worker,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Suggest what to measure next, and reserve it; with `dry_run` only look."""

    def act(opened: Study) -> dict[str, Any]:
        said = asked.said() | {"by": for_whom(visitor, asked.by)}
        jobs = opened._ask(said.pop("n"), said.pop("sigma", None), **said)
        return {"jobs": [job_row(job) for job in jobs], "dry_run": asked.dry_run}

    def again(opened: Study, written: list[Event]) -> dict[str, Any]:
        return {"jobs": [job_row(job_of(event.body)) for event in written], "dry_run": False}

    return change(
        request, study, visitor, act, body=asked, status=201, if_match=if_match, key=key, again=again
    )


@MEASURING.post("/tells", status_code=201, response_model=MeasurementsTold)
def tell(
    request: Request,
    study: StudyName,
    told: OneOrSeveral,
    visitor: Worker,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Take the result of a measurement, or several: all of them or none.

    An Idempotency-Key is the measurement's own `key`; of several, they are KEY/1, KEY/2 and so on. The log
    keeps them: told again, even after years, nothing is counted twice.
    """
    rows = [one.said() | {"by": by_of(visitor, one.by)} for one in _listed(told)]
    _give_keys(rows, key)

    def act(opened: Study) -> dict[str, Any]:
        if len(rows) == 1:
            said = dict(rows[0])
            found = [opened.tell(said.pop("job", None), said.pop("value", None), **said)]
        else:
            found = opened.tell_all(rows)
        return {"measurements": [measurement_row(one) for one in found]}

    return change(request, study, visitor, act, body=told, status=201, if_match=if_match)


@MEASURING.post("/imports", response_model=AnyObject)
def import_table(
    request: Request,
    study: StudyName,
    table: Importing,
    visitor: Worker,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Tell a table of results, whole or not at all; each row counts once, however often it is told.

    With `dry_run`, say how it is understood and what would be told.
    """
    if table.amend is not None and not visitor.may_correct:
        raise ProblemError(403, "`amend` corrects what was told, and needs the role owner.")
    if table.unknown == "add" and not visitor.may_correct:
        raise ProblemError(
            403, "`unknown`: adding options needs the role owner; `skip` leaves their rows out."
        )

    def act(opened: Study) -> dict[str, Any]:
        understood = understood_import(opened, table, reading_of(table), visitor.name)
        taken = opened.tell_many(
            understood,
            match=table.match,
            repeat=table.repeat,
            amend=table.amend,
            unknown=table.unknown,
            dry_run=table.dry_run,
        )
        return import_content(taken, len(opened.pending), taken.understood, table.dry_run)

    def again(opened: Study, written: list[Event]) -> dict[str, Any]:
        return {"told": sum(event.kind == "tell" for event in written), "dry_run": False}

    return change(request, study, visitor, act, body=table, if_match=if_match, key=key, again=again)


@MEASURING.post("/fail", response_model=Done)
def fail(
    request: Request,
    study: StudyName,
    failed: Failing,
    visitor: Worker,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Report that suggestions could not be measured; they are free again, and the reason is kept."""

    def act(opened: Study) -> dict[str, Any]:
        opened.fail(failed.jobs, failed.reason)
        return {"event": opened.n_events}

    return change(request, study, visitor, act, body=failed, if_match=if_match, key=key)


@MEASURING.post("/release", response_model=Done)
def release(
    request: Request,
    study: StudyName,
    released: Closing,
    visitor: Worker,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Give suggestions back unmeasured."""

    def act(opened: Study) -> dict[str, Any]:
        opened.release(released.jobs, released.reason)
        return {"event": opened.n_events}

    return change(request, study, visitor, act, body=released, if_match=if_match, key=key)


def by_of(visitor: Visitor, said: str | None) -> str | None:
    """Who measured: the holder of the token; without tokens, whoever the request names."""
    return visitor.name or said


def for_whom(visitor: Visitor, said: str | None) -> str | None:
    """For whom a suggestion is reserved: the same, and behind it the mark of a run, if it is for one.

    By the mark, the next run on that machine finds what a run that was killed has left.
    """
    if visitor.name is None or said is None or not is_mark(said):
        return by_of(visitor, said)
    return f"{visitor.name}: {said}"


def reading_of(said: ReadingBody) -> dict[str, Any]:
    """How a table is read, as `Study.tell_many` takes it."""
    names = ReadingBody.model_fields.keys()
    return {name: part for name, part in said.said().items() if name in names}


def _listed(told: TellingBody | Tellings) -> list[TellingBody]:
    return told.tells if isinstance(told, Tellings) else [told]


def _give_keys(rows: list[dict[str, Any]], key: str | None) -> None:
    """Let the request's key be that of its measurements."""
    if key is None:
        return
    key = check_key(key)
    for number, row in enumerate(rows, start=1):
        own = key if len(rows) == 1 else f"{key}/{number}"
        if row.setdefault("key", own) != own and len(rows) == 1:
            raise ProblemError(422, "`key` and Idempotency-Key must be the same, or one of them left out.")
