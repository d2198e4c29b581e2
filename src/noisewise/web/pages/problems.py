"""Refusals as pages: what a browser shows where a program gets a problem document."""

from http import HTTPStatus
from urllib.parse import quote

from fastapi import Request
from starlette.responses import Response

from noisewise.core.support.text import printable
from noisewise.web.pages.templating import rendered

#: What a browser leaves as it is in a path.
UNQUOTED = "/~!$&'()*+,;=:@"


def wants_page(request: Request) -> bool:
    """Whether somebody looks at it: a browser asks for HTML, and our scripts say that they ask."""
    headers = request.headers
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    return (
        "text/html" in headers.get("accept", "")
        and not path.startswith("/api/")
        and "hx-request" not in headers
    )


def _address(request: Request) -> str:
    """The path and query of a request as a browser writes them, whatever is in the name of a study."""
    query = request.scope["query_string"].decode("ascii", "replace")
    return quote(request.scope["path"], safe=UNQUOTED) + (f"?{query}" if query else "")


def problem_page(request: Request, status: int, said: str) -> Response | None:
    """One sentence, and the way on; without a valid token, the form to sign in; None for programs."""
    if not wants_page(request):
        return None
    sentence = printable(said)
    sentence = f"{sentence[:1].upper()}{sentence[1:]}"
    if status == 401:
        here = _address(request) if request.method == "GET" else request.scope.get("root_path", "")
        wanted = request.scope.get("wanted", here)
        tried = request.method != "GET"
        return rendered(request, "sign_in.html", 401, sentence=sentence if tried else "", next=wanted)
    return rendered(request, "problem.html", status, title=HTTPStatus(status).phrase, sentence=sentence)
