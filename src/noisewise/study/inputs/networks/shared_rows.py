"""Differences in a table of measurements that share an option and a block, and may have errors in common."""

import polars as pl

from noisewise.core.support.text import printable
from noisewise.study.inputs.dialects.wording import Wording
from noisewise.study.inputs.networks.network_rows import listed


def about_shared_rows(frame: pl.DataFrame, words: Wording) -> tuple[str, ...]:
    """A sentence on the first such rows, if there are any: they count as independent.

    Repeats of one difference share both options, and are none.
    """
    if not {"plus", "minus", "block"} <= set(frame.columns):
        return ()
    found: dict[tuple[str, str], dict[str, list[int]]] = {}
    sides = (frame[name].cast(pl.String).to_list() for name in ("plus", "minus", "block"))
    for row, (one, other, block) in enumerate(zip(*sides, strict=True), start=1):
        if None not in (one, other, block):
            for option, beside in ((one, other), (other, one)):
                found.setdefault((block, option), {}).setdefault(beside, []).append(row)
    for (block, option), others in found.items():
        if len(others) > 1:
            rows = sorted(row for some in others.values() for row in some)
            return (
                f"In block {printable(block)}, {listed(rows)} share {printable(option)} and count as "
                f"independent: if one measured {printable(option)} is in all of them, give the table as one "
                f"of studies ({words.layout('network')}), or their arms ({words.layout('arms')}).",
            )
    return ()
