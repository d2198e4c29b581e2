"""What the fit would be without each suspicious measurement, block or option: fitted, not guessed."""

import math
from typing import Any

import numpy as np

from noisewise.core.support.distributions import chi_square_tails
from noisewise.study.certificate.causes.table import Table
from noisewise.study.log.measurements import NO_BLOCK, Codes

#: How many of each kind are left out, by turns.
ROWS, GROUPS = 3, 2
#: They are suspicious if chance makes the worst of all as bad with less than this probability.
SUSPICIOUS = 0.001
#: What is left out is told if it takes away this part of the chi-square in excess; a block or an option if a
#: single measurement takes away less than this part of what it does.
PART, WHOLE = 0.2, 0.8


def left_out_in_turn(table: Table) -> tuple[dict[str, Any], ...]:
    """Every suspicious measurement, block and option, the one that matters most first."""
    if table.rest.freedom <= 1:
        return ()
    squares = np.square(table.rest.residuals / table.sigma)
    free = 1.0 - table.leverages
    found = []
    deleted = squares / free
    for at in np.argsort(-deleted, kind="stable")[:ROWS]:
        if math.erfc(math.sqrt(float(deleted[at]) / 2.0)) * table.count < SUSPICIOUS:
            others = np.arange(table.count) != at
            row = table.row(int(at))
            found.append(
                {"what": "measurement", "name": table.name(int(at)), "key": row["key"]} | _fit(table, others)
            )
    columns, ids = table.columns, table.analysis.state.ids
    for what, codes, names in (("block", columns.block, columns.blocks), ("option", columns.plus, ids)):
        for group in _suspicious(codes, squares, free):
            others = codes != group
            if names[group] != NO_BLOCK and others.any():
                found.append({"what": what, "name": names[group], "key": None} | _fit(table, others))
    return tuple(sorted(_worth_saying(table, found), key=lambda one: one["reduced_chi_square"]))


def _worth_saying(table: Table, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that matter; not what a wrong row makes of its neighbours, nor the group that it stands in."""
    now = table.rest.reduced
    gains = [now - one["reduced_chi_square"] if one["freedom"] > 0 else 0.0 for one in found]
    least = PART * max(0.0, now - 1.0)
    row = max(
        (gain for gain, one in zip(gains, found, strict=True) if one["what"] == "measurement"), default=0.0
    )
    return [
        one
        for gain, one in zip(gains, found, strict=True)
        if gain > least and (one["what"] == "measurement" or gain * WHOLE > row)
    ]


def _fit(table: Table, others: Any) -> dict[str, Any]:
    rest = table.fitted(table.columns.select(others), table.sigma[others])
    return {"reduced_chi_square": rest.reduced, "freedom": rest.freedom}


def _suspicious(codes: Codes, squares: Any, free: Any) -> list[int]:
    """The groups with the largest squares for their degrees of freedom."""
    groups = np.unique(codes)
    if groups.size < 3:
        return []
    total = np.bincount(codes, weights=squares)[groups]
    freedom = np.maximum(np.bincount(codes, weights=free)[groups], 1e-3)
    order = np.argsort(-total / freedom, kind="stable")[: 4 * GROUPS]
    chances = {int(groups[k]): chi_square_tails(float(freedom[k]), float(total[k])).upper for k in order}
    some = [group for group, chance in chances.items() if chance * groups.size < SUSPICIOUS]
    return some[:GROUPS]
