"""Rendering: templates, forms that are sent twice, and refusals as pages."""

import hashlib
import secrets
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

from noisewise.charts.svg import SHAPES
from noisewise.core.text import printable
from noisewise.server.answers import name_in_path
from noisewise.server.auth.forms import csrf_token
from noisewise.server.auth.keys import CSRF_FIELD
from noisewise.server.auth.roles import Role, visitor_of

#: The field with the number, and the longest that one can be.
ONCE, LONGEST = "once", 40


def new_number() -> str:
    """A number for the forms of a page."""
    return secrets.token_urlsafe(12)


def key_of(request: Request, form: Mapping[str, str]) -> str | None:
    """By what the change of a form is known; None if the form has no number."""
    number = form.get(ONCE, "")
    if not number or len(number) > LONGEST:
        return None
    said = sorted((name, text) for name, text in form.items() if name != CSRF_FIELD)
    whose = visitor_of(request).token or ""
    return hashlib.sha256(repr(("form", whose, request.url.path, said)).encode(errors="replace")).hexdigest()


TEMPLATES = Path(__file__).parent / "templates"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates: names of people are escaped, and what cannot be seen in them is made visible."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    made.filters["segment"] = lambda name: quote(name_in_path(str(name)), safe="")
    made.filters["as_typed"] = as_typed
    made.filters["together"] = lambda words: str(words).replace(" %", "\u00a0%")
    made.globals["shapes"] = SHAPES
    return made


def as_typed(text: str) -> Markup:
    """A text of several lines as it was typed, escaped: line breaks and tabs stay what they are."""
    lines = str(text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    seen = ["\t".join(printable(cell) for cell in line.split("\t")) for line in lines]
    return Markup("\n") + escape("\n".join(seen))  # a text area drops the first line break


def root_of(request: Request) -> str:
    """The relative way from the page that is shown to the first page: no prefix has to be known for it."""
    path = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    prefix = request.scope.get("root_path", "").encode()
    return "../" * (path.removeprefix(prefix).split(b"?")[0].count(b"/") - 1) or "./"


def rendered(request: Request, template: str, status: int = 200, **more: Any) -> HTMLResponse:
    """A page as an answer."""
    visitor, studies = visitor_of(request), request.app.state.studies
    role = visitor.role or 0
    writable = not studies.read_only
    context = {
        "root": root_of(request),
        "store": Path(str(studies.place)).name if "://" not in str(studies.place) else "PostgreSQL",
        "who": f"{visitor.name}, {visitor.role.word}" if visitor.name and visitor.role else "",
        "read_only": studies.read_only,
        "csrf_field": CSRF_FIELD,
        "csrf_token": csrf_token(request),
        "once": new_number(),
        "may_tell": role >= Role.WORKER and writable,
        "may_correct": role >= Role.OWNER and writable,
    }
    page = environment().get_template(template).render(context | more)
    return HTMLResponse(page, status, headers={"Cache-Control": "no-store"})


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
