"""Correcting what was told, and changing options, model and policy: what owners do."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from noisewise.server.api.answers import REFUSALS, AnyObject, Done, MeasurementsTold, Owner, StudyName
from noisewise.server.api.bodies import (
    Adding,
    Amending,
    Excluding,
    Including,
    Policing,
    Switching,
    Voiding,
)
from noisewise.server.api.changes import IfMatch, Key, change
from noisewise.server.api.json_bodies import JsonBodyRoute
from noisewise.study.log.events import Event
from noisewise.study.log.told import measurement_of
from noisewise.study.plain import measurement_row
from noisewise.study.study import Study

CORRECTIONS = APIRouter(
    prefix="/studies/{study}", tags=["correcting"], route_class=JsonBodyRoute, responses=REFUSALS
)


def _done(act: Callable[[Study], object]) -> Callable[[Study], dict[str, Any]]:
    """A change of which there is nothing to say but that it happened."""

    def acting(opened: Study) -> dict[str, Any]:
        act(opened)
        return {"event": opened.n_events}

    return acting


@CORRECTIONS.post("/void", response_model=Done)
def void(
    request: Request,
    study: StudyName,
    voided: Voiding,
    visitor: Owner,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Make a measurement count no longer; it stays in the log."""
    act = _done(lambda opened: opened.void(voided.measurement, voided.reason))
    return change(request, study, visitor, act, body=voided, if_match=if_match, key=key)


@CORRECTIONS.post("/amend", response_model=MeasurementsTold)
def amend(
    request: Request,
    study: StudyName,
    amended: Amending,
    visitor: Owner,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Correct a measurement: what is said anew replaces what was told; the old stays in the log."""

    def act(opened: Study) -> dict[str, Any]:
        said = amended.said()
        found = opened.amend(said.pop("measurement"), said.pop("reason"), said.pop("value", None), **said)
        return {"measurements": [measurement_row(found)]}

    def again(opened: Study, written: list[Event]) -> dict[str, Any]:
        body = written[0].body
        return {"measurements": [measurement_row(measurement_of(body["number"], body["content"]))]}

    return change(request, study, visitor, act, body=amended, if_match=if_match, key=key, again=again)


@CORRECTIONS.post("/exclude", response_model=Done)
def exclude(
    request: Request,
    study: StudyName,
    excluded: Excluding,
    visitor: Owner,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Take an option out of the comparison; its measurements stay."""
    act = _done(lambda opened: opened.exclude(excluded.option, excluded.reason))
    return change(request, study, visitor, act, body=excluded, if_match=if_match, key=key)


@CORRECTIONS.post("/include", response_model=Done)
def include(
    request: Request,
    study: StudyName,
    included: Including,
    visitor: Owner,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Take an excluded option back in."""
    act = _done(lambda opened: opened.include(included.option))
    return change(request, study, visitor, act, body=included, if_match=if_match, key=key)


@CORRECTIONS.post("/add", response_model=AnyObject)
def add(
    request: Request,
    study: StudyName,
    added: Adding,
    visitor: Owner,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Add options, with the same columns as the first ones."""

    def act(opened: Study) -> dict[str, Any]:
        return {"added": opened.add_options(added.options, id=added.id, decimal=added.decimal)}

    def again(opened: Study, written: list[Event]) -> dict[str, Any]:
        return {"added": list(written[0].body["ids"])}

    return change(request, study, visitor, act, body=added, if_match=if_match, key=key, again=again)


@CORRECTIONS.post("/switch", response_model=AnyObject)
def switch(
    request: Request,
    study: StudyName,
    switched: Switching,
    visitor: Owner,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Use another model from now on; the log keeps the change."""

    def act(opened: Study) -> dict[str, Any]:
        was, said = opened.model, switched.said()
        opened.switch(said.pop("model", None), **said)
        return {"was": was, "model": opened.model, "looks": opened.looks, "event": opened.n_events}

    return change(request, study, visitor, act, body=switched, if_match=if_match, key=key)


@CORRECTIONS.post("/policy", response_model=AnyObject)
def policy(
    request: Request,
    study: StudyName,
    chosen: Policing,
    visitor: Owner,
    if_match: IfMatch = None,
    key: Key = None,
) -> Response:
    """Let another rule ask from now on."""

    def act(opened: Study) -> dict[str, Any]:
        opened.set_policy(chosen.name, **chosen.options)
        return {"policy": opened.policy, "event": opened.n_events}

    return change(request, study, visitor, act, body=chosen, if_match=if_match, key=key)
