"""How a change gets into a study: on the version that was meant, by whom, and once."""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from fastapi import Header, Request
from starlette.responses import Response

from noisewise.core.remarks import HeardWarning, heard_warnings
from noisewise.core.text import check_text
from noisewise.server.answers import answer, name_in
from noisewise.server.auth.roles import Visitor
from noisewise.server.open_studies import OpenStudies
from noisewise.server.problems import ProblemError
from noisewise.study.log.events import Event
from noisewise.study.stores.protocol import LogMovedOnError
from noisewise.study.study import Study

#: Letters of these two headers.
LONGEST_IF_MATCH, LONGEST_KEY = 100, 1000
IfMatch = Annotated[
    str | None,
    Header(description="Change nothing unless the study's ETag is this one.", max_length=LONGEST_IF_MATCH),
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="A request with the same key and content is answered, and done, once.",
        max_length=LONGEST_KEY,
    ),
]


_OTHER_CONTENT = "this Idempotency-Key was sent with another content; use a new one."


def change(
    request: Request,
    name: str,
    visitor: Visitor,
    act: Callable[[Study], Any],
    *,
    body: Any,
    status: int = 200,
    if_match: str | None = None,
    key: str | None = None,
    again: Callable[[Study, list[Event]], Any],
) -> Response:
    """Change a study, and answer with what ``act`` returns and the version after it.

    Args:
        request: The request.
        name: The study, as the address has it.
        visitor: Who changes it.
        act: Does it, and returns the content of the answer.
        body: What was asked for, to know a repetition.
        status: Of the answer.
        if_match: The version that is meant.
        key: By which the log knows a repetition.
        again: The answer to a repetition, from the events of the first try.
    """
    studies: OpenStudies = request.app.state.studies
    name = name_in(name)
    whose = None if key is None else (visitor.token or "", request.url.path, check_key(key))
    content = hashlib.sha256(repr(body).encode(errors="replace")).hexdigest()
    with studies.use(name, write=True) as study:
        known_as = None if whose is None else repr(whose)
        written = [] if known_as is None else _appended(study, known_as, content)
        try:
            with heard_warnings() as heard:
                number = None
                if written:
                    done = again(study, written)
                else:
                    with study.acting(
                        visitor.name, only_at=version_in(if_match), key=known_as, request=content
                    ) as acted:
                        done = act(study)
                    number = acted.n_events
        except LogMovedOnError:
            raise ProblemError(
                412,
                f"{name!r} has changed: it has {study.n_events} events now, and If-Match meant {if_match}.",
            ) from None
        number = study.n_events if number is None else number  # what was just appended need not be looked for
        return answer({"study": name, **done, **warnings_in(heard)}, status, event=number)


def warnings_in(heard: Sequence[HeardWarning]) -> dict[str, Any]:
    """What a study has warned of, for the answer; a client warns of it again."""
    said = [{"category": one.category.__name__, "message": one.message} for one in heard]
    return {"warnings": said} if said else {}


def _appended(study: Study, key: str, content: str) -> list[Event]:
    """What was written with a key; 409 if that was about another content."""
    try:
        return study.appended_as(key, content)
    except ValueError:
        raise ProblemError(409, _OTHER_CONTENT) from None


def version_in(if_match: str | None) -> int | None:
    """The version that If-Match means; None: any."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'\s*"(\d{1,15})"\s*', if_match, re.ASCII)
    if found is None:
        raise ProblemError(412, 'If-Match must be an ETag of this study, such as "17".')
    return int(found[1])


def check_key(key: str) -> str:
    """An Idempotency-Key as the log can keep it."""
    return check_text("Idempotency-Key", key)
