"""In whose words an operation speaks, and what is left of sentences that name parameters only in Python's.

Most of the study still raises plain sentences. Until they are `RefusedError`, `lifted` finds the parameters.
"""

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
)

#: Whose words are wanted.
speaking: ContextVar[Words] = ContextVar("noisewise words", default=PYTHON)
#: Parameters that sentences of a study may name.
NAMES = frozenset((
    "block", "instrument", "se", "var", "sd", "n", "ci", "level", "values", "by", "note", "key", "scatter",
    "model", "deviation", "extra_scatter", "span", "measure", "errors", "final", "roles", "scale", "eps",
    "confidence", "budget", "items", "bounds", "goal", "unit", "policy", "seed", "lease", "sigma", "probe",
    "successes", "trials", "cost", "store", "name", "repeat", "unknown", "amend", "decimal", "map",
    "features", "id", "menu", "paths", "batch", "out", "what", "verify", "option", "job", "plus", "minus",
    "value", "measurement", "options", "reason", "on", "table", "path", "log",
))  # fmt: skip
#: Operations that sentences call.
CALLS = frozenset(("ask", "tell"))


def said(text: str) -> str:
    """A sentence of the study in the words of whoever asked."""
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
    """A sentence of Python with its parameters in braces: `those` in backticks, and those= with a sign."""
    found, at = "", 0
    while at < len(text):
        end = at
        while text[end : end + 1].isidentifier() or (end > at and text[end : end + 1].isalnum()):
            end += 1
        if text.startswith("--map ", at):  # roles and their columns
            stop = at + 6 + len(text[at + 6 :].partition(" ")[0])
            found, at = found + text[at:stop].replace("{", "{{").replace("}", "}}"), stop
            continue
        word, before, after = text[at:end], text[at - 1 : at] if at else "", text[end : end + 1]
        marked, tick, _ = text[at + 1 :].partition("`") if text[at] == "`" else ("", "", "")
        if tick and marked in names:
            found, at = f"{found}{{{marked}}}", at + len(marked) + 2
        elif word in CALLS and text[end : end + 2] == "()" and before not in (".", "`"):
            found, at = f"{found}{{{word}()}}", end + 2
        elif word in names and after == "=" and before not in ("`", ".", "-", "'", '"', "{", ","):
            at = _end_of_value(text, end + 1)
            value = text[end + 1 : at]
            found += f"{{{word}={'...' if set(value) & set('{}') else value}}}"
        else:
            end = max(end, at + 1)
            found, at = found + text[at:end].replace("{", "{{").replace("}", "}}"), end
    return found


def _end_of_value(text: str, at: int) -> int:
    """Where the value ends that begins here: at a closing quote or bracket, or with the word."""
    closing = {'"': '"', "'": "'", "(": ")", "[": "]", "{": "}"}.get(text[at : at + 1], " ")
    end = text.find(closing, at + 1)
    if closing != " " and end >= 0:
        return end + 1
    return at + len(text[at:].partition(" ")[0].rstrip(".,;:)]?"))


def table_wording() -> Any:
    """How messages about tables name what can be said about them."""
    from noisewise.study.tables.wording import CHOOSING, COMMAND
    from noisewise.study.tables.wording import PYTHON as OF_PYTHON

    words = speaking.get()
    if not getattr(words, "typed", False):
        return OF_PYTHON
    return COMMAND if "network" in getattr(words, "params", ()) else CHOOSING
