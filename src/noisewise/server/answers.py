"""What answers look like: types for the description, and answers with the study's version as ETag."""

from typing import Annotated, Any

from fastapi import Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from noisewise.core.strict_json import strict_json
from noisewise.server.auth.roles import Role, Visitor, needs
from noisewise.server.problems import PROBLEM_TYPE

Viewer = Annotated[Visitor, Depends(needs(Role.VIEWER))]
Owner = Annotated[Visitor, Depends(needs(Role.OWNER))]
#: Letters of a study's name in an address.
LONGEST_NAME = 1000
#: The name of a study in an address.
StudyName = Annotated[
    str,
    Path(
        description='The study\'s name; in it, "~1" stands for "/", "~2" for ".", "~0" for "~".',
        max_length=LONGEST_NAME,
    ),
]


class ProblemDocument(BaseModel):
    """Why a request was refused (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str = Field(description="One sentence: what, where, why, what to do.")
    error: str | None = Field(None, description="What a study on this machine raises, such as ValueError.")
    refusal: dict[str, Any] | None = Field(
        None, description="The same as data, with the names of parameters in braces."
    )


class AnyObject(BaseModel):
    """An object whose parts are those that the command of the same name prints with --json."""

    model_config = ConfigDict(extra="allow")


class TablePage(BaseModel):
    """A page of a table."""

    study: str
    rows: list[dict[str, Any]]
    next: int | None = Field(description="The value of `after` for the next page; null: this is the last.")
    total: int


PROBLEMS = {
    400: "The body cannot be read.",
    401: "A token is needed.",
    403: "The role does not suffice, or the server only reads.",
    404: "There is no such study.",
    405: "This address does not take that method.",
    408: "The body came too slowly.",
    409: "The key, or the name, was used with another content.",
    412: "The study has changed since: see If-Match.",
    413: "The body is too large.",
    422: "Something in the request is wrong; nothing was changed.",
    429: "Too many plans and reports at once.",
    503: "The store cannot be used now; try again.",
}
#: Every route declares all of them: a client has to deal with each anyway.
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": said,
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status, said in PROBLEMS.items()
}
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Not changed: see If-None-Match."}}


def name_in(path: str) -> str:
    """The name of a study that a part of an address means."""
    return path.replace("~1", "/").replace("~2", ".").replace("~0", "~")


def name_in_path(name: str) -> str:
    """A study's name as it is written in an address, before percent signs."""
    written = name.replace("~", "~0").replace("/", "~1")
    # Browsers and proxies take these two for steps in a path, however they are quoted.
    return written.replace(".", "~2") if written in (".", "..") else written


def etag_of(number: int) -> str:
    """The ETag of a study's version."""
    return f'"{number}"'


def answer(
    content: Any, status: int = 200, *, event: int | None = None, headers: dict[str, str] | None = None
) -> Response:
    """JSON, with the study's version as ETag."""
    tag = {} if event is None else {"ETag": etag_of(event)}
    return Response(
        strict_json(content),
        status,
        {"Cache-Control": "private, no-cache", **tag, **(headers or {})},
        "application/json",
    )


def unchanged(request: Request, event: int) -> Response | None:
    """The answer to who has this version already."""
    sent = request.headers.get("if-none-match")
    if sent is None:
        return None
    tags = [one.strip().removeprefix("W/") for one in sent.split(",")]
    if etag_of(event) not in tags and "*" not in tags:
        return None
    return Response(status_code=304, headers={"ETag": etag_of(event), "Cache-Control": "private, no-cache"})
