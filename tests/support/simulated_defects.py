"""Tables with a known defect, in worlds of many kinds, and whether the first advice names it.

A world has 4 to 60 options and 20 to 2000 measurements: of independent options, of weighted sums of
features, in blocks, or of differences. Error bars are equal or spread over up to a decade. Then one thing is
done wrong.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import noisewise as nw
from noisewise.core.blocks import Floats

#: The largest tables.
MOST_ROWS = 2000
WORLDS = ("independent", "linear", "blocks", "differences")
DEFECTS = (
    "bad row", "per cent row", "variance as se", "sd as se", "understated", "missing block",
)  # fmt: skip
#: The causes that name a defect.
NAMES = {
    "bad row": {"row", "unit"},
    "per cent row": {"unit"},
    "variance as se": {"variances"},
    "sd as se": {"overstated"},
    "understated": {"understated"},
    "missing block": {"order", "offsets"},
}


class Simulated(NamedTuple):
    """A table, told to a study."""

    study: nw.Study
    defect: str
    world: str
    wrong: int | None  # the number of the measurement that is wrong, if it is one
    equal: bool  # whether all error bars that were told are equal
    detail: str


class Draft:
    """A right table, before anything is done to it."""

    def __init__(
        self,
        rng: np.random.Generator,
        world: str,
        low: float,
        high: float,
        each: float,
        most_blocks: int = 40,
    ) -> None:
        self.rng, self.world = rng, world
        self.n = int(np.exp(rng.uniform(np.log(4), np.log(60.99))))
        most = MOST_ROWS
        while self.n * each > most:
            self.n //= 2
        self.rows = int(np.exp(rng.uniform(np.log(max(20.0, each * self.n)), np.log(most))))
        self.k = rng.permutation(np.arange(self.rows) % self.n)
        spread = rng.uniform(3.0, 10.0)
        ends = sorted((np.log(low * np.sqrt(spread)), np.log(high / np.sqrt(spread))))
        centre = np.exp(rng.uniform(*ends))
        self.equal = bool(rng.random() < 0.25)
        logs = np.zeros(self.rows) if self.equal else rng.uniform(-0.5, 0.5, self.rows) * np.log(spread)
        self.se: Floats = centre * np.exp(logs)
        self.features = rng.standard_normal((self.n, 3))
        if world == "linear":
            self.truth = centre * 10.0 + 3.0 * centre * self.features @ rng.standard_normal(3)
        else:
            self.truth = centre * (10.0 + rng.uniform(0.5, 6.0) * rng.standard_normal(self.n))
        self.minus = np.full(self.rows, -1)
        if world == "differences":
            self.minus = (self.k + rng.integers(1, self.n, self.rows)) % self.n
        self.block = np.zeros(self.rows, dtype=np.int64)
        if world == "blocks":
            self.block = rng.permutation(np.arange(self.rows) % max(2, min(most_blocks, self.rows // 8)))
        offsets = 5.0 * centre * rng.standard_normal(1 + int(self.block.max()))
        value = self.truth[self.k] - np.where(self.minus >= 0, self.truth[self.minus], 0.0)
        self.mean: Floats = value + (offsets[self.block] if world == "blocks" else 0.0)
        self.noise: Floats = rng.standard_normal(self.rows)
        self.centre = float(centre)
        self.columns: dict[str, list[str]] = {}

    @property
    def value(self) -> Floats:
        return self.mean + self.se * self.noise

    def told(self, value: Floats, se: Floats) -> nw.Study:
        """A study that was told this."""
        names = [f"o{k}" for k in range(self.n)]
        options: Any = names
        more: dict[str, Any] = {}
        if self.world == "linear":
            frame = {"id": names} | {f"x{j}": self.features[:, j] for j in range(3)}
            options, more = pl.DataFrame(frame), {"model": "linear"}
        study = nw.create_study(options=options, eps=self.centre, **more)
        rows: dict[str, Any] = {"value": value, "se": se, **self.columns}
        if self.world == "differences":
            rows["plus"] = [names[k] for k in self.k]
            rows["minus"] = [names[k] for k in self.minus]
        else:
            rows["option"] = [names[k] for k in self.k]
        if self.world == "blocks":
            rows["block"] = [f"b{b}" for b in self.block]
        study.tell_many(rows)
        return study


def clean(seed: int) -> nw.Study:
    """A table in which nothing is wrong."""
    rng = np.random.default_rng([seed, 99])
    draft = Draft(rng, WORLDS[int(rng.integers(4))], 0.05, 10.0, 2.0)
    return draft.told(draft.value, draft.se)


def simulate(defect: str, seed: int) -> Simulated:
    """A table with this defect, in a world drawn by the seed."""
    rng = np.random.default_rng([seed, DEFECTS.index(defect)])
    return _MAKE[defect](rng)


@contextmanager
def at_most(rows: int) -> Iterator[None]:
    """Small tables for a while."""
    global MOST_ROWS
    before, MOST_ROWS = MOST_ROWS, rows
    try:
        yield
    finally:
        MOST_ROWS = before


def _bad_row(rng: np.random.Generator) -> Simulated:
    draft = Draft(rng, str(rng.choice(WORLDS)), 0.05, 10.0, 3.0)
    value, at = draft.value, int(rng.integers(draft.rows))
    far = float(np.exp(rng.uniform(np.log(6.0), np.log(1000.0))) * rng.choice([-1.0, 1.0]))
    value[at] = draft.mean[at] + far * draft.se[at]
    study = draft.told(value, draft.se)
    return Simulated(study, "bad row", draft.world, at + 1, draft.equal, f"{far:.3g} se")


def _per_cent_row(rng: np.random.Generator) -> Simulated:
    draft = Draft(rng, str(rng.choice(["independent", "linear", "blocks"])), 0.005, 0.05, 3.0)
    # Shares: levels between 10 and 90 %, a few error bars apart.
    draft.mean = np.clip(rng.uniform(0.2, 0.8) + draft.mean - draft.mean.mean(), 0.05, 0.95)
    if draft.world == "linear":
        spread = 0.1 * draft.features @ rng.dirichlet(np.ones(3))
        draft.mean = (0.5 + spread)[draft.k]
    value, se, at = draft.value, draft.se.copy(), int(rng.integers(draft.rows))
    times = float(rng.choice([100.0, 0.01], p=[0.8, 0.2]))
    value[at] *= times
    both = bool(rng.random() < 0.5)
    if both:
        se[at] *= times
    study = draft.told(value, se)
    return Simulated(study, "per cent row", draft.world, at + 1, draft.equal, f"{times:g}{' with se' * both}")


def _variances(rng: np.random.Generator) -> Simulated:
    low, high = (0.05, 0.5) if rng.random() < 0.6 else (2.0, 10.0)
    draft = Draft(rng, str(rng.choice(WORLDS)), low, high, 3.0)
    # Error bars over the whole range, unless they are equal.
    if not draft.equal:
        draft.se = np.exp(rng.uniform(np.log(low), np.log(high), draft.rows))
    study = draft.told(draft.value, draft.se**2)
    return Simulated(study, "variance as se", draft.world, None, draft.equal, f"{low:g}-{high:g}")


def _standard_deviations(rng: np.random.Generator) -> Simulated:
    draft = Draft(rng, str(rng.choice(WORLDS)), 0.05, 10.0, 3.0)
    readings = np.full(draft.rows, float(rng.integers(4, 26)))
    if rng.random() < 0.4:
        readings = np.maximum(2.0, np.round(readings * np.exp(0.3 * rng.standard_normal(draft.rows))))
    study = draft.told(draft.value, draft.se * np.sqrt(readings))
    return Simulated(study, "sd as se", draft.world, None, draft.equal, f"n {readings.mean():.3g}")


def _understated(rng: np.random.Generator) -> Simulated:
    draft = Draft(rng, str(rng.choice(WORLDS)), 0.05, 10.0, 3.0)
    factor = rng.uniform(1.5, 4.0)
    study = draft.told(draft.value, draft.se / factor)
    return Simulated(study, "understated", draft.world, None, draft.equal, f"{factor:.2g}")


def _missing_block(rng: np.random.Generator) -> Simulated:
    # Few blocks, so that instruments divide blocks that are not small.
    draft = Draft(rng, str(rng.choice(["independent", "linear", "blocks"])), 0.05, 10.0, 3.0, 4)
    count = int(rng.integers(3, max(4, min(13, draft.rows // 5))))
    size = rng.uniform(2.0, 10.0)
    offsets = size * draft.centre * rng.choice([-1.0, 1.0], count) * rng.uniform(0.7, 1.3, count)
    offsets -= offsets.mean()
    how = str(rng.choice(["order", "instrument", "by"], p=[0.5, 0.25, 0.25]))
    if how == "order":
        day = np.sort(rng.integers(count, size=draft.rows))
    else:
        day = rng.integers(count, size=draft.rows)
        draft.columns[how] = [f"d{d}" for d in day]
    if np.ptp(offsets) < 2.0 * draft.centre:
        offsets[0] += 4.0 * size * draft.centre
    draft.mean = draft.mean + offsets[day]
    study = draft.told(draft.value, draft.se)
    return Simulated(
        study, "missing block", draft.world, None, draft.equal, f"{how}, {count} of size {size:.2g}"
    )


_MAKE: dict[str, Callable[[np.random.Generator], Simulated]] = {
    "bad row": _bad_row,
    "per cent row": _per_cent_row,
    "variance as se": _variances,
    "sd as se": _standard_deviations,
    "understated": _understated,
    "missing block": _missing_block,
}


def first_cause(made: Simulated) -> str:
    """What the first advice names: a kind of cause, or "nothing"."""
    causes = made.study.check().causes
    return causes[0].kind if causes else "nothing"


def names_it(made: Simulated) -> bool:
    """Whether the first advice names the defect, and the row if it is one."""
    causes = made.study.check().causes
    if not causes or causes[0].kind not in NAMES[made.defect]:
        # With equal error bars a common factor and extra scatter are the same.
        same = made.defect == "understated" and made.equal
        return bool(causes) and same and causes[0].kind == "scatter"
    if made.wrong is None:
        return True
    return bool(causes[0].rows) and causes[0].rows[0]["measurement"] == f"m-{made.wrong}"
