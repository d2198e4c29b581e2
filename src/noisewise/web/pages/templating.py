"""Templates with everything escaped, and what every page needs: the way to the root, who is there."""

from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from noisewise.charts.inline.rows import SHAPES
from noisewise.core.support.text import printable
from noisewise.web.api.answers import name_in_path
from noisewise.web.auth.forms import csrf_token
from noisewise.web.auth.roles import Role, visitor_of
from noisewise.web.auth.sessions import CSRF_FIELD
from noisewise.web.pages.sent_forms import new_number

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
