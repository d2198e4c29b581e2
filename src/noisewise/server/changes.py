"""How a change gets into a study: on the version that was meant, by whom, and once."""

import hashlib
import re
import threading
from collections import OrderedDict
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

#: Answers that are kept for those who did not get them.
MOST_REPLAYS = 10_000
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


class Replays:
    """Answers by key, in memory; after a restart, the log knows which change had which key."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], tuple[str, Response]] = OrderedDict()
        self._changing = threading.Lock()

    def find(self, key: tuple[str, ...], content: str) -> Response | None:
        """The answer that was given to this key; 409 if that was about another content."""
        with self._changing:
            kept = self._kept.get(key)
        if kept is None:
            return None
        if kept[0] != content:
            raise ProblemError(409, _OTHER_CONTENT)
        return kept[1]

    def keep(self, key: tuple[str, ...], content: str, given: Response) -> None:
        """Keep an answer."""
        with self._changing:
            self._kept[key] = content, given
            while len(self._kept) > MOST_REPLAYS:
                self._kept.popitem(last=False)


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
    again: Callable[[Study, list[Event]], Any] | None = None,
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
        key: Whose answer is given again; of measurements, the log knows it.
        again: The answer to a repetition whose first try is in the log, of a server before this one.
    """
    studies: OpenStudies = request.app.state.studies
    name = name_in(name)
    replays: Replays = request.app.state.replays
    whose = None if key is None else (visitor.token or "", request.url.path, check_key(key))
    content = hashlib.sha256(repr(body).encode(errors="replace")).hexdigest()
    with studies.use(name, write=True) as study:
        if whose is not None and (before := replays.find(whose, content)) is not None:
            return before
        known_as = None if whose is None else repr(whose)
        written = [] if known_as is None else _appended(study, known_as, content)
        try:
            with heard_warnings() as heard:
                number = None
                if written:
                    done = (again or _only_done)(study, written)
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
        given = answer({"study": name, **done, **warnings_in(heard)}, status, event=number)
        if whose is not None:  # before a second try can enter
            replays.keep(whose, content, given)
    return given


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


def _only_done(study: Study, written: list[Event]) -> dict[str, Any]:
    return {"event": study.n_events}


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
