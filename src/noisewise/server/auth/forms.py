"""Forms of pages: parsed, with their CSRF token checked; and signing in and out."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from typing import TypeVar
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.datastructures import FormData, Headers
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.responses import RedirectResponse

from noisewise.server.auth.keys import COOKIE, CSRF_FIELD, CSRF_HEADER, Keys, session_in
from noisewise.server.auth.roles import visitor_of
from noisewise.server.problems import ProblemError

Parsed = TypeVar("Parsed")
#: Bytes of a body that is parsed on the event loop.
SMALL = 16 * 2**10


class Parser:
    """The thread that parses large bodies."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="noisewise-parser")

    async def run(self, size: int, parse: Callable[[], Parsed]) -> Parsed:
        """Call ``parse``, which parses a body of so many bytes."""
        if size <= SMALL:
            return parse()
        return await asyncio.get_running_loop().run_in_executor(self._thread, parse)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)


SIGNING_IN = APIRouter(include_in_schema=False)
#: Fields and files of a form, which also limits the work of reading it.
MOST_FIELDS, MOST_FILES = 2000, 200
#: Bytes of a form without files: decoding %41 and the like blocks other threads for long.
MOST_URLENCODED = 2**20
#: Bytes of the headers of one part, and of what the parser of the framework gets at once.
MOST_HEAD, PIECE = 2 * 2**10, 64 * 2**10


def csrf_token(request: Request) -> str:
    """What a form on this page must send back in its field `csrf_token`."""
    keys: Keys = request.app.state.keys
    return keys.sessions.csrf(visitor_of(request).session)


async def read_form(request: Request) -> FormData:
    """The fields of a form that one of our own pages sent; `ProblemError` 403 without its CSRF token."""
    form = await _parsed(request, MOST_FIELDS, MOST_FILES)
    keys: Keys = request.app.state.keys
    sent = request.headers.get(CSRF_HEADER) or form.get(CSRF_FIELD)
    if not isinstance(sent, str) or not keys.sessions.is_csrf(visitor_of(request).session, sent):
        raise ProblemError(403, "the form is too old, or not of this server: load the page again.")
    return form


def texts_of(form: FormData) -> dict[str, str]:
    """The fields of a form that are texts."""
    return {name: value for name, value in form.items() if isinstance(value, str)}


async def _parsed(request: Request, fields: int, files: int) -> FormData:
    """A form with at most so many fields and files."""
    body = await request.body()
    if len(body) <= SMALL:
        return await _form(request.headers, body, fields, files)
    parser: Parser = request.app.state.parser
    return await parser.run(len(body), lambda: asyncio.run(_form(request.headers, body, fields, files)))


async def _form(headers: Headers, body: bytes, fields: int, files: int) -> FormData:
    """Count the parts of a form, and parse it if they are few: its parser calls Python for each of them."""
    said = Message()
    said["content-type"] = headers.get("content-type", "")
    kind, boundary = said.get_content_type(), str(said.get_param("boundary", ""))
    parser: FormParser | MultiPartParser
    if kind == "application/x-www-form-urlencoded":
        if len(body) > MOST_URLENCODED:
            raise ProblemError(
                413, f"a form without files may have {MOST_URLENCODED:,} bytes; nothing was changed."
            )
        if body.count(b"&") + body.count(b";") >= fields:
            raise ProblemError(413, f"a form may have {fields:,} fields; nothing was changed.")
        parser = FormParser(headers, _pieces(body))
    elif kind == "multipart/form-data":
        _check_parts(body, boundary.encode("latin-1"), fields + files)
        parser = MultiPartParser(headers, _pieces(body), max_fields=fields, max_files=files)
    else:
        return FormData()
    parser.max_part_size = max(1, len(body))  # the whole body is limited already
    try:
        return await parser.parse()
    except MultiPartException as problem:
        raise ProblemError(400, f"the form cannot be read: {problem.message}") from None


def _check_parts(body: bytes, boundary: bytes, most: int) -> None:
    between = b"--" + boundary
    if not 1 <= len(boundary) <= 70:  # RFC 2046
        raise ProblemError(400, "the boundary of the form must have 1 to 70 characters.")
    if body.count(between) > most + 1:
        raise ProblemError(413, f"a form may have {most:,} fields and files; nothing was changed.")
    at = body.find(between)
    if at != 0:
        raise ProblemError(400, "the form must begin with its boundary.")
    while at >= 0 and not body.startswith(between + b"--", at):
        if body.find(b"\r\n\r\n", at, at + MOST_HEAD) < 0:
            raise ProblemError(
                400, f"the headers of a part of the form end after {MOST_HEAD:,} bytes, or never."
            )
        at = body.find(between, at + len(between))


async def _pieces(body: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]
    yield b""


@SIGNING_IN.post("/session")
async def sign_in(request: Request) -> RedirectResponse:
    """Begin the session of a browser: a form with the fields `token` and `next`, the path to go to."""
    keys: Keys = request.app.state.keys
    form = await _parsed(request, 10, 0)
    secret = form.get("token")
    token = keys.tokens.find(secret.strip()) if keys.tokens is not None and isinstance(secret, str) else None
    if token is None:
        request.scope["wanted"] = _own_path(request, form.get("next"))  # a second try goes there
        raise ProblemError(401, "this is not a valid token; an owner makes one with `noisewise token add`.")
    answer = RedirectResponse(_own_path(request, form.get("next")), 303)
    answer.set_cookie(
        COOKIE,
        keys.sessions.begin(token.id),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path=f"{request.scope.get('root_path', '')}/",
    )
    return answer


@SIGNING_IN.post("/session/end")
async def sign_out(request: Request) -> RedirectResponse:
    """End the session of a browser."""
    keys: Keys = request.app.state.keys
    await read_form(request)
    session = session_in(dict(request.scope["headers"]))
    if session is not None:
        keys.sessions.end(session)
    root = f"{request.scope.get('root_path', '')}/"
    answer = RedirectResponse(root, 303)
    answer.delete_cookie(COOKIE, path=root)
    return answer


def _own_path(request: Request, wanted: object) -> str:
    """Where to go after signing in: a path of this server and nowhere else."""
    root = request.scope.get("root_path", "")
    text = wanted if isinstance(wanted, str) else ""
    parts = urlsplit(text)
    own = text.startswith("/") and not text.startswith("//") and not parts.netloc and "\\" not in text
    printable = text.isprintable() and text.isascii()
    return text if own and printable and text.startswith(f"{root}/") else f"{root}/"
