"""From errors of requests and of studies to problem documents."""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from noisewise.core.support.text import printable
from noisewise.study.intake.told_before import ToldOtherwiseError
from noisewise.study.stores.protocol import DamagedError, LogMovedOnError, NameTakenError
from noisewise.web.problems import ProblemError, problem_response

LOG = logging.getLogger("noisewise.web")
#: Errors of a request that a problem document names.
MOST_NAMED = 20
#: Sentences where the framework has only a number.
SENTENCES = {
    404: "there is nothing at this address.",
    405: "this address does not take that method.",
    400: "the body cannot be read.",
}


def answer_refusals(app: FastAPI) -> None:
    """Answer every error of the app with a problem document."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    for kind in (ValueError, KeyError, TypeError):
        app.add_exception_handler(kind, _bad_input)
    for kind in (OSError, LogMovedOnError, DamagedError):
        app.add_exception_handler(kind, _of_store)
    app.add_exception_handler(Exception, _fault)


def _refused(request: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    more = problem.more if isinstance(problem, ProblemError) else {}
    ours = isinstance(problem, ProblemError)
    said = problem.detail if ours else SENTENCES.get(problem.status_code, problem.detail)
    return problem_response(problem.status_code, printable(said), problem.headers, **more)


def _invalid(request: Request, problem: Exception) -> Response:
    """A body, a query or a path that is not of the declared types."""
    assert isinstance(problem, RequestValidationError)
    errors = [_error(error) for error in problem.errors()[:MOST_NAMED]]
    broken = any(error["type"] == "json_invalid" for error in problem.errors())
    if broken:
        return problem_response(400, "the body is no JSON; nothing was changed.", errors=errors)
    first = errors[0]
    said = f"`{first['where']}`: {first['what']}."
    more = f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
    return problem_response(422, printable(f"{said}{more}"), errors=errors)


def _error(error: Any) -> dict[str, Any]:
    where = ".".join(str(part) for part in error["loc"]) or "body"
    return {"where": printable(where), "what": printable(str(error["msg"]).rstrip("."))}


def _bad_input(request: Request, problem: Exception) -> Response:
    """What the study refuses, in its own words."""
    said = problem.args[0] if problem.args else problem
    taken = isinstance(problem, ToldOtherwiseError | NameTakenError)
    # A client raises the same error.
    kind = next(one.__name__ for one in (KeyError, TypeError, ValueError) if isinstance(problem, one))
    return problem_response(409 if taken else 422, printable(said), error=kind)


def _of_store(request: Request, problem: Exception) -> Response:
    LOG.error("the store refused: %s", printable(problem))
    return problem_response(503, printable(problem), {"Retry-After": "5"})


def _fault(request: Request, problem: Exception) -> Response:
    LOG.error("a fault of the server at %s", request.url.path, exc_info=problem)
    return problem_response(500, "a fault of the server; its log has the details.")
