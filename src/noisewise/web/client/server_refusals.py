"""From what a server answers to the errors that a study on this machine raises, in the same words."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from noisewise.core.support.text import printable

PROBLEM = "application/problem+json"
#: Characters of an answer that is none, in a message.
SHOWN = 80
#: Errors of a study by name; any other refusal is a ValueError.
ERRORS: dict[str, type[Exception]] = {"KeyError": KeyError, "TypeError": TypeError}


def problem_in(kind: str, content: bytes) -> dict[str, Any] | None:
    """The problem document of an answer; None: it is none, so that no noisewise has answered."""
    if kind.partition(";")[0].strip().lower() != PROBLEM:
        return None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("detail"), str) else None


def refusal(where: str, status: int, problem: dict[str, Any] | None, with_token: bool) -> Exception:
    """The error that an answer stands for.

    Args:
        where: The address.
        status: Of the answer.
        problem: What `problem_in` found.
        with_token: Whether a token was sent.
    """
    if problem is None:
        return ConnectionError(f"{where} answers with status {status}, and not as a noisewise server does: "
                               "look at the address, and at its prefix.")  # fmt: skip
    said = printable(problem["detail"])
    if status == 401 and with_token:
        return PermissionError(
            f"{where} does not know this token: it may be revoked, or for another server. Ask for a new one "
            "(noisewise token add)."
        )
    if status == 401:
        return PermissionError(
            f"{where} asks for a token: say token=, or set NOISEWISE_TOKEN (noisewise token add makes one)."
        )
    if status == 403:
        return PermissionError(said)
    if status in (429, 503):
        return ConnectionError(f"{where} is too busy, or cannot use its store: {said}")
    if status >= 500:
        return OSError(f"{where}: {said}")
    return ERRORS.get(str(problem.get("error")), KeyError if status == 404 else ValueError)(said)


def no_json(where: str, content: bytes) -> Exception:
    """The refusal of an answer that makes no sense."""
    begins = printable(content[:SHOWN].decode("utf-8", "replace"))
    return ConnectionError(
        f"{where} answers with something that is not noisewise's ({begins!r}): look at the address, and at "
        "its prefix."
    )


@contextmanager
def understanding(where: object) -> Iterator[None]:
    """Refuse an answer without the parts that it should have."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        missing = f"without {problem.args[0]!r}" if isinstance(problem, KeyError) else "with other parts"
        raise ConnectionError(
            f"{where} answers {printable(missing)}, which this noisewise does not understand: use the same "
            "version on both sides."
        ) from None


def redirected(where: str, status: int, target: str) -> Exception:
    """The refusal to be sent elsewhere: the token is for this server, and for no other."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(target)
        to = f"{parts.scheme}://{parts.hostname}" if parts.hostname else "another path"
    except ValueError:
        to = "elsewhere"
    return ConnectionError(
        f"{where} sends requests on to {printable(to)} (status {status}), which is not followed, because a "
        "token is for one server: use the address of the server itself."
    )
