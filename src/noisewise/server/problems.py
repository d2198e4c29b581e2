"""Refusals: a sentence, its HTTP status, and the problem document that carries both."""

import json
import logging
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from noisewise.core.refusals import JSON
from noisewise.core.text import printable
from noisewise.operations.schemas import wrong_kinds
from noisewise.operations.words import lifted
from noisewise.study.stores.protocol import DamagedError, LogMovedOnError, NameTakenError
from noisewise.study.telling.rows import ToldOtherwiseError

PROBLEM_TYPE = "application/problem+json"


class ProblemError(HTTPException):
    """A refusal of a request; ``detail`` is one sentence for people."""

    def __init__(
        self, status: int, detail: str, *, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(status, detail, headers)
        #: What a program wants to know besides.
        self.more = more


def problem_body(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """The content of a problem document."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    } | more


def problem_response(
    status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any
) -> JSONResponse:
    """A problem document."""
    return JSONResponse(
        problem_body(status, detail, **more), status, headers=headers, media_type=PROBLEM_TYPE
    )


#: What a study raises, the most special first.
RAISED = (ToldOtherwiseError, NameTakenError, DamagedError, KeyError, TypeError, ValueError)
Handler = Callable[[Request, Exception], Response]
#: Makes a page of a status and a sentence, for people; None: for programs.
AsPage = Callable[[Request, int, str], Response | None]
LOG = logging.getLogger("noisewise.server")
#: Steps of a fault that its log has.
MOST_STEPS = 20
#: Sentences where the framework has only a number.
SENTENCES = {
    404: "there is nothing at this address.",
    405: "this address does not take that method.",
    400: "the body cannot be read.",
}


def answer_refusals(app: FastAPI, page: AsPage | None = None) -> None:
    """Answer every error of the app with a problem document, or with a page where a browser shows it."""

    def shown(handler: Handler) -> Handler:
        def answer(request: Request, problem: Exception) -> Response:
            document = handler(request, problem)
            detail = json.loads(bytes(document.body))["detail"]
            as_page = None if page is None else page(request, document.status_code, detail)
            return document if as_page is None else as_page

        return answer

    app.add_exception_handler(RequestValidationError, shown(_invalid))
    app.add_exception_handler(HTTPException, shown(_refused))
    for bad_input in (ValueError, KeyError, TypeError):
        app.add_exception_handler(bad_input, shown(_bad_input))
    for of_store in (OSError, LogMovedOnError, DamagedError):
        app.add_exception_handler(of_store, shown(_of_store))
    app.add_exception_handler(RecursionError, shown(_too_deep))
    app.add_exception_handler(Exception, shown(_fault))


def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    more = problem.more if isinstance(problem, ProblemError) else {}
    ours = isinstance(problem, ProblemError)
    said = problem.detail if ours else SENTENCES.get(problem.status_code, problem.detail)
    return problem_response(problem.status_code, printable(said), problem.headers, **more)


def _invalid(request: Request, problem: Exception) -> Response:
    """A body, a query or a path that is not of the declared types."""
    assert isinstance(problem, RequestValidationError)
    found = problem.errors()
    if any(error["type"] == "json_invalid" for error in found):
        return problem_response(400, "the body is not JSON; nothing was changed.")
    if isinstance(problem.body, bytes) and problem.body:  # the framework reads as JSON only what says so
        return problem_response(
            422,
            "the body must say that it is JSON: send Content-Type: application/json. Nothing was changed.",
        )
    return _refused(request, refused(wrong_kinds(found, ())))


def refused(problem: BaseException) -> ProblemError:
    """What a study refuses, as data: each client says it in its own words."""
    refusal, taken = lifted(problem), isinstance(problem, ToldOtherwiseError | NameTakenError)
    detail = sentence(" ".join(refusal.said(JSON).splitlines()))
    return ProblemError(
        409 if taken else 422, detail, error=error_name(problem), refusal=refusal.to_plain()
    )  # fmt: skip


def _bad_input(request: Request, problem: Exception) -> Response:
    return _refused(request, refused(problem))


def error_name(problem: BaseException) -> str:
    """What a study raised, by the name of what a client raises in its turn."""
    return next(one.__name__ for one in RAISED if isinstance(problem, one))


def _of_store(request: Request, problem: Exception) -> Response:
    LOG.error("the store refused: %s", printable(problem))
    if (
        request.scope["visitor"].role is None
    ):  # paths and addresses are not for who has a link, or nothing at all
        return problem_response(
            503, "the store cannot be used now; the server's log has the details.", {"Retry-After": "5"}
        )
    if isinstance(problem, DamagedError):  # waiting does not help
        return problem_response(503, sentence(problem), error=error_name(problem))
    return problem_response(503, sentence(problem), {"Retry-After": "5"})


def _too_deep(request: Request, problem: Exception) -> Response:
    return problem_response(422, "this is nested too deeply to be computed; nothing was changed.")


def _fault(request: Request, problem: Exception) -> Response:
    # The last steps tell; of an endless recursion there are thousands.
    steps = "".join(traceback.format_exception(problem, limit=-MOST_STEPS))
    LOG.error("a fault of the server at %s\n%s", printable(request.url.path), steps)
    return problem_response(500, "a fault of the server; its log has the details.")


def sentence(said: Any) -> str:
    """What was said, as a sentence."""
    text = printable(said)
    return text if text.endswith((".", "?", "…")) else f"{text}."
