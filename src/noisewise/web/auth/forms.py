"""Forms of pages: read with their CSRF token checked, and signing in and out."""

from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse

from noisewise.web.auth.keys import Keys, session_in
from noisewise.web.auth.roles import visitor_of
from noisewise.web.auth.sessions import COOKIE, CSRF_FIELD, CSRF_HEADER
from noisewise.web.problems import ProblemError

SIGNING_IN = APIRouter(include_in_schema=False)
#: Fields and files of a form, which also limits the work of reading it.
MOST_FIELDS, MOST_FILES = 2000, 200


def csrf_token(request: Request) -> str:
    """What a form on this page must send back in its field `csrf_token`."""
    keys: Keys = request.app.state.keys
    return keys.sessions.csrf(visitor_of(request).session)


async def read_form(request: Request, *, most_part: int = 16 * 2**20) -> FormData:
    """The fields of a form that one of our own pages sent; `ProblemError` 403 without its CSRF token."""
    form = await request.form(max_fields=MOST_FIELDS, max_files=MOST_FILES, max_part_size=most_part)
    keys: Keys = request.app.state.keys
    sent = request.headers.get(CSRF_HEADER) or form.get(CSRF_FIELD)
    if not isinstance(sent, str) or not keys.sessions.is_csrf(visitor_of(request).session, sent):
        raise ProblemError(403, "the form is too old, or not of this server: load the page again.")
    return form


@SIGNING_IN.post("/session")
async def sign_in(request: Request) -> RedirectResponse:
    """Begin the session of a browser: a form with the fields `token` and `next`, the path to go to."""
    keys: Keys = request.app.state.keys
    form = await request.form(max_fields=10, max_files=0)
    secret = form.get("token")
    token = keys.tokens.find(secret.strip()) if keys.tokens is not None and isinstance(secret, str) else None
    if token is None or keys.role_of(token) is None:
        request.scope["wanted"] = _own_path(request, form.get("next"))  # whoever tries again goes there
        raise ProblemError(401, "this is no valid token; an owner makes one with `noisewise token add`.")
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
