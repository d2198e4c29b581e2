"""From what a server answers to the errors that a study on this machine raises, in the same words."""

import builtins
import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from noisewise.client.server_address import ServerAddress, read_address
from noisewise.core.refusals import refusal_from
from noisewise.core.text import printable
from noisewise.study.log.told import MeasurementWarning

PROBLEM = "application/problem+json"
#: Characters of an answer that is none, in a message.
SHOWN = 80
#: Errors of a study by name, and where those are that are not Python's own.
ERRORS: dict[str, type[Exception]] = {"KeyError": KeyError, "TypeError": TypeError, "ValueError": ValueError}
OWN_ERRORS = {
    "DamagedError": "noisewise.study.stores.protocol",
    "NameTakenError": "noisewise.study.stores.protocol",
    "ToldOtherwiseError": "noisewise.study.telling.rows",
}


def error_called(name: str) -> type[Exception]:
    """The error of this name; a ValueError if there is none."""
    if name in OWN_ERRORS:
        found: type[Exception] = getattr(importlib.import_module(OWN_ERRORS[name]), name)
        return found
    return ERRORS.get(name, ValueError)


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
    if problem.get("error") is not None:
        error, plain = str(problem["error"]), problem.get("refusal")
        refused = refusal_from(plain, error) if isinstance(plain, dict) else None
        if refused is None or error in OWN_ERRORS:
            return error_called(error)(said if refused is None else printable(str(refused)))
        return refused
    if status in (429, 503):
        return ConnectionError(f"{where} is too busy, or cannot use its store: {said}")
    if status >= 500:
        return OSError(f"{where}: {said}")
    if status == 412:
        from noisewise.study.stores.protocol import LogMovedOnError

        return LogMovedOnError(said)
    if status in (404, 405):
        return ConnectionError(
            f"{where} has nothing at the address that this noisewise asks for (version 1 of the interface): "
            "look at the address and its prefix, and use the same version on both sides."
        )
    return ValueError(said)


def warnings_in(answer: dict[str, Any]) -> Iterator[tuple[type[Warning], str]]:
    """What a study warned of, and as what."""
    said = answer.get("warnings")
    for one in said if isinstance(said, list) else []:
        plain = one if isinstance(one, dict) else {"message": one}
        yield _category(str(plain.get("category"))), printable(str(plain.get("message")))


def _category(name: str) -> type[Warning]:
    """The category of this name, as far as a study warns with it."""
    if name == MeasurementWarning.__name__:
        return MeasurementWarning
    kind = getattr(builtins, name, None)
    return kind if isinstance(kind, type) and issubclass(kind, Warning) else UserWarning


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


def redirected(address: ServerAddress, status: int, target: str) -> Exception:
    """The refusal to be sent elsewhere: the token is for this server, and for no other."""
    why = "which is not followed, because a token is for one server"
    try:
        place = read_address(urlsplit(target)._replace(query="", fragment="").geturl())
    except ValueError:
        return ConnectionError(
            f"{address} sends requests on to another path (status {status}), {why}: use the address of the "
            "server itself."
        )
    prefix = place.prefix.partition("/api/")[0]
    there = printable(str(place._replace(prefix=prefix)))
    if place.host.lower() == address.host.lower() and place.secure and not address.secure:
        return ConnectionError(f"{address} is at {there} (status {status}): use that address.")
    return ConnectionError(
        f"{address} sends requests on to {there} (status {status}), {why}: if you trust it, use that address."
    )
