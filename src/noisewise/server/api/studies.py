"""All studies of a store, and making, renaming and rebuilding them."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from noisewise.core.support.remarks import heard_warnings
from noisewise.core.support.text import printable
from noisewise.server.api.answers import (
    REFUSALS,
    UNCHANGED,
    AnyObject,
    Done,
    Owner,
    StudyMade,
    StudyName,
    StudyStandings,
    Viewer,
    answer,
    name_in,
    name_in_path,
    unchanged,
)
from noisewise.server.api.bodies import NewStudy, Rebuilding, Renaming
from noisewise.server.api.changes import warnings_in
from noisewise.server.api.json_bodies import JsonBodyRoute
from noisewise.server.api.measuring import reading_of
from noisewise.server.api.table_texts import first_results
from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError
from noisewise.study.log.events import specification_of
from noisewise.study.log.export import rebuild_study
from noisewise.study.plain import UNREADABLE, standing_of, status_of

STUDIES = APIRouter(prefix="/studies", tags=["studies"], route_class=JsonBodyRoute, responses=REFUSALS)
#: Studies of one page.
USUAL, MOST = 50, 500


@STUDIES.get("", response_model=StudyStandings)
def list_studies(
    request: Request,
    visitor: Viewer,
    after: Annotated[
        str | None, Query(description="The last study of the page before.", max_length=1000)
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = USUAL,
    quick: Annotated[bool, Query(description="Leave out certificates, which take most of the time.")] = False,
) -> Response:
    """Where each study stands, the oldest first."""
    studies: OpenStudies = request.app.state.studies
    names = studies.names()
    if after is not None and after not in names:
        raise ProblemError(404, f"there is no study {after!r} to go on after.")
    first = 0 if after is None else names.index(after) + 1
    some = names[first : first + limit]
    more = first + limit < len(names)
    return answer(
        {"studies": [standing_row(studies, one, quick) for one in some], "next": some[-1] if more else None}
    )


def standing_row(studies: OpenStudies, name: str, quick: bool = False) -> dict[str, Any]:
    """Where a study stands; one that cannot be read says why."""
    row: dict[str, Any] = dict.fromkeys(
        (
            "state",
            "leader",
            "bound",
            "bound_text",
            "measurements",
            "options",
            "events",
            "last_change",
            "problem",
        )
    )
    try:
        with studies.use(name) as study:
            row |= {"measurements": study.n_measurements, "options": len(study.options)}
            row |= {"events": study.n_events, "last_change": study.last_change}
            return {"name": name, **row, **({} if quick else standing_of(study))}
    except (ValueError, KeyError, TypeError, OSError, ProblemError) as problem:
        said = problem.detail if isinstance(problem, ProblemError) else (problem.args or (problem,))[0]
        return {"name": name, **row, "state": UNREADABLE, "problem": printable(said)}


@STUDIES.post(
    "",
    status_code=201,
    response_model=StudyMade,
    responses={200: {"model": StudyMade, "description": "With `dry_run`: what would be made."}},
)
def create(request: Request, asked: NewStudy, visitor: Owner) -> Response:
    """Begin a study: which of these options is the best?"""
    studies: OpenStudies = request.app.state.studies
    said = asked.said()
    dry_run = said.pop("dry_run")
    name, reading = said.pop("name"), reading_of(asked.reading) if asked.reading else {}
    said.pop("reading", None)
    understood = None
    if asked.results is not None:
        roles = dict(asked.roles or {})
        described = [*(asked.features or ()), *([roles.pop("cost")] if "cost" in roles else ())]
        reading |= {"map": {**roles, **(reading.get("map") or {})}} if roles else {}
        said["results"] = understood = first_results(asked.results, asked.unit, described, reading)
        said["roles"] = {"cost": asked.roles["cost"]} if asked.roles and "cost" in asked.roles else None
    with heard_warnings() as heard:
        study = studies.create(name, dry_run=dry_run, **said)
    done = {
        "study": name,
        "event": study.n_events,
        "options": len(study.options),
        "told": study.n_measurements,
        "policy": study.policy,
        "notes": study.notes,
        "understood": None if understood is None else understood.to_plain(),
        "dry_run": dry_run,
        **warnings_in(heard),
    }
    if dry_run:
        return answer(done)
    place = f"{request.scope.get('root_path', '')}/api/v1/studies/{_quoted(name)}"
    return answer(done, 201, event=study.n_events, headers={"Location": place})


@STUDIES.get("/{study}", response_model=AnyObject, responses=UNCHANGED)
def get_study(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """Where a study stands: certificate, measurements, suggestions under way."""
    studies: OpenStudies = request.app.state.studies
    with studies.use(name_in(study)) as opened:
        number = opened.n_events
        if (same := unchanged(request, number)) is not None:
            return same
        words = repr(opened).splitlines()
        return answer(
            {"study": opened.name, "event": number, **status_of(opened), "words": words}, event=number
        )


@STUDIES.get("/{study}/specification", response_model=AnyObject)
def get_specification(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """What a study was made with; it never changes, and with the events everything follows from it."""
    studies: OpenStudies = request.app.state.studies
    name = name_in(study)
    with studies.use(name):  # refuses an unknown name
        return answer({"study": name, "specification": specification_of(studies.storage, name)})


@STUDIES.post("/{study}/rename", response_model=Done)
def rename(request: Request, study: StudyName, new: Renaming, visitor: Owner) -> Response:
    """Give a study another name; work on it goes on."""
    studies: OpenStudies = request.app.state.studies
    studies.rename(name_in(study), new.name)
    with studies.use(new.name) as opened:
        return answer({"study": new.name, "event": opened.n_events}, event=opened.n_events)


@STUDIES.post("/rebuild", status_code=201, response_model=Done)
def rebuild(request: Request, log: Rebuilding, visitor: Owner) -> Response:
    """Make a study again from an exported log: same events, same certificate, same next suggestion."""
    studies: OpenStudies = request.app.state.studies
    studies.check_writable()
    name = rebuild_study(log.log.splitlines(), studies.storage, log.name)
    with studies.use(name) as opened:
        return answer({"study": name, "event": opened.n_events}, 201, event=opened.n_events)


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(name_in_path(name), safe="")
