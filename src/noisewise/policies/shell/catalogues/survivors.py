"""Which rows of a catalogue may still be the best, found when somebody asks.

The rules drop a row for good when a round's certificate rules it out. On a catalogue nobody looks at all
rows in every round; the tests are replayed on demand, for the few rows where the present does not settle it
(`noisewise.actions.catalogue.replay`). The floors of past rounds never change, and are kept.
"""

import math

import numpy as np

from noisewise.actions.catalogue.catalogue import Catalogue
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


class Survivors:
    """The tests of all rounds.

    Args:
        catalogue: The rows.
        past: The rounds.
    """

    def __init__(self, catalogue: Catalogue, past: Past) -> None:
        self.catalogue, self.past = catalogue, past
        self._floors = np.empty(0)
        self._largest_mean = -1, math.inf  # after how many rounds, and what no mean exceeds
        self._prior = catalogue.max_norm / past.ridge**0.5

    def no_mean_exceeds(self, value: float) -> None:
        """What no present mean exceeds, if somebody knows: nobody has to be asked."""
        if self._largest_mean[0] != len(self.past):
            self._largest_mean = len(self.past), value

    def alive(self, rows: Floats, present: Present) -> Mask:
        """Which of some vectors no round ruled out."""
        if not len(self.past):
            return np.ones(len(rows), np.bool_)
        rounds = self.past.rounds(present.theta, self._prior)
        means, reaches = ends(rows, rounds)
        if len(self._floors) < len(self.past):
            sure = (means + reaches >= self._ceilings(present, rounds)).all(axis=1)
            if sure.all():
                return np.asarray(sure)
        return np.asarray(deaths(means, reaches, self.floors(present, rounds)) == len(self.past))

    def rows(self, present: Present) -> Indices:
        """The rows that no round ruled out, ascending."""
        if not len(self.past):
            return np.arange(self.catalogue.n_actions)
        rounds = self.past.rounds(present.theta, self._prior)
        found = self.catalogue.every(survivors, present, rounds, self.floors(present, rounds))
        return np.concatenate(found)

    def floors(self, present: Present, rounds: PastRounds) -> Floats:
        """The largest lower end in each round among those who were left, (rounds,).

        The largest among *all* rows is an upper bound; if the rows left by it have the same, it is exact.
        Else it is exact until the first round where it is not, and from there on it is sought among those
        that are left.
        """
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
        self._floors = floors
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
