"""VAGE on a catalogue: leader, races and what settles them are found among the few rows that passes bring.

The verbs of the rule are used as they are, on a model of these rows alone; a bound on all other rows says
whether they would have changed the answer, and if so more rows are asked for. What settles the races best is
found in a pass, a few products per row; leader and rivals are at hand in most rounds (`Leaders`).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from noisewise.actions.catalogue.files import evenly
from noisewise.actions.catalogue.gains import GainQuestion, highest_gains
from noisewise.actions.catalogue.lowers import LowerQuestion
from noisewise.core.choice.selection import TIE
from noisewise.core.model.covariances import CANCELLED
from noisewise.core.model.dense import DenseModel, Floats, theta
from noisewise.core.model.factor import solve_lower, solve_upper
from noisewise.policies.rules.ours.vage.leaders import BROUGHT, FIRST_MOST, MORE, Leaders
from noisewise.policies.rules.ours.vage.ledgers import are_due, enter
from noisewise.policies.rules.ours.vage.noise_history import (
    NoiseHistory,
    average_variance,
    new_history,
    observe,
)
from noisewise.policies.rules.ours.vage.races import BEHIND, NEGLIGIBLE, RACES, closest_races
from noisewise.policies.rules.ours.vage.settlement import most_settling
from noisewise.policies.rules.ours.vage.sketch import make_sketch
from noisewise.policies.shell.catalogues.player import TOGETHER, Board, Player, widest_among
from noisewise.policies.shell.catalogues.working_set import WorkingRows

#: If no more rows than this are left, all of them are looked at.
AT_HAND = 50_000
#: Reaches that differ by less than this share are the same.
SAME = 1e-12
#: No sketch: the rows looked at are few.
NO_SKETCH = make_sketch(np.zeros((1, 1)))


class Few(NamedTuple):
    """A few rows, ascending, with a model of them."""

    numbers: NDArray[np.int64]
    model: DenseModel


class VagePlayer(Player):
    """The rule on a catalogue; the history of the noise has a place for each row that was measured."""

    eliminates = True

    def __init__(self, params: Any, usual_reach: Callable[[Any, Any], float]) -> None:
        super().__init__(params)
        self.ledgers = np.zeros(5)
        self.places: dict[int, int] = {}
        self.noise = new_history(16)
        self._usual_reach = usual_reach
        self._leaders = Leaders()

    def copy(self) -> Self:
        """An independent copy."""
        twin = super().copy()
        twin.ledgers, twin.places = self.ledgers.copy(), dict(self.places)
        twin.noise = NoiseHistory(*(part.copy() for part in self.noise))
        twin._leaders = self._leaders.copy()
        return twin

    def book(self, working: WorkingRows, row: int, sigma: float) -> None:
        """Both ledgers, and the noise."""
        own = float(working.squared_widths_of(working.vector(row)[None, :])[0])
        enter(self.ledgers, max(own, working.largest_squared_width()), own, sigma)
        if row not in self.places:
            self.places[row] = len(self.places)
            if len(self.places) > len(self.noise.counts):
                self._make_room()
        observe(self.noise, self.places[row], sigma)

    def _make_room(self) -> None:
        known, room = self.noise, new_history(2 * len(self.noise.counts))
        for old, new in zip(known[:4], room[:4], strict=True):
            new[: len(old)] = old
        self.noise = room._replace(tally=known.tally)

    def choose(self, board: Board, sigma: float) -> int:
        """What settles the closest races, or the widest row if a ledger says so."""
        return self._choose(board, None, sigma)

    def choose_among(self, board: Board, rows: NDArray[np.int64], sigma: float) -> int:
        """The same if only some rows are allowed."""
        return self._choose(board, rows, sigma)

    def _choose(self, board: Board, allowed: NDArray[np.int64] | None, sigma: float) -> int:
        working = board.working
        if not are_due(self.ledgers, self.params.share, self.limits.rank):
            few, leader, rivals, weights = self._races(board)
            if weights[0] > 0.0:
                races = _steps(few, leader, rivals, weights)
                row = self._settling(board, few, (leader, rivals, weights, races), allowed, sigma)
                if row >= 0:
                    return row
        board.keep_up()
        return working.widest() if allowed is None else widest_among(working, allowed)

    def _races(self, board: Board) -> tuple[Few, int, NDArray[np.int64], Floats]:
        """The leader and its rivals as rows of a few, and what each race counts."""
        working, leaders = board.working, self._leaders
        reach = wanted = self._usual_reach(self.params, self)
        row, leader = leaders.first(board, wanted)
        most, root = FIRST_MOST, working.norm().root
        while True:
            found = leaders.rivals(working, leader, reach, most)
            few = _few(working, np.append(found.numbers, row), np.vstack([found.rows, leader[None, :]]))
            at = int(np.searchsorted(few.numbers, row))
            rows = np.asarray(few.model.columns.T, np.float64)
            alive, differ = board.alive(rows), rows - leader
            widths = np.linalg.norm(differ @ root, axis=1)
            terms = few.model.squared_widths + few.model.squared_widths[at]
            rival = alive & (widths**2 > 2.0 * CANCELLED * terms)
            rival[at] = False
            if not rival.any() and leaders.look_further(working, wanted):
                continue
            rivals, weights = np.empty(RACES, np.int64), np.empty(RACES)
            closest_races(few.model, NO_SKETCH, alive, at, wanted, rivals, weights)
            if not rival.any() and len(survivors := board.survivors()) <= AT_HAND:
                return self._races_among(working, survivors, row)
            leads = differ[rival] @ theta(working.model)
            if len(few.numbers) >= working.catalogue.n_actions:
                return few, at, rivals, weights
            # If all are beaten the reach grows until the closest is not; sought from above, it only falls.
            aim = max(wanted, least_reach(leads, widths[rival])) if rival.any() else reach
            if abs(aim - reach) > SAME * reach:
                reach = aim
            elif rival.any() and _settled(leads, widths[rival], found.cut, reach):
                leaders.settled()
                return few, at, rivals, weights
            elif not leaders.look_further(working, wanted):
                most *= MORE

    def _races_among(
        self, working: WorkingRows, survivors: NDArray[np.int64], row: int
    ) -> tuple[Few, int, NDArray[np.int64], Floats]:
        """The same where few are left: all of them are looked at."""
        numbers = np.union1d(survivors, [row])
        few = Few(numbers, working.model_of(_taken(working, numbers)))
        at, alive = int(np.searchsorted(numbers, row)), np.isin(numbers, survivors)
        rivals, weights = np.empty(RACES, np.int64), np.empty(RACES)
        closest_races(few.model, NO_SKETCH, alive, at, self._usual_reach(self.params, self), rivals, weights)
        return few, at, rivals, weights

    def _settling(
        self,
        board: Board,
        few: Few,
        race: tuple[int, NDArray[np.int64], Floats, Floats],
        allowed: NDArray[np.int64] | None,
        sigma: float,
    ) -> int:
        """The row whose measurement takes most off the variances of the races; -1 if none does."""
        working, (leader, rivals, weights, steps) = board.working, race
        names = few.numbers[rivals], int(few.numbers[leader])
        known = np.asarray(few.model.columns.T, np.float64)
        variance = average_variance(self.noise) if math.isnan(sigma) else sigma * sigma
        told = np.array(sorted(self.places), dtype=np.int64)
        most = BROUGHT
        while True:
            cut = -math.inf
            if allowed is None:
                asked = GainQuestion(working.course(), steps, variance, most)
                numbers, rows, cut = _gainers(board, asked)
                menu = np.union1d(numbers, told)
            else:
                menu, numbers, rows = allowed, allowed, _taken(working, allowed)
            # What was measured is always there: its sigmas say what others will be.
            all_few = _few(
                working,
                np.concatenate([numbers, told, few.numbers]),
                np.vstack([rows, working.catalogue.take(told), known]),
            )
            action, gain = self._most_settling(all_few, menu, names, weights, steps, sigma)
            enough = gain * (1.0 - TIE) > cut or len(menu) >= working.catalogue.n_actions
            if enough:
                return int(all_few.numbers[action]) if action >= 0 else -1
            most *= MORE

    def _most_settling(
        self,
        few: Few,
        menu: NDArray[np.int64],
        names: tuple[NDArray[np.int64], int],
        weights: Floats,
        steps: Floats,
        sigma: float,
    ) -> tuple[int, float]:
        """The rule's own choice among a few rows, and what it gains."""
        rivals = np.searchsorted(few.numbers, names[0])
        leader = int(np.searchsorted(few.numbers, names[1]))
        noise, own = self._noise_of(few.numbers), np.isin(few.numbers, menu)
        action = int(most_settling(few.model, NO_SKETCH, rivals, leader, weights, noise, sigma, own))
        if action < 0:
            return -1, 0.0
        variance = sigma * sigma
        if math.isnan(sigma):
            variance = average_variance(self.noise) * float(noise.relative[action])
        along = np.asarray(few.model.columns[:, action], np.float64) @ steps
        return action, float(along @ along) / (variance + float(few.model.squared_widths[action]))

    def _noise_of(self, numbers: NDArray[np.int64]) -> NoiseHistory:
        """The history of the noise with a place for each of a few rows, all that were measured among them."""
        history = new_history(len(numbers))
        for row, place in self.places.items():
            at = int(np.searchsorted(numbers, row))
            if at < len(numbers) and numbers[at] == row:
                for mine, theirs in zip(history[:4], self.noise[:4], strict=True):
                    mine[at] = theirs[place]
        return history._replace(tally=self.noise.tally.copy())


def least_reach(leads: Floats, widths: Floats) -> float:
    """With how many widths the closest rival is not beaten."""
    return float((-leads / widths).min())


def _settled(leads: Floats, widths: Floats, cut: float, reach: float) -> bool:
    """Whether rows that score at most ``cut`` cannot be among the races."""
    uppers = leads + reach * widths
    order = np.argsort(-uppers)
    first, slack = float(uppers[order[0]]), float(reach * widths[order[0]])
    if first < -TIE * slack:
        return False
    last = float(uppers[order[RACES - 1]]) if len(order) >= RACES else -math.inf
    negligible = first - BEHIND * slack * math.log(1.0 / NEGLIGIBLE)
    return cut < max(last, negligible) - 2.0 * TIE * (slack + abs(first))


def _steps(few: Few, leader: int, rivals: NDArray[np.int64], weights: Floats) -> Floats:
    """``√w_j·V⁻¹(a_j - b)`` for each race, (dim, races): a row a gains ``Σ_j <a, step_j>²``."""
    own = np.asarray(few.model.columns[:, leader], np.float64)
    steps = []
    for rival, weight in zip(rivals, weights, strict=True):
        if weight > 0.0:
            half = solve_lower(few.model, few.model.columns[:, rival] - own)
            steps.append(math.sqrt(weight) * solve_upper(few.model, half * few.model.reciprocals))
    return np.array(steps).T


def _few(working: WorkingRows, numbers: NDArray[np.int64], rows: Floats) -> Few:
    """Rows, each once and in order, with the model of what is known."""
    numbers, first = np.unique(numbers, return_index=True)
    return Few(numbers, working.model_of(rows[first]))


def _gainers(board: Board, question: GainQuestion) -> tuple[NDArray[np.int64], Floats, float]:
    """The rows that gain most, by a pass, which also settles what is open of the tests of the last rounds."""
    catalogue = board.working.catalogue
    shares = evenly(question.most, catalogue.shards)
    tests: Sequence[LowerQuestion | None] = board.open_tests() or [None] * len(shares)
    found = catalogue.each(
        highest_gains,
        [(question._replace(most=int(most), lowers=test),) for most, test in zip(shares, tests, strict=True)],
    )
    catalogue.returned += sum(part.rows.nbytes + part.numbers.nbytes for part in found)
    if lowers := [part.lowers for part in found if part.lowers is not None]:
        board.settle(lowers)
    rows = np.concatenate([np.asarray(part.rows, np.float64) for part in found])
    return np.concatenate([part.numbers for part in found]), rows, max(part.cut for part in found)


def _taken(working: WorkingRows, rows: NDArray[np.int64]) -> Floats:
    parts = [
        working.catalogue.take(rows[start : start + TOGETHER]) for start in range(0, len(rows), TOGETHER)
    ]
    return np.concatenate(parts)
