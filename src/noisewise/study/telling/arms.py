"""The arms behind the differences that one study reports: exact, with what the differences have in common.

A study with arms ``m_i ± √v_i``, whose level is its own, reports differences ``d_ij = m_i - m_j`` with
``se_ij² = v_i + v_j``. Those that share arm i have the covariance ±v_i, so they are not independent; but the
arms are, and least squares on arms with an unknown level of their own (a block) is generalised least squares
on the differences, whichever of them are given.

The variances follow from what is given: ``v_i + v_j`` of every row, and variances of arms.
Three arms with all three differences determine them; two rows against a common arm do not, unless the
variance of that arm is given. Where more is given than needed it must agree up to rounding, and is settled by
least squares: variances with equal weights, means with those that independent differences would need to say
the same as the arms, ``w_i·w_j/Σw`` with ``w = 1/v`` (star to mesh).

Arms are sorted by name and rows turned accordingly before anything is computed, so that results are the same
to the last bit whatever the order of the rows, and which side is called the reference.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import number, percent, printable
from noisewise.study.tables.wording import PYTHON, Wording

#: By which part of a standard error, or of its square, rows may disagree besides rounding, without a word ...
DISAGREEMENT = 1e-3
#: ... and at most: differences of standardised means, for instance, are nearly those of arms.
NEARLY = 0.1
#: The most of a standard error that differences may be off because they were rounded.
COARSEST = 0.5
#: Variances of arms below this part of the largest se² cannot be told from rounding.
NO_VARIANCE = 1e-12


class Contrast(NamedTuple):
    """A row of a study: the difference of two options with its standard error."""

    row: int  # in the table, from 1
    one: str
    other: str
    value: float
    se: float


class Arm(NamedTuple):
    """An option in a study: its mean, on a level that is the study's own, and the square of its error."""

    option: str
    value: float
    variance: float


class Arms(NamedTuple):
    """The arms of a study, and what is to be said about how they follow from its rows."""

    arms: list[Arm]
    notes: list[str]


class Rounding(NamedTuple):
    """How exactly the numbers of a table are written: a unit of the last place of values and errors."""

    value: float = 0.0
    se: float = 0.0


def arms_of(
    study: str,
    rows: Sequence[Contrast],
    known: Mapping[str, float] | None = None,
    rounding: Rounding = Rounding(),  # noqa: B008 - a tuple
    words: Wording = PYTHON,
) -> Arms:
    """The arms of one study, sorted by name; one sentence if there are none that fit its rows.

    Args:
        study: Its name, for messages.
        rows: Its differences; they must connect its arms.
        known: Variances of arms that are given.
        rounding: How exactly rows are written.
        words: How messages call what a person can say.
    """
    names = sorted({name for row in rows for name in (row.one, row.other)})
    place = {name: at for at, name in enumerate(names)}
    order = sorted(range(len(rows)), key=lambda k: _ends(rows[k], place))
    turn = np.array([1.0 if place[rows[k].one] < place[rows[k].other] else -1.0 for k in order])
    told = [rows[k] for k in order]
    design = np.zeros((len(told), len(names)))
    for at, row in enumerate(told):
        design[at, place[row.one]], design[at, place[row.other]] = turn[at], -turn[at]
    notes: list[str] = []
    variances = _variances(study, names, told, design, dict(known or {}), rounding, words, notes)
    value = turn * np.array([row.value for row in told])
    values = _values(study, told, design, value, variances, rounding, notes)
    arms = zip(names, values, variances, strict=True)
    return Arms([Arm(name, float(mean), float(variance)) for name, mean, variance in arms], notes)


def _ends(row: Contrast, place: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(sorted((place[row.one], place[row.other])))


def _variances(
    study: str,
    names: Sequence[str],
    rows: Sequence[Contrast],
    design: Floats,
    known: Mapping[str, float],
    rounding: Rounding,
    words: Wording,
    notes: list[str],
) -> Floats:
    """The variance of every arm, from everything that is given about them."""
    squares = np.array([row.se**2 for row in rows])
    shares = [np.abs(design)]  # each row: se² = Σ of what the arms share in it
    given = [squares]
    if known:
        shares.append(np.array([[float(name == arm) for arm in names] for name in known]))
        given.append(np.array(list(known.values())))
    equations, right = np.concatenate(shares), np.concatenate(given)
    found, _, rank, _ = np.linalg.lstsq(equations, right, rcond=None)
    if rank < len(names):
        raise ValueError(_without_shared_variance(study, names, rows, words))
    _check_variances(study, names, rows, found, float(squares.max()), words)
    off = equations @ found - right
    # An se that was rounded by half a unit is off by se times a unit in its square; two such make a residual.
    allowed = 2.0 * (DISAGREEMENT * squares.max() + rounding.se * math.sqrt(squares.max()))
    most = float(np.abs(off).max())
    if most > max(allowed, 0.0 if known else NEARLY * float(squares.max())):
        raise ValueError(
            f"study {printable(study)!r}: the standard errors of its {listed_rows(rows)} do not belong to "
            "one set of arms: each se² must be the sum of the variances of two. Look for a wrong one."
        )
    if most > allowed:
        part = percent(most / float(squares.max()), 1)
        notes.append(
            f"Study {printable(study)}: se² of its {listed_rows(rows)} are sums of the variances of two arms "
            f"up to {part}; the arms that fit best are used."
        )
    return np.asarray(found)


def _values(
    study: str,
    rows: Sequence[Contrast],
    design: Floats,
    value: Floats,
    variances: Floats,
    rounding: Rounding,
    notes: list[str],
) -> Floats:
    """The mean of every arm, around a weighted mean of 0."""
    weight = 1.0 / variances
    mesh = np.sqrt(np.prod(np.where(design != 0.0, weight, 1.0), axis=1) / weight.sum())
    means = np.linalg.lstsq(design * mesh[:, None], value * mesh, rcond=None)[0]
    off = design @ means - value
    worst, error = int(np.abs(off).argmax()), min(row.se for row in rows)
    # Three rows that are rounded by half a unit each close a triangle up to 1.5 units.
    # Whole numbers may be rounded ones, but not by much of a standard error.
    rounded = min(1.5 * rounding.value, COARSEST * error)
    allowed = DISAGREEMENT * error + rounded + 1e-9 * float(np.abs(value).max())
    if abs(off[worst]) > max(allowed, NEARLY * error):
        row = rows[worst]
        raise ValueError(
            f"study {printable(study)!r}: its differences do not add up: {printable(row.one)} - "
            f"{printable(row.other)} in row {row.row} contradicts "
            f"{listed_rows([o for o in rows if o != row])}. "
            "Look for a wrong number or sign; rows of different studies need different names of the study."
        )
    if abs(off[worst]) > min(allowed, NEARLY * error + 1e-9 * float(np.abs(value).max())):
        notes.append(
            f"Study {printable(study)}: the differences of its {listed_rows(rows)} add up only to within "
            f"{percent(abs(float(off[worst])) / error, 1)} of a standard error; they are averaged."
        )
    return np.asarray(means - float(weight @ means) / float(weight.sum()))


def connected(rows: Sequence[Contrast]) -> list[list[Contrast]]:
    """The rows in groups whose options hang together."""
    group: dict[str, str] = {}

    def root(name: str) -> str:
        while group.setdefault(name, name) != name:
            name = group[name]
        return name

    for row in rows:
        group[root(row.one)] = root(row.other)
    found: dict[str, list[Contrast]] = {}
    for row in rows:
        found.setdefault(root(row.one), []).append(row)
    return list(found.values())


def hub_of(rows: Sequence[Contrast]) -> str | None:
    """The option that all rows share, if there is just one such."""
    common = set.intersection(*({row.one, row.other} for row in rows))
    return next(iter(common)) if len(common) == 1 else None


def listed_rows(rows: Sequence[Contrast]) -> str:
    """Rows 3, 4 and 5."""
    numbers = [str(row.row) for row in sorted(rows)]
    if len(numbers) == 1:
        return f"row {numbers[0]}"
    return f"rows {', '.join(numbers[:-1])} and {numbers[-1]}"


def _without_shared_variance(
    study: str, names: Sequence[str], rows: Sequence[Contrast], words: Wording
) -> str:
    often = Counter(name for row in rows for name in (row.one, row.other))
    shared = hub_of(rows) or max(names, key=lambda name: often[name])
    given = {frozenset((row.one, row.other)) for row in rows}
    missing = next(
        f"{one} - {other}"
        for at, one in enumerate(names)
        for other in names[at + 1 :]
        if frozenset((one, other)) not in given and shared not in (one, other)
    )
    return (
        f"study {printable(study)!r} has {len(names)} arms, and its {listed_rows(rows)} have errors in "
        f"common that are not given: they share {printable(shared)}. Add the row {printable(missing)}, or a "
        f"column shared_se with the standard error of {printable(shared)}'s own mean, or give the arms "
        f"instead of their differences ({words.layout('arms')})."
    )


def _check_variances(
    study: str,
    names: Sequence[str],
    rows: Sequence[Contrast],
    found: Floats,
    largest: float,
    words: Wording,
) -> None:
    least = int(np.argmin(found))
    if found[least] > NO_VARIANCE * largest:
        return
    errors = ", ".join(f"{number(row.se, 6)} (row {row.row})" for row in sorted(rows))
    raise ValueError(
        f"study {printable(study)!r}: standard errors {errors} leave {printable(names[least])} a variance of "
        f"{number(float(found[least]))}, and each se² must be the sum of the variances of two arms. Look for "
        "a wrong standard error, give more digits, or give the arms instead of their differences "
        f"({words.layout('arms')})."
    )
