"""Refusals as pages: what a browser shows where a program gets a problem document."""

from http import HTTPStatus

from fastapi import Request
from starlette.responses import Response

from noisewise.core.support.text import printable
from noisewise.web.pages.templating import rendered


def wants_page(request: Request) -> bool:
    """Whether somebody looks at it: a browser asks for HTML, and our scripts say that they ask."""
    headers = request.headers
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    return (
        "text/html" in headers.get("accept", "")
        and not path.startswith("/api/")
        and "hx-request" not in headers
    )


def problem_page(request: Request, status: int, said: str) -> Response | None:
    """One sentence, and the way on; without a valid token, the form to sign in; None for programs."""
    if not wants_page(request):
        return None
    sentence = printable(said)
    sentence = f"{sentence[:1].upper()}{sentence[1:]}"
    if status == 401:
        wanted = request.scope.get("root_path", "") if request.method != "GET" else request.scope["path"]
        tried = request.method != "GET"
        return rendered(request, "sign_in.html", 401, sentence=sentence if tried else "", next=wanted)
    return rendered(request, "problem.html", status, title=HTTPStatus(status).phrase, sentence=sentence)
