"""Columns that look like successes and trials: whole numbers, one never above the other, by their names."""

import re
from collections.abc import Iterable
from itertools import permutations

import polars as pl

from noisewise.study.inputs.dialects.headers import key_of
from noisewise.study.intake.roles import ROLE

#: A whole number, with or without signs between thousands.
_WHOLE = re.compile(r"\d+|\d{1,3}(?:[., '\u00a0\u202f]\d{3})+")
#: Names that are those of trials only beside a column that is called like successes.
_WEAK = ("n",)


def find_counts(frame: pl.DataFrame, free: Iterable[str]) -> dict[str, str]:
    """The columns that are successes and trials; empty if none look like it.

    Args:
        frame: The table.
        free: Columns that nothing else is known of.
    """
    whole = {name: cells for name in free if (cells := _whole_numbers(frame[name])) is not None}
    best, most = {}, 0
    for hits, tries in permutations(whole, 2):
        said = 2 * _is_called(hits, "successes") + 2 * _is_called(tries, "trials") + (key_of(tries) in _WEAK)
        # One name is enough where there is no other column that it could go with.
        enough = said > 2 or (said == 2 and len(whole) == 2)
        if enough and said > most and _is_part(whole[hits], whole[tries]):
            best, most = {"successes": hits, "trials": tries}, said
    return best


def _is_called(column: str, role: str) -> bool:
    """Whether one of the words of a name is one that people use for a role."""
    key = key_of(column)
    names = (role, *ROLE[role].called)
    return key in names or any(word in names for word in key.split("_"))


def _whole_numbers(column: pl.Series) -> list[int | None] | None:
    """The cells, None for those that are empty; None if one of them is no whole number."""
    if _is_called(column.name, "value"):
        return None
    texts = [None if cell is None else str(cell).strip() for cell in column.to_list()]
    if not any(texts) or not all(text is None or _WHOLE.fullmatch(text) for text in texts):
        return None
    return [None if text is None else int(re.sub(r"\D", "", text)) for text in texts]


def _is_part(hits: list[int | None], tries: list[int | None]) -> bool:
    pairs = list(zip(hits, tries, strict=True))
    told = [(one, all_) for one, all_ in pairs if one is not None and all_ is not None]
    return bool(told) and all(one <= all_ for one, all_ in told) and any(one < all_ for one, all_ in told)
