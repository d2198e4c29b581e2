"""Rendering: templates, forms that are sent twice, refusals as pages, and the parts that pages share."""

import hashlib
import math
import secrets
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, Response

from noisewise.charts.svg import SHAPES
from noisewise.core.text import duration, printable
from noisewise.server.answers import name_in_path
from noisewise.server.auth.forms import csrf_token
from noisewise.server.auth.keys import CSRF_FIELD
from noisewise.server.auth.roles import Role, visitor_of
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.certificates.claims import IN_WORDS, NOTHING, REACHED, UNBOUNDED, WITHHELD


def since(at: float | None, now: float) -> str:
    """How long ago something was."""
    if at is None:
        return "no event yet"
    seconds = now - at
    return "just now" if seconds < 60.0 else f"{duration(seconds)} ago"


def short_time(at: datetime) -> str:
    """A moment without seconds."""
    return f"{at:%d %b %H:%M}"


#: Rows of a page.
ROWS = 50


class Pager(NamedTuple):
    """One page of a table."""

    page: int  # from 1
    pages: int
    total: int  # rows in all
    first: int  # place of the first row shown, from 0
    last: int  # place behind the last
    query: Mapping[str, str]  # what else the address says

    @property
    def words(self) -> str:
        """Which rows are shown."""
        if not self.total:
            return "no rows"
        if self.pages == 1:
            return f"{self.total:,} row{'' if self.total == 1 else 's'}"
        return f"{self.first + 1:,} to {self.last:,} of {self.total:,}"

    def address(self, page: int) -> str:
        """The relative address of another page."""
        return with_query(self.query, page="" if page == 1 else str(page))

    @property
    def around(self) -> list[int]:
        """Numbers to offer: the ends and the neighbours; 0 stands for a gap."""
        near = sorted({1, self.pages, *range(max(1, self.page - 2), min(self.pages, self.page + 2) + 1)})
        found: list[int] = []
        for number in near:
            if found and number > found[-1] + 1:
                found.append(number - 1 if number == found[-1] + 2 else 0)
            found.append(number)
        return found


def page_of(total: int, asked: str | None, query: Mapping[str, str], rows: int = ROWS) -> Pager:
    """The page that was asked for; beyond the last one, the last."""
    pages = max(1, -(-total // rows))
    number = int(asked) if asked and asked.isdecimal() and len(asked) < 10 else 1
    number = min(max(1, number), pages)
    first = (number - 1) * rows
    return Pager(number, pages, total, first, min(total, first + rows), query)


def with_query(query: Mapping[str, str], **changed: str) -> str:
    """A relative address of the same page with other parameters; empty ones are left out."""
    said = {name: value for name, value in {**query, **changed}.items() if value}
    return f"?{urlencode(said)}" if said else "?"


#: Lights: what they are called in the style sheet, and in a word.
STOP, GOING, HELD = "stop", "going", "held"
WORDS = {STOP: "stop allowed", GOING: "going on", HELD: "withheld"}
#: A sentence with more letters than this has its reason in smaller ones.
LONG = 120
#: Names that a sentence lists before it says how many more there are.
NAMED = 5


class Light(NamedTuple):
    """Where a study stands, as a shape, a colour and a word."""

    kind: str
    word: str


class Gauge(NamedTuple):
    """The bound beside what is good enough, as lengths in per cent of the bar; eps is in the middle."""

    bound: float
    over: bool  # whether the bound lies beyond the end of the bar
    bound_text: str
    eps_text: str


class SentencePart(NamedTuple):
    """A piece of a sentence."""

    text: str
    strong: bool


class Headline(NamedTuple):
    """The certificate of one moment."""

    light: Light
    state: str  # in two or three words
    parts: list[SentencePart]  # of the sentence
    rest: str  # what follows in smaller letters
    gauge: Gauge | None
    rivals: list[str]  # that may still be better: the first of them
    more_rivals: int
    beside: str | None
    notes: list[str]
    assumptions: list[str]
    approximate: list[str]
    evidence: list[str]
    made_from: str

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return "".join(part.text for part in self.parts) + (f" {self.rest}" if self.rest else "")


def light_of(certificate: Certificate) -> Light:
    """Green is for stopping alone, orange for what is withheld; going on is normal, and grey."""
    kind = {REACHED: STOP, WITHHELD: HELD}.get(certificate.verdict, GOING)
    return Light(kind, "not begun" if certificate.verdict == NOTHING else WORDS[kind])


def gauge_of(certificate: Certificate) -> Gauge | None:
    """The bar of bound and eps; None without either of them."""
    if certificate.eps is None or not certificate.may_show_bounds or not math.isfinite(certificate.bound):
        return None
    scale = certificate.value_scale
    bound, eps = float(scale.drawn(certificate.bound)), float(scale.drawn(certificate.eps))
    share = 100.0 if eps <= 0.0 else 50.0 * bound / eps
    return Gauge(
        round(min(100.0, share), 2), share > 100.0, certificate.bound_text, scale.close(certificate.eps)
    )


def headline_of(certificate: Certificate) -> Headline:
    """Everything that the top of a page says."""
    first, rest = _split(certificate)
    strong = [text for text in (certificate.option, _bound_in(certificate)) if text]
    if certificate.withheld:
        strong = ["Certificate withheld:"]
    others = [name for name in certificate.candidates if name != certificate.option]
    shown = others if certificate.may_show_bounds and math.isfinite(certificate.bound) else []
    unbounded = certificate.may_show_bounds and math.isinf(certificate.bound)
    return Headline(
        light=light_of(certificate),
        state=IN_WORDS[certificate.verdict],
        parts=emphasised(first, strong),
        rest=rest,
        gauge=gauge_of(certificate),
        rivals=shown[:NAMED],
        more_rivals=max(0, len(shown) - NAMED),
        beside=certificate.beside,
        notes=[*certificate.scope, *(certificate.notes[1:] if unbounded else certificate.notes)],
        assumptions=list(certificate.assumptions),
        approximate=list(certificate.approximate),
        evidence=list(certificate.evidence) if certificate.may_show_bounds else [],
        made_from=certificate.radius,
    )


def _split(certificate: Certificate) -> tuple[str, str]:
    """The large text, and a long reason that follows it."""
    sentence = certificate.sentence
    at = sentence.find(": ", len(certificate.option or ""))
    if certificate.verdict != UNBOUNDED or at < 0 or len(sentence) <= LONG:
        return sentence, ""
    return sentence[: at + 1], sentence[at + 2 :]


def _bound_in(certificate: Certificate) -> str | None:
    if not certificate.may_show_bounds or not 0.0 < certificate.bound < math.inf:
        return None
    return certificate.bound_text


def emphasised(sentence: str, strong: list[str]) -> list[SentencePart]:
    """A sentence in pieces: the first occurrence of each of some texts is strong, in their order."""
    parts, left = [], sentence
    for text in strong:
        before, found, after = left.partition(text)
        if not found:
            continue
        parts += [SentencePart(before, False), SentencePart(found, True)]
        left = after
    return [part for part in [*parts, SentencePart(left, False)] if part.text]


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
    """Whether a person looks at it: a browser asks for HTML, and our scripts say that they ask."""
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
