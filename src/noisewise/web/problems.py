"""Refusals as `application/problem+json`: a status, and our own sentence."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

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
