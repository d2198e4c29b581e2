"""Values of which less is usually better, by the name of their column or their unit."""

import re
from collections.abc import Iterable

from noisewise.study.tables.names import key_of, split_unit
from noisewise.study.telling.understanding import Understood

_LESS = {
    "latency", "seconds", "milliseconds",
    "time", "times", "duration", "runtime", "delay", "wait", "waiting", "cost", "costs", "price",
    "loss", "error", "errors", "rmse", "mae", "mse", "perplexity", "deaths", "failures", "defects", "waste",
    "emissions", "dauer", "zeit", "laufzeit", "kosten", "preis", "fehler", "durée", "coût", "prix", "tiempo",
    "coste", "precio",
}  # fmt: skip
_UNITS = {"s", "sec", "ms", "us", "µs", "μs", "ns", "eur", "€", "usd", "$"}


#: Columns beside the summaries of timings.
_TIMED, _SUMMARIES = {"ops", "rounds", "iterations", "user", "system"}, {"mean", "median", "min", "times"}


def less_is_better(column: str, beside: Iterable[str] = ()) -> bool:
    """Whether less of what a column is called, among others, is usually better."""
    unit, words = split_unit(column)[1] or "", _words(column)
    if words & _SUMMARIES and len(_TIMED & {word for name in beside for word in _words(name)}) > 1:
        return True
    return bool(words & (_LESS | _UNITS)) or unit.casefold() in _UNITS


def _words(name: str) -> set[str]:
    return set(re.split(r"[_.]", key_of(name)))


def about_direction(understood: Understood, goal: str) -> str | None:
    """A word of warning where the largest is looked for, and less sounds better."""
    column = understood.sources.get("value") or understood.sources.get("successes")
    if goal != "max" or column is None or understood.reader is not None or not less_is_better(column):
        return None
    return (
        f"The largest value is looked for, and less of {column!r} sounds better: if it is, begin again in "
        "another file with --goal min."
    )
