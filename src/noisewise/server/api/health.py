"""Health checks: whether the server is alive, and whether it is ready."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from noisewise.server.api.answers import REFUSALS, AnyObject, answer
from noisewise.server.api.stream import EventStreams
from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError

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
