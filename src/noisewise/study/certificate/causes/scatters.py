"""Error bars that are wrong by another factor in every group: options, instruments, persons, blocks.

Group g has a sum of squares Q (in standard errors) on f = Σ(1 - h) degrees of freedom. With a factor of its
own, drawn so that ``1/c²`` is a gamma variable with ν degrees of freedom around 1/m, Q/(f·m) has Fisher's law
with f and ν degrees of freedom in place of a chi-square's: two fitted numbers for any number of groups.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.words import number
from noisewise.study.certificate.causes.cause import UNEQUAL, Cause
from noisewise.study.certificate.causes.table import Rest, Table
from noisewise.study.log.measurements import NO_BLOCK, Codes
from noisewise.study.models.sums import totals

#: Degrees of freedom that all groups must have, and that one must have to be named.
FEW, LEAST = 10.0, 1.0
#: The groups that are named.
NAMED = 3
#: Degrees of freedom of the law of factors, and its scales, that are tried.
FREEDOMS = np.geomspace(0.5, 100.0, 16)
SCALES = np.geomspace(1e-3, 1e3, 61)


class Factors(NamedTuple):
    """What the law of factors says of each group."""

    gain: float  # by how much -2·log L is less
    squared: Floats  # (groups,): c²


def unequal_bars(table: Table) -> list[Cause]:
    """The groups whose error bars are wrong by factors of their own."""
    if table.rest.freedom < FEW or not table.known.any():
        return []
    squares = np.square(table.rest.residuals / table.sigma)
    free = 1.0 - table.leverages
    groupings = _groupings(table)
    found = []
    for what, (codes, names) in groupings.items():
        total = totals(codes, squares, len(names))
        freedom = totals(codes, free, len(names))
        if (freedom >= LEAST).sum() < 2:
            continue
        factors = factors_of(total, freedom)
        deviance = table.deviance - factors.gain
        deviance += 2.0 * math.log(table.rest.freedom) + 2.0 * math.log(len(groupings))
        bare = np.where(table.known, table.bare * np.sqrt(factors.squared)[codes], table.bare)
        rest = table.with_errors(bare)
        found.append(_cause(table, what, names, np.sqrt(factors.squared), freedom, deviance, rest))
    return found


def _groupings(table: Table) -> dict[str, tuple[Codes, list[str]]]:
    """Codes and names of the groups, by what they are."""
    columns, ids = table.columns, table.analysis.state.ids
    groupings = {"option": (columns.plus, list(ids))} if (columns.minus < 0).all() else {}
    for what in ("instrument", "by"):
        labels = table.label(what)
        if len(set(labels)) > 1:
            names, codes = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
            groupings[what] = codes.astype(np.int64), [str(name) for name in names]
    if np.unique(columns.block).size > 1:
        groupings["block"] = columns.block, columns.blocks
    return groupings


def factors_of(squares: Floats, freedom: Floats) -> Factors:
    """The law of factors with the largest likelihood, and every group's factor under it.

    Args:
        squares: Of each group, in standard errors.
        freedom: The degrees of freedom of each group.
    """
    from scipy.special import gammaln

    some = freedom > 1e-6
    q, f = np.maximum(squares[some], 1e-12), freedom[some]
    chi = -0.5 * f * math.log(2.0) - gammaln(0.5 * f) - 0.5 * q
    best = -math.inf, 0.0, 0.0
    for nu in FREEDOMS:
        shared = gammaln(0.5 * (f + nu)) - gammaln(0.5 * f) - gammaln(0.5 * nu)
        scale = nu * SCALES[:, None]
        fisher = shared - 0.5 * f * np.log(scale) - 0.5 * (f + nu) * np.log1p(q / scale)
        gains = 2.0 * (fisher - chi).sum(axis=1)
        at = int(np.argmax(gains))
        if gains[at] > best[0]:
            best = float(gains[at]), float(nu), float(SCALES[at])
    gain, nu, scale_of_all = best
    return Factors(gain, (nu * scale_of_all + squares) / (nu + freedom))


def _cause(
    table: Table, what: str, names: list[str], factors: Floats, freedom: Floats, deviance: float, rest: Rest
) -> Cause:
    """Which groups are worst, and what to do."""
    seen = np.flatnonzero(freedom >= LEAST)
    order = seen[np.argsort(-factors[seen], kind="stable")]
    usual = float(np.median(factors[seen]))
    worst = [f"{number(float(factors[k]), 2)} for {_named(what, names[k])}" for k in order[:NAMED]]
    words = (
        f"Error bars are wrong by another factor for every {_thing(what)}: about {', '.join(worst)}, "
        f"{number(usual, 2)} for the usual one. Multiply each by its own factor if you know why: the reduced "
        f"chi-square is then {number(rest.reduced)}; or tell the readings themselves (values=)"
    )
    words += ' in a study with scatter="own".' if what == "option" else f", with the {_thing(what)} named."
    remedy: dict[str, Any] = {
        "amend": what,
        "se_times": {names[k]: float(factors[k]) for k in np.flatnonzero(freedom > 1e-6)},
    }
    return Cause(
        UNEQUAL, words, deviance, rest.reduced, rest.freedom, table.chance(rest), remedy, nested=True
    )


def _thing(what: str) -> str:
    return "person (by=)" if what == "by" else what


def _named(what: str, name: str) -> str:
    return name if name != NO_BLOCK else f"no {_thing(what)}"
