"""Which rows of a catalogue may still be the best, found when somebody asks.

The rules drop a row for good when a round's certificate rules it out. On a catalogue nobody looks at all
rows in every round; the tests are replayed on demand, for the few rows where the present does not settle it
(`noisewise.actions.catalogue.replay`). The floors of past rounds never change, and are kept. Who passes over
all rows for another reason asks for the floors of the last rounds, too (`question`, `settle`).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from noisewise.actions.catalogue.catalogue import Catalogue
from noisewise.actions.catalogue.files import evenly
from noisewise.actions.catalogue.kept import Course
from noisewise.actions.catalogue.lowers import LowerAnswer, LowerQuestion, highest_lowers
from noisewise.actions.catalogue.passes import Indices
from noisewise.actions.catalogue.replay import (
    PastRounds,
    Present,
    deaths,
    ends,
    highest_floors,
    survivors,
)
from noisewise.actions.catalogue.scores import ScoreQuestion
from noisewise.core.choice.selection import Mask
from noisewise.core.model.dense import Floats
from noisewise.policies.shell.catalogues.past import Past
from noisewise.policies.shell.catalogues.questions import best_of, highest
from noisewise.policies.shell.catalogues.working_set import WorkingRows

#: Rows with the largest lower ends now: among them are those that had the largest in most rounds.
POOL = 1000
#: Rounds whose floors are sought together in a pass, and how many rows with large lower ends are brought for
#: each: those that were ruled out do not count.
AT_ONCE, FOR_EACH = 8, 64
#: With a larger radius float32 overflows.
HUGE = 1e12


class Left(NamedTuple):
    """All rows that no round ruled out, where they are few, ascending."""

    numbers: Indices
    rows: Floats


class Survivors:
    """The tests of all rounds.

    Args:
        catalogue: The rows.
        past: The rounds.
        course: How far the run has come, for shards that keep bounds.
        few: So many rows are kept at hand, if no more are left.
    """

    def __init__(self, catalogue: Catalogue, past: Past, course: Callable[[], Course], few: int) -> None:
        self.catalogue, self.past, self._course, self._few = catalogue, past, course, few
        self._floors = np.empty(0)
        self._safest: Floats | None = None  # the vector whose lower end was the last of them
        self._left: Left | None = None  # after the rounds that have a floor
        self._largest_mean = -1, math.inf  # after how many rounds, and what no mean exceeds
        self._prior = catalogue.max_norm / past.ridge**0.5

    def copy(self, past: Past, course: Callable[[], Course]) -> Self:
        """An independent copy, for a copy of the past; floors that are known never change."""
        twin = type(self)(self.catalogue, past, course, self._few)
        twin._floors, twin._largest_mean = self._floors, self._largest_mean
        twin._safest, twin._left = self._safest, self._left
        return twin

    def no_mean_exceeds(self, value: float) -> None:
        """What no present mean exceeds, if somebody knows: nobody has to be asked."""
        if self._largest_mean[0] != len(self.past):
            self._largest_mean = len(self.past), value

    def alive(self, rows: Floats, present: Present) -> Mask:
        """Which of some vectors no round ruled out."""
        if not len(self.past):
            return np.ones(len(rows), np.bool_)
        rounds = self.past.rounds(present.theta, self._prior)
        self._play_on(rounds)
        settled = len(self._floors)
        means, reaches = ends(rows, rounds)
        uppers = means + reaches
        dead = (uppers[:, :settled] < self._floors).any(axis=1)
        if settled < len(self.past):
            sure = (uppers[:, settled:] >= self._ceilings(present, rounds)[settled:]).all(axis=1)
            if not (dead | sure).all():
                return np.asarray(deaths(means, reaches, self.floors(present, rounds)) == len(self.past))
        return np.asarray(~dead)

    def rows(self, present: Present) -> Indices:
        """The rows that no round ruled out, ascending."""
        if not len(self.past):
            return np.arange(self.catalogue.n_actions)
        rounds = self.past.rounds(present.theta, self._prior)
        floors = self.floors(present, rounds)
        if self._left is not None:
            return self._left.numbers
        found = self.catalogue.every(survivors, present, rounds, floors)
        return np.concatenate(found)

    def question(self, present: Present) -> list[LowerQuestion] | None:
        """What to ask each shard in a pass to find the floors of the last rounds; None if they are known.

        Also None if they are so many, or so far from deciding anything, that the past of all rows is played
        again at once, when it is needed.
        """
        self._play_on(rounds := self.past.rounds(present.theta, self._prior))
        count = len(self.past) - len(self._floors)
        if not 0 < count <= AT_ONCE or rounds.radii[-count:].max() > HUGE:
            return None
        asked, shards = self.past.lowers(count), self.catalogue.shards
        if self._safest is not None and count == 1:
            # Who had the last floor was left, so that the next is at least its lower end.
            means, reaches = ends(self._safest[None, :], rounds.since(len(self._floors))[0])
            asked = asked._replace(floor=float(means[0, -1] - reaches[0, -1]))
        shares = zip(evenly(FOR_EACH, shards), evenly(self._few, shards), strict=True)
        return [asked._replace(most=int(most), few=int(few)) for most, few in shares]

    def settle(self, answers: Sequence[LowerAnswer], present: Present) -> None:
        """Take the floors of the last rounds from what shards answered, as far as it settles them."""
        self.catalogue.returned += sum(found.rows.nbytes + found.numbers.nbytes for found in answers)
        numbers = np.concatenate([found.numbers for found in answers])
        rows = np.concatenate([np.asarray(found.rows, np.float64) for found in answers])
        first = len(self._floors)
        means, reaches = ends(rows, self.past.rounds(present.theta, self._prior))
        alive = np.asarray(((means + reaches)[:, :first] >= self._floors).all(axis=1))
        cuts = np.max([found.cuts for found in answers], axis=0)
        alive = self._go_on(means[:, first:], reaches[:, first:], alive, rows, cuts)
        if len(self._floors) == len(self.past) and all(found.has_all_left for found in answers):
            self._left = Left(numbers[alive], rows[alive])

    def _go_on(
        self, means: Floats, reaches: Floats, alive: Mask, rows: Floats, cuts: Floats | None = None
    ) -> Mask:
        """Further floors from the intervals of some rows in further rounds, (rows, rounds), and who is left.

        Args:
            means: Of each row in each round.
            reaches: Radius times width.
            alive: Who of them was left so far.
            rows: Their vectors.
            cuts: What no lower end of other rows exceeds; where that is above, nothing is settled.
        """
        floors: list[float] = self._floors.tolist()
        for number in range(means.shape[1]):
            lowers = np.where(alive, means[:, number] - reaches[:, number], -np.inf)
            safest = int(np.argmax(lowers))
            if cuts is not None and not lowers[safest] >= cuts[number]:
                break  # others may have been left, and higher
            floors.append(float(lowers[safest]))
            self._safest = rows[safest]
            alive = alive & (means[:, number] + reaches[:, number] >= floors[-1])
        self._floors = np.array(floors)
        return alive

    def _play_on(self, rounds: PastRounds) -> None:
        """The floors of new rounds, if all that are left are at hand: nobody has to be asked."""
        if self._left is None or len(self._floors) == len(self.past):
            return
        numbers, rows = self._left
        new, known = rounds.since(len(self._floors))
        means, reaches = ends(rows, new)
        everybody = np.ones(len(rows), np.bool_)
        alive = self._go_on(means[:, known:], reaches[:, known:], everybody, rows)
        if not alive.all():
            self._left = Left(numbers[alive], rows[alive])

    def keep_up(self, present: Present) -> None:
        """Settle floors by a pass if so many are open that later on one would not do."""
        if len(self.past) - len(self._floors) == AT_ONCE:
            self._ask(present)

    def _ask(self, present: Present) -> None:
        if (questions := self.question(present)) is not None:
            course = self._course()
            answers = self.catalogue.each(highest_lowers, [(asked, course) for asked in questions])
            self.settle(answers, present)

    def floors(self, present: Present, rounds: PastRounds) -> Floats:
        """The largest lower end in each round among those who were left, (rounds,).

        Those of the last rounds are asked for in a pass. Where that does not settle them, the past is played
        again: the largest among *all* rows is an upper bound; if the rows left by it have the same, it is
        exact. Else it is exact until the first round where it is not, and from there on it is sought among
        those that are left.
        """
        self._ask(present)
        count, settled = len(self.past), len(self._floors)
        if settled == count:
            return self._floors
        floors = np.concatenate([self._floors, np.full(count - settled, -np.inf)])
        known = self._reached(present, rounds)
        while settled < count:
            upper = self._highest(present, rounds, known, floors)
            upper[:settled] = floors[:settled]
            lower = self._highest(present, rounds, known, upper)
            wrong = np.flatnonzero(lower[settled:] < upper[settled:])
            until = settled + int(wrong[0]) + 1 if len(wrong) else count
            floors[settled:until] = lower[settled:until]
            settled = until
        self._floors, self._safest, self._left = floors, None, None
        return floors

    def _highest(self, present: Present, rounds: PastRounds, known: Floats, floors: Floats) -> Floats:
        found = self.catalogue.every(highest_floors, present, rounds, known, floors)
        return np.asarray(np.max(found, axis=0))

    def _ceilings(self, present: Present, rounds: PastRounds) -> Floats:
        """What no floor exceeded: lower ends were at most ``mean - slope_t·width``."""
        if self._largest_mean[0] != len(self.past):
            best = highest(self.catalogue, self._question(present, 0.0, 1))
            self._largest_mean = len(self.past), best.upper
        return np.asarray(self._largest_mean[1] - np.minimum(rounds.slopes, 0.0) * self._prior)

    def _reached(self, present: Present, rounds: PastRounds) -> Floats:
        """Lower ends that were reached in each round by rows that were surely left, (rounds,)."""
        pool = highest(self.catalogue, self._question(present, -float(rounds.radii[-1]), POOL)).rows
        means, reaches = ends(np.concatenate([pool, self.past.rows()]), rounds)
        sure = np.logical_and.accumulate(means + reaches >= self._ceilings(present, rounds), axis=1)
        return np.asarray(np.where(sure, means - reaches, -np.inf).max(axis=0))

    def _question(self, present: Present, reach: float, most: int) -> ScoreQuestion:
        origin = np.zeros(self.catalogue.dim)
        return ScoreQuestion(present.theta, present.norm, reach, origin, most)


class Now:
    """The test of this moment alone, for rules that rule nothing out for good.

    Args:
        working: Whose model it is.
        present: The same for shards.
        radius: Of the certificate.
    """

    def __init__(self, working: WorkingRows, present: Present, radius: float) -> None:
        self.catalogue, self.present = working.catalogue, present
        model, dim = working.model, working.catalogue.dim
        self.rounds = PastRounds(
            thetas=present.theta[None, :],
            steps=np.zeros((1, dim)),
            radii=np.array([radius]),
            uppers=np.array(model.factor[:, :dim])[None],
            reciprocals=model.reciprocals[None].copy(),
            slopes=np.array([radius]),
            prior=present.widest,
        )
        question = ScoreQuestion(present.theta, present.norm, -radius, np.zeros(dim), POOL)
        highest_lower = best_of(
            self.catalogue, question, lambda rows: np.ones(len(rows), np.bool_), lambda vector, top: 0.0
        )
        self.floors = np.array([highest_lower[2]])

    def alive(self, rows: Floats) -> Mask:
        """Which of some vectors are not ruled out."""
        return np.asarray(deaths(*ends(rows, self.rounds), self.floors) == 1)

    def rows(self) -> Indices:
        """The rows that are not ruled out, ascending."""
        return np.concatenate(self.catalogue.every(survivors, self.present, self.rounds, self.floors))
