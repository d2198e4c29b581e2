"""Offsets that nobody named: of instruments, persons, days, or of the order in which things were told.

Measurements that share a label may share an offset. With offsets that have a flat prior, fitted as blocks,
and then a normal prior of the size s that suits them best, the likelihood is that of offsets drawn at random:

    -2·log L(blocks) + k·(log s² + 1) + log f,      k the offsets that were determined besides.

Where nothing is named, the order of telling is divided into runs of one offset each, by dynamic programming;
each change may stand anywhere, which costs 2·log N more. Differences have no offsets.
"""

import functools
import math
import re
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.words import counted, moment, number
from noisewise.study.certificate.causes.cause import OFFSETS, ORDER, Cause
from noisewise.study.certificate.causes.table import Rest, Table
from noisewise.study.log.measurements import NO_BLOCK, Codes, Columns

#: What measurements may have in common, as it is told, and how it is said.
LABELS = {
    "instrument": "Instruments differ by an offset: with the instrument as block=",
    "by": "Those who measured (by=) differ by an offset: with their names as block=",
    "note": "What has the same note= differs from the rest by an offset: with the note as block=",
    "key": "What has the same beginning of its key= differs from the rest by an offset: with that as block=",
    "day": "Days differ by an offset: with the day of at= as block=",
    "call": "What was told together differs from the rest by an offset: with one block= for each time",
    "repeat": (
        "First, second and further measurements of all options differ by an offset: with one block= for each "
        "round"
    ),
}
#: Degrees of freedom that must be left.
FEW = 5
#: Measurements in a run, and runs at most, as a part of the measurements.
SHORTEST, MOST_RUNS = 3, 0.25
#: Places where a run may begin.
MOST_PLACES = 1500


class Grouped(NamedTuple):
    """Measurements with other blocks."""

    rest: Rest
    deviance: float
    offsets: int  # how many more were determined


def labelled_offsets(table: Table) -> list[Cause]:
    """Offsets of everything that was told with the measurements, and is no block yet."""
    candidates = {what: codes for what, codes in labels_of(table).items() if _adds(table, codes)}
    found = []
    for what, codes in candidates.items():
        grouped = _grouped(table, codes)
        if grouped is None:
            continue
        rest = grouped.rest
        deviance = grouped.deviance + math.log(rest.freedom) + 2.0 * math.log(len(candidates))
        inside = ", within the blocks that there are," if _has_blocks(table.columns) else ""
        words = f"{LABELS[what]}{inside} the reduced chi-square is {number(rest.reduced)}. Tell it as block="
        words += " as well." if what in ("instrument", "by", "note", "key") else "."
        remedy: dict[str, Any] = {"block": what}
        found.append(Cause(OFFSETS, words, deviance, rest.reduced, rest.freedom, table.chance(rest), remedy))
    return found


def labels_of(table: Table) -> dict[str, Codes]:
    """Codes of what measurements have in common, by name."""
    columns = table.columns
    texts: dict[str, list[str]] = {name: table.label(name) for name in ("instrument", "by", "note")}
    texts["key"] = [key and _stem(key) for key in table.label("key")]
    day = functools.cache(lambda at: moment(float(at)).date().isoformat() if at else "")
    texts["day"] = [day(at) for at in table.told("at")]
    codes = {what: _coded(column) for what, column in texts.items()}
    if columns.moment is not None:
        codes["call"] = np.unique(columns.moment, return_inverse=True)[1]
    codes["repeat"] = _repeats(columns)
    return codes


def _stem(key: str) -> str:
    """What a key has before its last part or its last number."""
    return re.sub(r"[^/:_. -]*$", "", key) if re.search(r"[/:_. -]", key) else re.sub(r"\d+$", "", key)


def _coded(texts: list[str]) -> Codes:
    """In the order of the texts, each of which is compared once."""
    place = {text: code for code, text in enumerate(sorted(set(texts)))}
    return np.fromiter((place[text] for text in texts), np.int64, len(texts))


def _repeats(columns: Columns) -> Codes:
    """The how manieth of its option and block each is, in the order of telling."""
    order = np.lexsort((columns.number, columns.block, columns.plus))
    probe = columns.plus[order] * len(columns.blocks) + columns.block[order]
    fresh = np.ones(probe.size, dtype=bool)
    fresh[1:] = np.diff(probe) != 0
    starts = np.flatnonzero(fresh)
    codes: Codes = np.empty(probe.size, dtype=np.int64)
    codes[order] = np.arange(probe.size) - starts[np.cumsum(fresh) - 1]
    return codes


def _has_blocks(columns: Columns) -> bool:
    return any(columns.blocks[code] != NO_BLOCK for code in np.unique(columns.block))


def _adds(table: Table, codes: Codes) -> bool:
    """Whether these groups are few, and not the blocks that there are, or coarser."""
    level = table.columns.minus < 0
    groups = np.unique(codes[level]).size
    if not 2 <= groups <= 0.5 * level.sum():
        return False
    return np.unique(_crossed(table.columns, codes)[level]).size > np.unique(table.columns.block[level]).size


def _crossed(columns: Columns, codes: Codes) -> Codes:
    """Blocks divided further."""
    both = columns.block * (1 + int(codes.max())) + codes
    crossed: Codes = np.unique(both, return_inverse=True)[1].astype(np.int64)
    return crossed


def _grouped(table: Table, codes: Codes) -> Grouped | None:
    """The fit with blocks divided by these groups; None if it leaves too little to be judged."""
    crossed = _crossed(table.columns, codes)
    # A group's name is its number: sorted as text, as blocks are.
    names = [NO_BLOCK, *(f"{k:09d}" for k in range(1 + int(crossed.max())))]
    columns = table.columns._replace(block=crossed + 1, blocks=names)
    rest = table.fitted(columns, table.sigma)
    more = table.rest.freedom - rest.freedom
    if rest.freedom < FEW or more < 1:
        return None
    spread = _spread(table, rest, more)
    deviance = table.deviance_of(columns, table.bare) + more * (math.log(spread) + 1.0)
    return Grouped(rest, deviance, more)


def _spread(table: Table, rest: Rest, more: int) -> float:
    """The mean square of the offsets around those of the blocks there were before."""
    level = np.flatnonzero(table.columns.minus < 0)
    _, first, of_row = np.unique(rest.columns.block[level], return_index=True, return_inverse=True)
    offset = rest.offsets[level][first]
    before = table.columns.block[level][first] * (2 + int(rest.parts.max())) + rest.parts[level][first]
    before = np.unique(before, return_inverse=True)[1]
    weight = np.bincount(of_row, weights=table.sigma[level] ** -2.0)
    mean = np.bincount(before, weights=weight * offset) / np.bincount(before, weights=weight)
    least = 0.01 * float(np.median(table.sigma)) ** 2
    return max(float(np.sum((offset - mean[before]) ** 2)) / more, least)


def offsets_in_order(table: Table) -> Cause | None:
    """Offsets that change as time goes on, in the order of telling."""
    level = np.flatnonzero(table.columns.minus < 0)
    order = level[np.argsort(table.columns.number[level])]
    if order.size < 4 * FEW:
        return None
    left, best = table.rest.residuals[order], None
    for _ in range(3):  # what an option is estimated at depends on the offsets, and these on that
        starts = _runs(left, table.sigma[order])
        if starts.size < 2 or starts.size > MOST_RUNS * order.size:
            break
        codes = np.zeros(table.count, dtype=np.int64)
        codes[order] = np.searchsorted(starts, np.arange(order.size), side="right") - 1
        if not _adds(table, codes) or (grouped := _grouped(table, codes)) is None:
            break
        changes = starts.size - 1
        deviance = grouped.deviance + math.log(grouped.rest.freedom) + 2.0 * changes * math.log(order.size)
        if best is not None and deviance >= best[0]:
            break
        best = deviance, grouped.rest, order[starts[1:]]
        # What is left when options alone are taken off.
        left = (grouped.rest.residuals + grouped.rest.offsets)[order]
    return None if best is None else _order_cause(table, *best)


def _order_cause(table: Table, deviance: float, rest: Rest, first: Codes) -> Cause:
    names = [table.name(int(at)).rsplit(" of ", 1)[0] for at in first[:4]]
    more = f" and {len(first) - 4} more" if len(first) > 4 else ""
    said = (
        f"What was told one after the other agrees, and changes {counted(len(first), 'time')}: from "
        f"{', '.join(names)}{more} on. With a block= for each run the reduced chi-square is "
        f"{number(rest.reduced)}"
    )
    if _has_blocks(table.columns):
        said += ": conditions changed within your blocks as time went on; make the blocks shorter."
    else:
        said += ": conditions changed as time went on. Give block=, such as the day or the batch."
    remedy = {"block": "runs", "from": [int(table.columns.number[at]) for at in first]}
    rows = tuple(table.row(int(at)) for at in first[:4])
    return Cause(ORDER, said, deviance, rest.reduced, rest.freedom, table.chance(rest), remedy, rows)


def _runs(values: Floats, sigma: Floats) -> Codes:
    """Where runs of one offset each begin, the first at 0: the division with the largest likelihood.

    A run of weight W with offset b costs its squares around b, ``log(W·s²) + 1`` for an offset of size s, and
    2·log N for where it begins.
    """
    # At most so many places where a run may begin: of very many measurements, only some.
    step = math.ceil(values.size / MOST_PLACES)
    places = np.arange(0, values.size, step)
    unit = float(np.median(sigma))
    weight, scaled = (sigma / unit) ** -2.0, values / unit
    total = np.concatenate([[0.0], np.cumsum(np.add.reduceat(weight, places))])
    first = np.concatenate([[0.0], np.cumsum(np.add.reduceat(weight * scaled, places))])
    # One wrong value must not set the size of all offsets.
    size = max(1.0, float(np.quantile(np.abs(scaled), 0.7)) ** 2)
    each = 1.0 + math.log(size) + 2.0 * math.log(values.size)
    count, shortest = places.size, SHORTEST if step == 1 else 1
    best = np.full(count + 1, np.inf)
    best[0] = -each
    came_from = np.zeros(count + 1, dtype=np.int64)
    for end in range(shortest, count + 1):
        inside = total[end] - total[: end - shortest + 1]
        sums = first[end] - first[: end - shortest + 1]
        cost = best[: end - shortest + 1] - sums * sums / inside + np.log(inside)
        at = int(np.argmin(cost))
        best[end], came_from[end] = cost[at] + each, at
    starts, end = [], count
    while end > 0:
        end = int(came_from[end])
        starts.append(int(places[end]))
    return np.array(starts[::-1], dtype=np.int64)
