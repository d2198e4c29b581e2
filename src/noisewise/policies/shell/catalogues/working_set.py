"""The working set: the widest rows of a catalogue, on which a rule plays exactly until they are wide no more.

V only grows, so widths only fall. A pass over the catalogue brings its widest rows and a cut that no other
row exceeds; while the widest row here is above the cut, it is the widest of all. Rows that stay wide stay
here, and a pass brings only rows that are not.
"""

import math
import uuid
import weakref
from typing import Any, Self

import numpy as np

from noisewise.actions.catalogue.catalogue import Catalogue
from noisewise.actions.catalogue.files import evenly
from noisewise.actions.catalogue.kept import Course, forget
from noisewise.actions.catalogue.passes import Indices, Norm
from noisewise.actions.catalogue.widest import (
    TieQuestion,
    WidestAnswer,
    WidestQuestion,
    exact_widths,
    first_exactly,
    widest_exactly,
    widest_rows,
)
from noisewise.core.choice.selection import TIE, Mask, first_largest
from noisewise.core.model.dense import (
    LOG_DET,
    DenseModel,
    Floats,
    copy_model,
    fold,
    new_dense,
    refresh_all,
    theta,
)
from noisewise.core.model.factor import solve_lower, solve_upper
from noisewise.core.model.vectors import place, spread

#: The share of the catalogue that a pass brings at most, and never fewer rows than FEWEST nor more than
#: MOST: every round looks at all rows at hand, which are at most HELD times as many.
BROUGHT, FEWEST, MOST = 1 / 200, 2000, 100_000
HELD = 4
#: The place for a vector that is spoken of and not held.
SLOT = 0
#: What a model knows beside what it knows of each row.
SHARED = ("factor", "pivots", "reciprocals", "centre", "tally")


class WorkingRows:
    """The model on some rows of a catalogue, and a bound on the widths of all others.

    ``index`` has the row numbers in ascending order after the slot, so that of equally wide rows the first
    wins.
    """

    def __init__(self, catalogue: Catalogue, ridge: float) -> None:
        self.catalogue, self.ridge = catalogue, ridge
        self.scale = catalogue.max_norm**2 / ridge or 1.0
        share = math.ceil(catalogue.n_actions * BROUGHT)
        self.brought = min(catalogue.n_actions, max(FEWEST, min(share, MOST)))
        self.held = HELD * self.brought
        self.index: Indices = np.array([-1])
        self.model = new_dense(np.zeros((1, catalogue.dim)).T, ridge)
        self._begin_run()

    def _begin_run(self) -> None:
        """Nothing is known of the rows that are not here."""
        self.cut, self.going_on = math.inf, True
        self.run = uuid.uuid4().hex
        self._log_det = -math.inf
        self._steps: list[Floats] = []  # by which widths fell since the pass before the last
        self._begin = 0
        weakref.finalize(self, forget, self.run)

    def begin_again(self) -> None:
        """Measurements were taken back: V shrank, old widths bound nothing, the next question is a pass."""
        forget(self.run)
        self._begin_run()
        # The widths at hand are those of the old V.
        self._take_over(np.empty(0, np.int64), np.empty((0, self.catalogue.dim)))

    def copy(self) -> Self:
        """An independent copy, which goes its own way: what shards keep for this one is not for it."""
        twin = self._beside()
        twin._begin_run()
        twin.cut = self.cut
        return twin

    def imagined(self) -> Self:
        """A copy for a moment, in which V may grow by what is only expected; it leaves no trace on shards."""
        twin = self._beside()
        twin.going_on = False
        return twin

    def _beside(self) -> Self:
        twin: Self = object.__new__(type(self))
        vars(twin).update(vars(self))
        model = copy_model(self.model)
        # The slot is written to: the columns are no longer shared.
        twin.model = model._replace(columns=np.array(self.model.columns.T).T)
        twin._steps = list(self._steps)
        return twin

    def vector(self, row: int) -> Floats:
        """A row in float64, from here if it is here."""
        at = self._place_of(row)
        if at is not None:
            return np.array(self.model.columns[:, at])
        return np.array(self.catalogue.take([row])[0])

    def learn(self, row: int, vector: Floats, reward: float, sigma: float) -> None:
        """One measurement of a row, here or not."""
        # Widths lose <s, a>² with s = V⁻¹b/√(σ² + ‖b‖²), for the measured b.
        half = solve_lower(self.model, vector)
        weighted = half * self.model.reciprocals
        variance = sigma * sigma + float(half @ weighted)
        self._steps.append(solve_upper(self.model, weighted) / math.sqrt(variance))
        fold(self.model, self.at(row, vector), reward, sigma)

    def at(self, row: int, vector: Floats) -> int:
        """The place of a row in the model; one that is not here is put into the slot."""
        at = self._place_of(row)
        if at is None:
            place(self.model, vector)
            return SLOT
        return at

    def squared_widths_of(self, rows: Floats) -> Floats:
        """The exact squared widths of some vectors."""
        return exact_widths(rows, self._ties(0.0))

    def _place_of(self, row: int) -> int | None:
        at = int(np.searchsorted(self.index, row))
        return at if at < len(self.index) and self.index[at] == row else None

    def everyone(self) -> Mask:
        """All places but the slot."""
        mask = np.ones(len(self.index), np.bool_)
        mask[SLOT] = False
        return mask

    def widest(self) -> int:
        """The widest row of the catalogue, of equally wide ones the first."""
        self._check_growth()
        for _ in range(2):
            top, low = self._top()
            if top >= 0 and low > self.cut:
                return int(self.index[top])
            self.renew()
        top, low = self._top()
        return int(self.index[top]) if low > self.cut else self._first_of_ties(low)

    def largest_squared_width(self) -> float:
        """That of the widest row of the catalogue."""
        self._check_growth()
        top, _ = self._top()
        if top < 0 or self.model.squared_widths[top] <= self.cut:
            self.renew()
            top, _ = self._top()
        largest = float(self.model.squared_widths[top])
        if largest <= self.cut:
            largest = max(largest, *self.catalogue.every(widest_exactly, self._ties(largest)))
        return largest

    def width_limit(self) -> float:
        """A width that no row exceeds, without asking anybody."""
        here = float(self.model.squared_widths[1:].max(initial=0.0))
        return math.sqrt(min(max(here, self.cut), self.scale))

    def _top(self) -> tuple[int, float]:
        """The place of the widest row here, and what still ties with it; -1 if there is none."""
        if len(self.index) == 1:
            return -1, -math.inf
        everyone = self.everyone()
        top = first_largest(self.model.squared_widths, everyone)
        return top, float(self.model.squared_widths[1:].max()) * (1.0 - TIE)

    def _check_growth(self) -> None:
        """A guard: where log det V fell, V shrank, and the cut means nothing."""
        grown = float(self.model.tally[LOG_DET])
        if grown < self._log_det and self.going_on:
            self.begin_again()
        self._log_det = max(self._log_det, grown) if self.going_on else self._log_det

    def norm(self) -> Norm:
        """The norm of V⁻¹, for shards."""
        return Norm(spread(self.model), self.catalogue.max_norm, self.scale)

    def course(self) -> Course:
        """How far the run has come, for shards that keep bounds."""
        dim, steps = self.catalogue.dim, np.array(self._steps).reshape(-1, self.catalogue.dim)
        top = float(self.model.squared_widths[1:].max(initial=0.0))
        course = Course(self.norm(), steps, self._begin, top, self.run, self.going_on)
        if len(steps) > dim:
            # Shards that have not looked at all rows for so long do it afresh.
            self._begin += len(steps) - dim
            self._steps = self._steps[-dim:]
        return course

    def renew(self) -> None:
        """A pass: rows that are wide and not here, and a new cut."""
        shards, course, known = self.catalogue.shards, self.course(), self.index[1:]
        questions = [
            (WidestQuestion(course, _within(known, shard), int(most)),)
            for shard, most in zip(shards, evenly(self.brought, shards), strict=True)
        ]
        answers: list[WidestAnswer] = self.catalogue.each(widest_rows, questions)
        self.catalogue.returned += sum(found.rows.nbytes + found.numbers.nbytes for found in answers)
        self._hold(answers)

    def _hold(self, answers: list[WidestAnswer]) -> None:
        """Old rows that are still wide, and the new ones, as a model with exact widths and means."""
        cut = max(found.cut for found in answers)
        old = np.flatnonzero(self.model.squared_widths[1:] > cut) + 1
        index = np.concatenate([self.index[old], *(found.numbers for found in answers)])
        rows = np.concatenate(
            [self.model.columns.T[old], *(np.asarray(found.rows, np.float64) for found in answers)]
        )
        self._take_over(index, rows)
        widths = self.model.squared_widths[1:]
        if len(widths) > self.held:
            # The narrowest leave; the cut is what they would have.
            order = np.argpartition(widths, len(widths) - self.held)
            cut = max(cut, float(widths[order[: len(widths) - self.held]].max()))
            kept = np.flatnonzero(widths > cut) + 1
            if len(kept):
                self._take_over(self.index[kept], np.asarray(self.model.columns.T[kept], np.float64))
        self.cut = cut

    def _take_over(self, index: Indices, rows: Floats) -> None:
        order = np.argsort(index)
        held = np.empty((len(index) + 1, self.catalogue.dim))
        held[0], held[1:] = 0.0, rows[order]
        self.index, self.model = np.concatenate([[-1], index[order]]), self.model_of(held)

    def model_of(self, rows: Floats) -> DenseModel:
        """What is known, on other rows: a model of its own."""
        model = new_dense(rows.T, self.ridge)
        for name in SHARED:
            getattr(model, name)[...] = getattr(self.model, name)
        refresh_all(model)
        model.means[:] = rows @ theta(model)
        return model

    def _ties(self, low: float) -> TieQuestion:
        dim = self.catalogue.dim
        upper = np.asfortranarray(self.model.factor[:, :dim])
        return TieQuestion(upper, self.model.reciprocals, self.norm(), low, self.run)

    def _first_of_ties(self, low: float) -> int:
        """The first of the widest rows, where there are more of them than a pass brings."""
        widest = self.catalogue.every(widest_exactly, self._ties(low))
        low = max(low, max(widest) * (1.0 - TIE))
        here = np.flatnonzero(self.model.squared_widths[1:] >= low)
        first = int(self.index[1 + here[0]]) if len(here) else self.catalogue.n_actions
        for shard, top in zip(self.catalogue.shards, widest, strict=True):
            if top >= low and shard.first < first:
                found = self.catalogue.asked_alone(first_exactly, shard, self._ties(low))
                if 0 <= found < first:
                    return int(found)
        return first


def _within(index: Indices, shard: Any) -> Indices:
    first, last = np.searchsorted(index, (shard.first, shard.first + shard.count))
    return index[first:last]
