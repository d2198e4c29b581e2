"""The rows of a catalogue that may lead: at hand, with a bound on all others that holds while θ moves.

Since ``|<θ_t - θ_0, a>| <= ‖θ_t - θ_0‖·‖a‖`` in the norm of V_0 and widths only fall, a row that is not here
has a mean of at most ``mean_0 + moved·width_0``, and is above a row b by at most
``mean_0 + (moved + reach)·width_0 + reach·‖b‖ - <θ_t, b>``. A pass says for several x what the largest
``mean_0 + x·width_0`` of those rows is; it is convex in x.
"""

import math

import numpy as np

from noisewise.actions.catalogue.files import evenly
from noisewise.actions.catalogue.leading import LeadingAnswer, LeadingQuestion, leading_rows
from noisewise.actions.catalogue.scores import ScoreQuestion, best_places, exact_scores
from noisewise.core.model.dense import Floats, theta
from noisewise.policies.shell.catalogues.questions import Highest
from noisewise.policies.shell.catalogues.working_set import WorkingRows

#: Reaches, in units of the usual one, for which a pass says what rows that are not here have at most; and by
#: which one rows are chosen.
LEVELS = np.array([0.0, 0.5, 1.0, 1.25, 1.5, 2.0, 3.0])
CHOSEN_BY = 1.5
#: Rows that are looked at exactly at first, and how many times more if others may score higher.
FIRST_LOOKED_AT, GROWN = 1000, 4
#: Rounding of a distance.
ROUNDED = 1e-9


class LeadingSet:
    """Rows that led or nearly did when they were asked for, and what was known then.

    Args:
        working: The model, and who is asked.
        reach: How many widths count, usually.
        most: Rows that are asked for.
    """

    def __init__(self, working: WorkingRows, reach: float, most: int) -> None:
        catalogue, model = working.catalogue, working.model
        self.run, self.levels = working.run, LEVELS * reach
        self._theta = theta(model)
        dim = catalogue.dim
        self._upper, self._pivots = np.triu(model.factor[:, :dim], 1), model.pivots.copy()
        question = LeadingQuestion(working.course(), self._theta, CHOSEN_BY * reach, self.levels, most)
        shares = evenly(most, catalogue.shards)
        answers: list[LeadingAnswer] = catalogue.each(
            leading_rows, [(question._replace(most=int(share)),) for share in shares]
        )
        catalogue.returned += sum(found.rows.nbytes + found.numbers.nbytes for found in answers)
        self.numbers = np.concatenate([found.numbers for found in answers])
        self.rows = np.concatenate([np.asarray(found.rows, np.float64) for found in answers])
        self._widths = np.sqrt(np.maximum(working.squared_widths_of(self.rows), 0.0))
        self._cuts = np.max([found.cuts for found in answers], axis=0)
        self._widest = max(found.widest for found in answers)

    def moved(self, direction: Floats) -> float:
        """``‖θ - θ_0‖`` in the norm of V_0."""
        apart = direction - self._theta
        return (1.0 + ROUNDED) * math.sqrt(float(self._pivots @ np.square(apart + self._upper @ apart)))

    def limit(self, direction: Floats, reach: float) -> float:
        """What ``<direction, a> + reach·‖a‖`` is at most for rows that are not here."""
        most = self.moved(direction) + reach
        if self._cuts[0] == -np.inf:
            return -math.inf  # there are none
        if most <= self.levels[-1]:
            return float(np.interp(most, self.levels, self._cuts))
        return float(self._cuts[-1]) + (most - float(self.levels[-1])) * self._widest

    def highest(self, question: ScoreQuestion) -> tuple[Highest, bool]:
        """The rows that score highest, exactly, and whether it is rows elsewhere that keep the cut up."""
        direction, reach = question.direction, question.reach
        own = reach * float(np.linalg.norm(question.origin @ question.norm.root)) if reach else 0.0
        away = own - float(question.origin @ direction)
        # A difference is at most as wide as both rows together: few need be looked at exactly.
        limits = self.rows @ direction + reach * self._widths + away
        elsewhere = self.limit(direction, reach) + away
        looked_at = question.most if reach == 0.0 else max(question.most, FIRST_LOOKED_AT)
        while True:
            best, rest = best_places(limits, looked_at)
            rows = self.rows[best]
            cut = max(rest, elsewhere)
            found = Highest(self.numbers[best], rows, exact_scores(rows, question), cut)
            found = found.narrowed(question.most)
            if found.cut > cut or rest <= elsewhere:
                return found, found.cut <= elsewhere
            looked_at *= GROWN
