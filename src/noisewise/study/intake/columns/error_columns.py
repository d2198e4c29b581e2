"""Columns that look like error bars: by their names, as people call them, and by whose error they say."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from noisewise.study.inputs.dialects.decimals import looks_numeric
from noisewise.study.inputs.dialects.headers import key_of, split_brackets
from noisewise.study.inputs.dialects.interval_texts import hold_intervals, lie_around
from noisewise.study.intake.roles import column_for

#: Names of error bars by the role that such a column has, as `key_of` spells them.
WORDS = {
    "se": (
        "se", "s_e", "sem", "s_e_m", "stderr", "std_err", "std_error", "standard_error", "stand_error", "err",
        "error", "errors", "errorbar", "error_bar", "uncertainty", "unc", "sigma", "σ", "plus_minus",
        "fehler", "standardfehler", "messfehler", "unsicherheit", "messunsicherheit", "standardunsicherheit",
        "incertitude", "erreur_type", "erreur_standard",
        "error_estandar", "error_estándar", "incertidumbre", "errore_standard",
    ),
    "sd": (
        "sd", "s_d", "std", "stdev", "st_dev", "stddev", "std_dev", "std_deviation", "standard_deviation",
        "stdabw", "standardabweichung", "ecart_type", "écart_type", "desviacion", "desviación", "dev_std",
    ),
    "var": ("var", "variance", "varianz"),
}  # fmt: skip
#: Of these, the ones that also begin a name: se_HV, but not error_rate.
_BEGIN = (
    "se",
    "sem",
    "sd",
    "std",
    "stderr",
    "stdev",
    "std_err",
    "std_error",
    "standard_error",
    "var",
    "std_dev",
)
#: Short names that are those of errors only beside what they are the error of: u(HV), dHV, delta_HV.
_SHORT = ("u", "d", "delta", "e", "s")
#: Ends of intervals.
_ENDS = (
    ("lo", "hi"), ("low", "high"), ("lower", "upper"), ("lcl", "ucl"), ("lcb", "ucb"), ("lwr", "upr"),
    ("ll", "ul"), ("lb", "ub"), ("l95", "u95"), ("ci_l", "ci_u"), ("q025", "q975"), ("2_5%", "97_5%"),
)  # fmt: skip
#: A whole interval in one cell, or half of its width.
_INTERVALS = (
    "margin_of_error", "moe", "half_width", "halfwidth", "ci_half_width", "95%ci",
    "95%_ki", "konfidenzintervall", "95%_ic",
    "ci", "ci95", "95%_ci", "95_ci", "ci_95", "ci_95%", "95ci", "conf_int", "confidence_interval",
)  # fmt: skip
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class ErrorColumns(NamedTuple):
    """Columns that together look like one error bar."""

    columns: tuple[str, ...]
    roles: dict[str, str]  # what a map would make of them; empty if it cannot
    stem: str  # the name of what they are the error of; empty if they do not say


def find_error_columns(frame: pl.DataFrame, value: str | None, used: Iterable[str]) -> ErrorColumns | None:
    """The unused columns that look most like the error bar of the value.

    Args:
        frame: The table.
        value: The column of the values, or None if it is not known.
        used: Columns that are used, or left out on purpose.
    """
    taken = set(used)
    columns = [name for name in frame.columns if name not in taken and _may_be_error(frame[name])]
    found = [one for one in _candidates(columns, frame.columns) if _concerns(one.stem, value, frame.columns)]
    found = [
        one
        if one.roles or not hold_intervals(frame[one.columns[0]])
        else one._replace(roles={"ci": one.columns[0]})
        for one in found
    ]
    if (
        not found and value in frame.columns
    ):  # whatever it is called, an interval around every value is its error
        free = [name for name in frame.columns if name not in taken and name != value]
        around = [name for name in free if lie_around(frame[name], frame[value])]
        found = [ErrorColumns((name,), {"ci": name}, "") for name in around]
    # The one that names the value comes first; then those that a map can use.
    named = "" if value is None else key_of(value)
    return min(found, key=lambda one: (one.stem != named, not one.roles), default=None)


def _may_be_error(column: pl.Series) -> bool:
    if column.drop_nulls().is_empty():
        return False
    return looks_numeric(column) or any(word in key_of(column.name) for word in _INTERVALS)


def _candidates(columns: Sequence[str], every: Sequence[str]) -> list[ErrorColumns]:
    found = []
    keys = [key_of(name) for name in every]
    for column in columns:
        stem = _stem(column, _INTERVALS, keys)
        if stem is not None:
            found.append(ErrorColumns((column,), {}, stem))
            continue
        for role, words in WORDS.items():
            stem = _stem(column, words, keys)
            if stem is not None:
                found.append(ErrorColumns((column,), _roles(role, column, every), stem))
                break
    for low, high in _ENDS:
        by_key = {_snake(column): column for column in columns}
        for key, column in by_key.items():
            partner = re.sub(rf"(?<![a-z]){re.escape(low)}(?![a-z])", high, key)
            if partner != key and partner in by_key:
                stem = re.sub(rf"_?(?:ci_?)?(?<![a-z]){re.escape(low)}(?![a-z])_?(?:95%?_?)?(?:ci)?", "", key)
                other = by_key[partner]
                found.append(ErrorColumns((column, other), {"lo": column, "hi": other}, stem.strip("_")))
    return found


def _stem(column: str, words: Sequence[str], keys: Sequence[str]) -> str | None:
    """What a column is the error of, by its name; None if it is no error bar."""
    if re.search(r"±|\+/-|\+-", column) and "se" in words:
        return key_of(re.sub(r"±|\+/-|\+-", "", column))
    if (found := split_brackets(column)) and found[1]:
        outside, inside = key_of(found[0]), key_of(found[1])
        if inside in words:
            return outside
        if "se" in words and outside in (*words, *_SHORT) and inside in keys:
            return inside
    for key in {key_of(column), _snake(column)}:
        for word in sorted(words, key=len, reverse=True):
            if key == word:
                return ""
            if key.endswith("_" + word):
                return key.removesuffix("_" + word)
            if word in _BEGIN and key.startswith(word + "_"):
                return key.removeprefix(word + "_").removeprefix("of_")
        # HVse beside HV, sigma_HV, dHV: only where what is left is another column.
        for word in (*words, *(_SHORT if "se" in words else ())):
            for left in (key.removesuffix(word).rstrip("_"), key.removeprefix(word).lstrip("_")):
                if left != key and left in keys:
                    return left
    return None


def _snake(column: str) -> str:
    return key_of(_CAMEL.sub("_", column))


def _concerns(stem: str, value: str | None, columns: Sequence[str]) -> bool:
    """Whether an error bar may be that of the value: not if it names another column."""
    if not stem or value is None or stem == key_of(value):
        return True
    return stem not in [key_of(name) for name in columns if name != value]


def _roles(role: str, column: str, columns: Sequence[str]) -> dict[str, str]:
    if role != "sd":
        return {role: column}
    count = column_for(columns, "n")
    return {"sd": column} if count is None else {"sd": column, "n": count}
