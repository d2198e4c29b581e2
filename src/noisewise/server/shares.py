"""Links that show the report of one study to whoever has them, and nothing else."""

from typing import Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from noisewise.operations.schemas import StrictBody
from noisewise.server.answers import REFUSALS, AnyObject, Owner, StudyName, answer, name_in
from noisewise.server.auth.keys import Keys
from noisewise.server.auth.roles import Visitor
from noisewise.server.auth.tokens import SHARE, Token, TokenFile
from noisewise.server.bodies import JsonBodyRoute
from noisewise.server.long_answers import report_page
from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError

SHARES = APIRouter(
    prefix="/studies/{study}/shares", tags=["sharing"], route_class=JsonBodyRoute, responses=REFUSALS
)
SHARED = APIRouter(include_in_schema=False)


class Sharing(StrictBody):
    """A link to the report of a study, for whoever has it."""

    name: str = Field(
        min_length=1, max_length=1000, description="Whom it is for, to know it again when it is revoked."
    )


@SHARES.get("", response_model=AnyObject)
def list_shares(request: Request, study: StudyName, visitor: Owner) -> Response:
    """The links that are valid, without their secrets."""
    name = _known(request, study)
    return answer({"study": name, "shares": [_row(token) for token in _of_study(request, name)]})


@SHARES.post("", status_code=201, response_model=AnyObject)
def share(request: Request, study: StudyName, shared: Sharing, visitor: Owner) -> Response:
    """Make a link that shows the report; its address is told here and nowhere else."""
    studies: OpenStudies = request.app.state.studies
    name = _known(request, study)
    token, secret = _tokens(request).share(shared.name, name, studies.mark(name))
    place = f"{request.scope.get('root_path', '')}/share/{secret}"
    return answer({"study": name, **_row(token), "path": place}, 201)


@SHARES.delete("/{id}", response_model=AnyObject)
def unshare(request: Request, study: StudyName, id: str, visitor: Owner) -> Response:
    """Let a link be valid no longer."""
    name = _known(request, study)
    if not any(token.id == id for token in _of_study(request, name)):
        raise ProblemError(404, f"{name!r} has no link {id!r}.")
    return answer({"study": name, **_row(_tokens(request).revoke(id))})


@SHARED.get("/share/{secret}")
async def shared_report(request: Request, secret: str) -> Response:
    """The report, for whoever has the link."""
    keys: Keys = request.app.state.keys
    token = None if keys.tokens is None else keys.tokens.find(secret)
    if token is None or token.role != SHARE or token.study is None:
        raise ProblemError(404, "this link is not valid, or no longer: ask whoever gave it to you.")
    studies: OpenStudies = request.app.state.studies
    name = await run_in_threadpool(studies.marked, token.mark, token.study)
    if name is None:
        raise ProblemError(404, "the study of this link is no longer here: ask whoever gave it to you.")
    report = await report_page(request, name, Visitor(token=token.id))
    report.headers["Referrer-Policy"] = "no-referrer"  # the address is a secret
    return report


def _of_study(request: Request, name: str) -> list[Token]:
    """The links to a study, which may have had another name when they were made."""
    studies: OpenStudies = request.app.state.studies
    shares = [token for token in _tokens(request).tokens() if token.role == SHARE]
    return [
        token
        for token in shares
        if (token.study == name if token.mark is None else studies.has_mark(name, token.mark))
    ]


def _known(request: Request, study: str) -> str:
    studies: OpenStudies = request.app.state.studies
    name = name_in(study)
    studies.number(name)
    return name


def _tokens(request: Request) -> TokenFile:
    keys: Keys = request.app.state.keys
    if keys.tokens is None:
        raise ProblemError(422, "a store that is only in memory has no place for links.")
    return keys.tokens


def _row(token: Token) -> dict[str, Any]:
    return {"id": token.id, "name": token.name, "made": token.at}
