"""What each measurement was worth: its precision, what it taught, what it did to the bound."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_choice
from noisewise.core.parallel import spread
from noisewise.core.text import as_html, counted, number, percent
from noisewise.study.asking.pending import AsMeasured
from noisewise.study.asking.policy import unit_of
from noisewise.study.certificates.bound import recommend
from noisewise.study.log.amounts import amount
from noisewise.study.log.measurements import KINDS, NO_BLOCK, Codes, Columns
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import difference_errors
from noisewise.study.models.variance_components import Sizes
from noisewise.study.telling.error_bars import COUNTS, ITEMS
from noisewise.study.telling.scale import AS_TOLD, ValueScale

#: A measurement is a quiet one if its standard error is at most this part of the median.
QUIET = 0.5
#: Precisions are about the same if as many measurements at the average noise are fewer than these times more.
ALIKE = 1.02
#: Of the looks, one in so many is at a measurement that taught most.
TAUGHT = 8
#: Rows in words.
SHOWN = 5
GROUPS = ("block", "instrument", "option")
#: The quantile of the normal distribution for a probability of 80 %.
FOUR_IN_FIVE = 0.8416


@dataclass(frozen=True, eq=False)
class Worth:
    """The ledger: one row per measurement that counts, in the order of telling."""

    ledger: pl.DataFrame
    information: float  # the growth of the log-determinant, in nats
    precision: float
    equivalent: float  # as many measurements at the average noise would carry the same precision
    looks: int  # after how many measurements the bound was computed
    withheld: tuple[str, ...] = ()  # why there are no bounds, if the certificate is withheld
    scale: ValueScale = AS_TOLD  # how its numbers are shown
    amount: str = ""  # how much was measured, such as "450 answers"

    def by(self, what: str) -> pl.DataFrame:
        """The ledger summed by ``"block"``, ``"instrument"`` or ``"option"``."""
        check_choice("what", what, GROUPS)
        return (
            self.ledger.group_by(what, maintain_order=True)
            .agg(
                measurements=pl.len(),
                precision=pl.col("precision").sum(),
                precision_share=pl.col("precision_share").sum(),
                information=pl.col("information").sum(),
                share=pl.col("share").sum(),
            )
            .sort("share", descending=True, maintain_order=True)
        )

    def lines_by(self, what: str) -> list[str]:
        """The sums of `by` in words."""
        return [
            f"  {row[what] or f'no {what}'}: {counted(row['measurements'], 'measurement')}, "
            f"{percent(row['precision_share'], 1)} of the precision, {percent(row['share'], 1)} of what was "
            "learnt"
            for row in self.by(what).to_dicts()
        ]

    @property
    def sentence(self) -> str:
        """What unequal error bars are worth."""
        count = len(self.ledger)
        if not count:
            return "Nothing was measured yet."
        if count == 1:
            return "There is one measurement so far."
        if self.equivalent < ALIKE * count:
            inside = "" if self.amount.startswith(f"{count:,} ") else f", in {count:,} measurements,"
            return f"Your {self.amount}{inside} carry about the same precision each."
        as_many = f"as much information as {number(self.equivalent)} at the average noise"
        text = f"Your {count:,} measurements carry {as_many}"
        quiet = self.ledger.filter("quiet")
        if quiet.is_empty():
            return f"{text}."
        part = float(quiet["precision_share"].sum())
        those = "the quietest holds" if len(quiet) == 1 else f"the {len(quiet):,} quietest hold"
        return f"{text}; {those} {percent(part, 1)} of all precision."

    def __str__(self) -> str:
        lines = [self.sentence]
        top = self.ledger.sort("share", descending=True, maintain_order=True)[:SHOWN]
        if len(top):
            bounded = not self.withheld and top["bound_after"].is_not_null().any()
            bounds = "; bound before and after" if bounded else ""
            lines.append(f"Worth most (share of what was learnt{bounds}):")
        for row in top.to_dicts():
            what = row["option"] if row["minus"] is None else f"{row['option']} - {row['minus']}"
            error = f"{row['sigma']:.3g}"
            if self.scale.log:
                error = self.scale.error(row["sigma"] / row["value"])
            said = f"  {row['id']} {what} ± {error}: {percent(row['share'], 1)}"
            if not self.withheld and row["bound_after"] is not None:
                before, after = row["bound_before"], self.scale.short(row["bound_after"])
                said += (
                    f", first bound {after}" if before is None else f", {self.scale.short(before)} to {after}"
                )
            lines.append(said)
        for what in ("instrument", "block"):
            if self.ledger[what].is_not_null().any():
                lines += [f"By {what}:", *self.lines_by(what)[:SHOWN]]
        if self.withheld:
            lines.append(
                f"No bounds are shown, since the certificate is withheld: {'; '.join(self.withheld)}."
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html("Worth", str(self).splitlines())


def find_worth(analysis: Analysis, looks: int, withheld: tuple[str, ...] = ()) -> Worth:
    """The ledger of the measurements that count.

    Args:
        analysis: What is known.
        looks: After how many of them to look at the bound, at most.
        withheld: Why there is no certificate: then there are no bounds either.
    """
    columns, state, scale = analysis.columns, analysis.state, analysis.specification.value_scale
    told_values = scale.undone(columns.value)
    sigma = analysis.sigmas.estimated
    precision = sigma**-2.0
    learnt = information(analysis)
    places = look_places(learnt, looks) if not withheld else np.zeros(0, dtype=np.int64)
    before, after = _bounds(analysis, places)
    told = [state.told[number - 1] for number in columns.number]
    ledger = pl.DataFrame(
        {
            "id": [f"m-{number}" for number in columns.number],
            "option": [body["option"] for body in told],
            "minus": [body.get("minus") for body in told],
            "value": told_values,
            "sigma": sigma * told_values if scale.log else sigma,
            "block": [body.get("block") for body in told],
            "instrument": [body.get("instrument") for body in told],
            "quiet": sigma <= QUIET * np.median(sigma) if sigma.size else np.zeros(0, dtype=bool),
            "precision": precision,
            "precision_share": precision / precision.sum(),
            "information": learnt,
            "share": learnt / learnt.sum(),
            "bound_before": before,
            "bound_after": after,
        },
        schema_overrides={name: pl.String for name in ("id", "option", "minus", "block", "instrument")},
    )
    return Worth(
        ledger=ledger.with_columns(pl.col("bound_before", "bound_after").fill_nan(None)),
        information=float(learnt.sum()),
        precision=float(precision.sum()),
        equivalent=float(np.mean(sigma**2) * precision.sum()) if sigma.size else 0.0,
        looks=places.size,
        withheld=withheld,
        scale=scale,
        amount=amount(state, columns),
    )


def look_places(learnt: Floats, most: int) -> Codes:
    """After which measurements to look: all, or geometrically, and around those that taught most."""
    count = learnt.size
    if count <= most:
        return np.arange(1, count + 1)
    looks = max(2, most // 2)
    geometric = np.unique(np.geomspace(1, count, looks).round().astype(np.int64))
    taught = np.argsort(-learnt, kind="stable")[: most // TAUGHT] + 1
    places = np.unique(np.concatenate([taught, taught - 1, geometric]))
    return places[places > 0]


def bound_after(analysis: Analysis, count: int) -> float:
    """The bound when the first ``count`` measurements had come in, a misfit apart; NaN if there was none."""
    return _Past(analysis.state, analysis.columns, analysis.sizes).bound(count)


class _Past(NamedTuple):
    """The study at earlier moments, with the sizes that are estimated now."""

    state: State
    columns: Columns
    sizes: Sizes

    def bound(self, count: int) -> float:
        """The bound when the first ``count`` measurements had come in."""
        some = self.columns.select(np.arange(self.columns.value.size) < count)
        found = recommend(AsMeasured(self.state, some, self.sizes))
        return math.nan if found is None or math.isinf(found.bound) else found.bound


def _bounds(analysis: Analysis, places: Codes) -> tuple[Floats, Floats]:
    """The bound before and after every measurement, (N,) each; NaN where it was not computed or is none."""
    bounds = np.full(analysis.columns.value.size + 1, np.nan)
    past = _Past(analysis.state, analysis.columns, analysis.sizes)
    for place, bound in spread(past.bound, places.tolist(), label="computing bounds"):
        bounds[place] = bound
    return bounds[:-1], bounds[1:]


class _Books:
    """What is known of every option while the measurements come in; in units of half the span.

    With V the precision of all unknowns (a prior as wide as half the span included), a measurement of row x
    with standard error σ raises ``log det V`` by ``log(1 + xᵀV⁻¹x/σ²)``. In any order these add up to the
    same total.

    Unknowns that only meet in measurements by way of others are leaves, kept one by one; everything else is
    the border u, kept as a square root S of its covariance (Potter's form, which does not lose digits when
    sigmas differ by many decades). A measurement has one leaf at most:

        value = leaf + <rest, u>,   leaf = own part (variance ``own``) + <load, u>,   u with covariance SSᵀ.

    The border holds the features' weights and the options that were compared. Options and blocks meet in
    measurements: the smaller group joins the border, the other one becomes leaves. So a measurement costs the
    square of the smaller number, however many there are of the other.
    """

    def __init__(self, analysis: Analysis) -> None:
        columns, n = analysis.columns, analysis.n
        level = columns.minus < 0
        names = [columns.blocks[code] != NO_BLOCK for code in range(len(columns.blocks))]
        in_block = level & np.array(names, dtype=bool)[columns.block]
        blocks = np.unique(columns.block[in_block])
        seated = np.unique(np.concatenate([columns.plus[~level], columns.minus[~level]]))
        # What an option has for itself: all of its value, its deviation, or nothing.
        alone, self._shared = analysis.model.prior_parts(analysis.sizes.deviation / unit_of(analysis))
        with_blocks = np.union1d(seated, columns.plus[in_block])
        #: Whether blocks are leaves; else the options are.
        self._block_leaves = alone == 0.0 or with_blocks.size - seated.size < blocks.size
        if self._block_leaves:
            seated = with_blocks
        shared = self._shared.shape[1]
        if alone == 0.0:
            seated = seated[:0]
        self.own = np.full(n + len(columns.blocks), alone**2)
        self.own[seated] = 0.0
        self.own[n:] = 1.0
        self._n, self._alone = n, alone
        self._seats = {int(option): shared + place for place, option in enumerate(seated)}
        self.places = {int(block): shared + seated.size + place for place, block in enumerate(blocks)}
        self.size = shared + seated.size + (0 if self._block_leaves else blocks.size)
        self.root = np.eye(self.size)
        self.loads: dict[int, Floats] = {}  # of the leaves that were measured, and of options

    def load(self, option: int) -> Floats:
        """How an option depends on the border, (size,)."""
        if option not in self.loads:
            load = np.zeros(self.size)
            load[: self._shared.shape[1]] = self._shared[option]
            if option in self._seats:
                load[self._seats[option]] = self._alone
            self.loads[option] = load
        return self.loads[option]

    def learn(self, plus: int, minus: int, block: int, sigma: float) -> float:
        """Take in one measurement; returns by how much the log-determinant grew."""
        if self.size == 0 and not self.places:
            return self._learn_alone(plus, sigma)
        leaf, rest = plus, np.zeros(self.size)
        if minus >= 0:
            rest = -self.load(minus)
        elif (place := self.places.get(block)) is not None:
            if self._block_leaves:
                leaf, rest = self._n + block, self.load(plus)
            else:
                rest[place] = 1.0
        load = self.load(leaf) if leaf < self._n else self.loads.get(leaf, np.zeros(self.size))
        row = load + rest
        noise, own = sigma * sigma, float(self.own[leaf])
        along = row @ self.root
        shared, alone = float(along @ along), noise + own
        share = 1.0 / (shared + alone)
        step = share / (1.0 + math.sqrt(alone * share))
        self.root -= np.outer(step * (self.root @ along), along)
        if own > 0.0:
            # Given u, the own part was measured at value - <row, u>: u now explains less of the leaf.
            kept = noise / alone
            self.loads[leaf] = kept * load - (1.0 - kept) * rest
            self.own[leaf] = own * kept
        return math.log1p((shared + own) / noise)

    def _learn_alone(self, option: int, sigma: float) -> float:
        """Learn where nothing is shared: equal to the last bit to the general case, and faster."""
        noise, own = sigma * sigma, float(self.own[option])
        if own > 0.0:
            self.own[option] = own * (noise / (noise + own))
        return math.log1p(own / noise)


def information(analysis: Analysis) -> Floats:
    """What each measurement taught, in nats, in the order of telling, (N,)."""
    columns = analysis.columns
    sigma = analysis.sigmas.estimated / unit_of(analysis)
    books = _Books(analysis)
    rows = zip(
        columns.plus.tolist(), columns.minus.tolist(), columns.block.tolist(), sigma.tolist(), strict=True
    )
    return np.array([books.learn(*row) for row in rows])


class Resolution(NamedTuple):
    """The smallest difference that would be told apart in four of five studies like this one."""

    difference: float  # on the scale that is computed with
    text: str  # in a sentence


def resolution_of(
    analysis: Analysis, option: str | None, count: str | None = None, such: str = "studies"
) -> Resolution | None:
    """Which differences to an option can be told apart; None where nothing is bounded.

    A difference is told apart if its estimate, which has a standard error, exceeds the half-width.
    So four of five studies tell apart a difference of the half-width and 0.84 standard errors.

    Args:
        analysis: The fits.
        option: The recommended option.
        count: What there is, in words; default: the measurements.
        such: What there are four of five of.
    """
    if option is None or analysis.sigmas.waiting or analysis.specification.noise is not None:
        return None
    at = analysis.state.index[option]
    half = analysis.boundary.half_widths(at)
    others = analysis.state.allowed() & np.isfinite(half)
    others[at] = False
    if not others.any():
        return None
    errors = _paired(analysis, at) if (analysis.columns.kind == KINDS.index(ITEMS)).all() else None
    errors = difference_errors(analysis.certified, at) if errors is None else errors
    apart = float(np.median((half + FOUR_IN_FIVE * np.nan_to_num(errors))[others]))
    if not math.isfinite(apart) or apart <= 0.0:
        return None
    scale, kinds = analysis.specification.value_scale, set(np.unique(analysis.columns.kind).tolist())
    far = scale.amount(apart)
    shares = kinds == {KINDS.index(COUNTS)} or (kinds == {KINDS.index(ITEMS)} and _right_or_wrong(analysis))
    if shares:
        far = f"{number(100.0 * apart, 2)} percentage points"
    with_this = count or _items(analysis) or f"these {amount(analysis.state, analysis.columns)}"
    return Resolution(
        apart,
        f"Resolution: {with_this} can tell apart options that differ by {far} (in 4 of 5 such {such}).",
    )


def _items(analysis: Analysis) -> str | None:
    if not (analysis.columns.kind == KINDS.index(ITEMS)).all():
        return None
    seen = [analysis.state.items.of(int(k)).prefix for k in np.flatnonzero(analysis.state.allowed())]
    return f"these {int(np.median(seen)):,} items"


def _paired(analysis: Analysis, at: int) -> Floats:
    """Standard errors of the means of paired differences to an option, (n,)."""
    items, errors = analysis.state.items, np.full(analysis.n, np.nan)
    for other in range(analysis.n):
        count = min(items.of(at).prefix, items.of(other).prefix)
        if count > 1:
            apart = items.of(at).values[:count] - items.of(other).values[:count].astype(np.float64)
            errors[other] = items.width * float(np.std(apart, ddof=1)) / math.sqrt(count)
    return errors


def _right_or_wrong(analysis: Analysis) -> bool:
    items = analysis.state.items
    return items.width == 1.0 and all(items.of(k).values.dtype == np.int8 for k in items.options)
