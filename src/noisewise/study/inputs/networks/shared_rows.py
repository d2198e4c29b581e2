"""Differences in a table of measurements that share an option and a block, and may have errors in common."""

from collections.abc import Sequence

import polars as pl

from noisewise.core.text import printable
from noisewise.study.inputs.dialects.wording import Wording
from noisewise.study.inputs.networks.column_roles import STUDY, plain
from noisewise.study.inputs.networks.network_rows import listed


def about_shared_rows(
    frame: pl.DataFrame, table: pl.DataFrame, unused: Sequence[str], words: Wording
) -> tuple[str, ...]:
    """A sentence on the first such rows, if there are any: they count as independent.

    Repeats of one difference share both options, and are none.

    Args:
        frame: Columns under the names of their roles.
        table: The table that they come from.
        unused: Columns of it that have no role; one of them may name studies.
        words: How messages call what a person can say.
    """
    if not {"plus", "minus"} <= set(frame.columns):
        return ()
    names = {name for group in STUDY for name in group}
    studies = next((table[name] for name in unused if plain(name) in names), None)
    labels = frame["block"] if "block" in frame.columns else studies
    if labels is None:
        return ()
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    sides = (column.cast(pl.String).to_list() for column in (frame["plus"], frame["minus"], labels))
    for row, (one, other, block) in enumerate(zip(*sides, strict=True), start=1):
        if None not in (one, other, block):
            for option, beside in ((one, other), (other, one)):
                found.setdefault((block, option), {}).setdefault(beside, []).append(row)
    for (block, option), others in found.items():
        if len(others) > 1:
            what = "block" if "block" in frame.columns else "study"
            rows = sorted(row for some in others.values() for row in some)
            return (
                f"In {what} {printable(block)}, {listed(rows)} share {printable(option)} and count as "
                f"independent: if one measured {printable(option)} is in all of them, give the table as one "
                f"of studies ({words.layout('network')}), or their arms ({words.layout('arms')}).",
            )
    return ()
