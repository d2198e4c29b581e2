"""Options, measurements and events page by page, and everything as files."""

import io
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response, StreamingResponse

from noisewise.operations.schemas import StrictBody
from noisewise.server.answers import (
    REFUSALS,
    UNCHANGED,
    AnyObject,
    Owner,
    StudyName,
    TablePage,
    Viewer,
    answer,
    etag_of,
    name_in,
    unchanged,
)
from noisewise.server.bodies import JsonBodyRoute
from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError
from noisewise.study.log.events import Event, events_of, specification_of
from noisewise.study.log.export import log_lines, rebuild_study

TABLES = APIRouter(prefix="/studies/{study}", tags=["tables"], route_class=JsonBodyRoute, responses=REFUSALS)
REBUILDING = APIRouter(tags=["keep"], route_class=JsonBodyRoute, responses=REFUSALS)
USUAL, MOST = 100, 10_000
#: Lines of an export that are sent together.
TOGETHER = 1000
After = Annotated[
    int, Query(ge=0, le=2**53, description="The last row of the page before: its place in this order.")
]
Limit = Annotated[int, Query(ge=1, le=MOST)]
What = Literal["measurements", "options", "events", "items"]


@TABLES.get("/options", response_model=TablePage, responses=UNCHANGED)
def options(
    request: Request, study: StudyName, visitor: Viewer, after: After = 0, limit: Limit = USUAL
) -> Response:
    """The options: estimate, error, whether each may be the best."""
    return _page(request, study, "options", after, limit)


@TABLES.get("/measurements", response_model=TablePage, responses=UNCHANGED)
def measurements(
    request: Request, study: StudyName, visitor: Viewer, after: After = 0, limit: Limit = USUAL
) -> Response:
    """The measurements, voided ones among them."""
    return _page(request, study, "measurements", after, limit)


@TABLES.get("/events", response_model=TablePage, responses=UNCHANGED)
def events(
    request: Request, study: StudyName, visitor: Viewer, after: After = 0, limit: Limit = USUAL
) -> Response:
    """The log."""
    studies: OpenStudies = request.app.state.studies
    name = name_in(study)
    number = studies.number(name)
    if (same := unchanged(request, number)) is not None:
        return same
    # Not beyond the version that the answer is about, though others may have written on.
    many = min(limit, number - after)
    rows = [event_row(event) for event in events_of(studies.storage, name, after, many)] if many > 0 else []
    more = after + many if 0 < many < number - after else None
    return answer({"study": name, "rows": rows, "next": more, "total": number}, event=number)


def event_row(event: Event) -> dict[str, Any]:
    """An event as JSON values."""
    return {
        "number": event.number,
        "at": event.at,
        "kind": event.kind,
        "body": event.body,
        "append": event.append,
        "hash": event.hash,
        **({"request": event.request} if event.request else {}),
    }


@TABLES.get("/specification", response_model=AnyObject)
def get_specification(request: Request, study: StudyName, visitor: Viewer) -> Response:
    """What a study was made with; it never changes, and with the events everything follows from it."""
    studies: OpenStudies = request.app.state.studies
    name = name_in(study)
    with studies.use(name):  # refuses an unknown name
        return answer({"study": name, "specification": specification_of(studies.storage, name)})


class Rebuilding(StrictBody):
    """A study that is rebuilt from an exported log."""

    log: str = Field(min_length=1, description="The lines of the log, as `export.jsonl` has them.")
    name: str | None = Field(None, description="The study's name; default: as in the log.")


@REBUILDING.post("/studies/rebuild", status_code=201, response_model=AnyObject)
def rebuild(request: Request, log: Rebuilding, visitor: Owner) -> Response:
    """Make a study again from an exported log: same events, same certificate, same next suggestion."""
    studies: OpenStudies = request.app.state.studies
    studies.check_writable()
    name = rebuild_study(log.log.splitlines(), studies.storage, log.name)
    number = studies.number(name)
    return answer({"study": name, "event": number}, 201, event=number)


@TABLES.get(
    "/export.{ending}",
    responses={
        200: {
            "content": {"application/jsonl": {}, "text/csv": {}, "application/vnd.apache.parquet": {}},
            "description": "A file.",
        }
    },
)
def export(
    request: Request,
    study: StudyName,
    ending: Literal["jsonl", "csv", "parquet"],
    visitor: Viewer,
    what: What | Literal["log"] | None = None,
) -> Response:
    """The whole log as JSON lines, from which the study can be rebuilt; or a table as CSV or Parquet."""
    studies: OpenStudies = request.app.state.studies
    name = name_in(study)
    what = what or ("log" if ending == "jsonl" else "measurements")
    if (what == "log") != (ending == "jsonl"):
        raise ProblemError(422, "the log comes as export.jsonl; tables come as export.csv or export.parquet.")
    headers = {"Content-Disposition": f'attachment; filename="{what}.{ending}"', "Cache-Control": "no-store"}
    if what == "log":
        studies.number(name)  # refuses an unknown name before anything is sent
        lines = _together(log_lines(studies.storage, name))
        return StreamingResponse(lines, media_type="application/jsonl", headers=headers)
    with studies.use(name) as opened:
        frame = opened.frame(what)
        headers["ETag"] = etag_of(opened.n_events)
    if ending == "csv":
        from noisewise.study.tables.grid import write_delimited

        return Response(write_delimited(frame), media_type="text/csv", headers=headers)
    file = io.BytesIO()
    frame.write_parquet(file)
    return Response(file.getvalue(), media_type="application/vnd.apache.parquet", headers=headers)


def _together(lines: Iterator[str]) -> Iterator[str]:
    some: list[str] = []
    for line in lines:
        some.append(line)
        if len(some) == TOGETHER:
            yield "\n".join(some) + "\n"
            some = []
    if some:
        yield "\n".join(some) + "\n"


def _page(
    request: Request, study: str, what: Literal["options", "measurements"], after: int, limit: int
) -> Response:
    studies: OpenStudies = request.app.state.studies
    name = name_in(study)
    with studies.use(name) as opened:
        number = opened.n_events
        if (same := unchanged(request, number)) is not None:
            return same
        frame = studies.remembered(opened, what, lambda: opened.frame(what))
    rows: list[dict[str, Any]] = frame.slice(after, limit).to_dicts()
    more = after + limit if after + limit < frame.height else None
    return answer({"study": name, "rows": rows, "next": more, "total": frame.height}, event=number)
