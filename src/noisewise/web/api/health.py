"""Whether the server is alive and ready, and what it has done, for those who watch over it."""

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from noisewise.web.api.answers import REFUSALS, AnyObject, Viewer, answer
from noisewise.web.api.stream import EventStreams
from noisewise.web.counters import Counters
from noisewise.web.open_studies import OpenStudies
from noisewise.web.problems import ProblemError

HEALTH = APIRouter(tags=["watching"], responses=REFUSALS)


@HEALTH.get("/healthz", response_model=AnyObject)
async def healthz() -> Response:
    """Whether the server is alive."""
    return answer({"alive": True})


@HEALTH.get("/readyz", response_model=AnyObject)
def readyz(request: Request) -> Response:
    """Whether the store can be read and the server is not about to end."""
    studies: OpenStudies = request.app.state.studies
    streams: EventStreams = request.app.state.streams
    if streams.stopping.is_set():
        raise ProblemError(503, "the server is about to end.")
    studies.names()
    return answer({"ready": True})


@HEALTH.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Numbers."}},
)
def metrics(request: Request, visitor: Viewer) -> Response:
    """What the server has done, in the words of Prometheus; names of studies are not among it."""
    counters: Counters = request.app.state.counters
    studies: OpenStudies = request.app.state.studies
    streams: EventStreams = request.app.state.streams
    lines = [
        *counters.lines(),
        "# TYPE noisewise_studies_open gauge",
        f"noisewise_studies_open {studies.n_open}",
        "# TYPE noisewise_streams_open gauge",
        f"noisewise_streams_open {streams.open}",
    ]
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")
