"""Who leads on a catalogue, and who may be furthest above: from the rows at hand, or by a pass."""

from copy import copy
from typing import Self

import numpy as np

from noisewise.actions.catalogue.files import evenly
from noisewise.actions.catalogue.leading import ContrastQuestion, highest_contrasts
from noisewise.actions.catalogue.scores import ScoreQuestion, exact_scores
from noisewise.core.model.dense import Floats, theta
from noisewise.core.model.factor import solve_lower, solve_upper
from noisewise.policies.shell.catalogues.leading_set import LeadingSet
from noisewise.policies.shell.catalogues.player import Board
from noisewise.policies.shell.catalogues.questions import Highest
from noisewise.policies.shell.catalogues.working_set import WorkingRows

#: Rows asked for at first, and how many times more if they do not settle it; and how many a pass brings.
FIRST_MOST, MORE = 8, 16
BROUGHT = 256
#: Rows at hand at first, and how many times more or fewer next time: more if they did for this round.
FIRST_HELD, GROWN = 2000, 4
#: Where rivals are looked for: among rows at hand, among those that a pass has just brought, by a pass of
#: their own.
AT_HAND, JUST_BROUGHT, ALL = range(3)


class Leaders:
    """The leading rows at hand, asked for anew when they do not settle who leads."""

    def __init__(self) -> None:
        self._set: LeadingSet | None = None
        self._held = FIRST_HELD
        self._where, self._limited = AT_HAND, False
        self._passed: tuple[float, int, Highest] | None = (
            None  # the last pass of this round: reach, rows, answer
        )

    def copy(self) -> Self:
        """An independent copy; what is at hand is never changed."""
        return copy(self)

    def first(self, board: Board, reach: float) -> tuple[int, Floats]:
        """The leader, its row and vector: the largest mean among those that may still be the best."""
        working = board.working
        self._where, self._passed, origin = AT_HAND, None, np.zeros(working.catalogue.dim)
        if self._set is None or self._set.run != working.run:
            self._renew(working, reach)
        question = ScoreQuestion(theta(working.model), working.norm(), 0.0, origin, FIRST_MOST)
        while True:
            assert self._set is not None
            best = board.best_within(working, self._set.highest(question)[0])
            if best is not None and best.is_sure:
                return best.number, best.vector
            if self._where == JUST_BROUGHT:
                self._where = ALL
                return board.best(working)
            self._renew(working, reach)

    def rivals(self, working: WorkingRows, leader: Floats, reach: float, most: int) -> Highest:
        """The rows that may be furthest above the leader."""
        question = ScoreQuestion(theta(working.model), working.norm(), reach, leader, most)
        if self._where == ALL or self._set is None:
            self._limited = False
            if self._passed is None or self._passed[0] != reach or self._passed[1] < most:
                brought = max(most, BROUGHT)
                self._passed = reach, brought, _by_a_pass(working, question._replace(most=brought))
            return self._passed[2].narrowed(most)
        found, self._limited = self._set.highest(question)
        return found

    def look_further(self, working: WorkingRows, reach: float) -> bool:
        """Rows at hand do not settle it: look where more is known. False if more of them are to be had."""
        if not self._limited:
            return False
        if self._where == AT_HAND:
            self._renew(working, reach)
        else:
            self._where, self._held = ALL, max(FIRST_HELD, self._held // GROWN)
        return True

    def settled(self) -> None:
        """It was settled: rows that a pass has just brought did for a round; more will for several."""
        if self._where == JUST_BROUGHT:
            self._held *= GROWN

    def _renew(self, working: WorkingRows, reach: float) -> None:
        self._held = min(self._held, working.brought)
        self._set, self._where = LeadingSet(working, reach, self._held), JUST_BROUGHT


def _by_a_pass(working: WorkingRows, question: ScoreQuestion) -> Highest:
    catalogue, leader = working.catalogue, question.origin
    step = solve_upper(working.model, solve_lower(working.model, leader) * working.model.reciprocals)
    asked = ContrastQuestion(
        working.course(), question.direction, question.reach, leader, step, question.most
    )
    shares = evenly(question.most, catalogue.shards)
    answers = catalogue.each(highest_contrasts, [(asked._replace(most=int(most)),) for most in shares])
    catalogue.returned += sum(found.rows.nbytes + found.numbers.nbytes for found in answers)
    rows = np.concatenate([np.asarray(found.rows, np.float64) for found in answers])
    numbers = np.concatenate([found.numbers for found in answers])
    return Highest(numbers, rows, exact_scores(rows, question), max(found.cut for found in answers))
