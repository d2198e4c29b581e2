"""In whose words an operation speaks: in sentences of a study, parameters are in backticks."""

from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

from noisewise.core.refusals import (
    PYTHON,
    NotFoundError,
    RefusedError,
    Sentence,
    Words,
    WrongTypeError,
    closed,
)

#: Whose words are wanted.
speaking: ContextVar[Words] = ContextVar("noisewise words", default=PYTHON)
#: Parameters that sentences of a study may name.
NAMES = frozenset((
    "block", "instrument", "se", "var", "sd", "n", "ci", "level", "values", "by", "note", "key", "scatter",
    "model", "deviation", "extra_scatter", "span", "measure", "errors", "final", "roles", "noise", "scale",
    "eps", "confidence", "budget", "items", "bounds", "goal", "unit", "policy", "seed", "lease", "sigma",
    "probe",
    "successes", "trials", "cost", "store", "name", "repeat", "unknown", "amend", "decimal", "map",
    "features", "id", "menu", "paths", "batch", "out", "what", "verify", "option", "job", "plus", "minus",
    "value", "measurement", "options", "reason", "on", "table", "path", "log",
))  # fmt: skip
#: Operations that sentences call.
CALLS = frozenset(("ask()", "tell()"))


def said(text: str) -> str:
    """A sentence of the study in the words of the surface that asked."""
    words = speaking.get()
    if isinstance(text, Sentence):
        return text.said(words)
    return text if words is PYTHON else Sentence(opened(text, names_of(words))).said(words)


def names_of(words: Words) -> Collection[str]:
    """The parameters that plain sentences may name."""
    return getattr(words, "names", NAMES)


def lifted(problem: BaseException) -> RefusedError:
    """A plain error of the study as a refusal whose parameters are known."""
    if isinstance(problem, RefusedError):
        return problem
    text = str(problem.args[0]) if problem.args else str(problem)
    kinds = ((KeyError, NotFoundError), (TypeError, WrongTypeError), (Exception, RefusedError))
    kind = next(ours for theirs, ours in kinds if isinstance(problem, theirs))
    return kind(None, opened(text, names_of(speaking.get())))


def opened(text: str, names: Collection[str]) -> str:
    """A sentence whose parameters are in backticks, `se`, `se=0.3` or `ask()`, with these in braces."""
    first, *parts = text.split("`")
    found = closed(first)
    while len(parts) > 1:
        marked, rest, *parts = parts
        name, _, value = marked.partition("=")
        if name in names:
            marked = f"{name}=..." if set(value) & set("{}!") else marked
            found += f"{{{marked}}}"
        else:
            found += f"{{{marked}}}" if marked in CALLS else f"`{closed(marked)}`"
        found += closed(rest)
    return found + "".join(f"`{closed(part)}" for part in parts)


def table_wording() -> Any:
    """How messages about tables name what can be said about them."""
    from noisewise.study.tables.wording import CHOOSING, COMMAND
    from noisewise.study.tables.wording import PYTHON as OF_PYTHON

    words = speaking.get()
    if not getattr(words, "typed", False):
        return OF_PYTHON
    return COMMAND if "network" in getattr(words, "params", ()) else CHOOSING
