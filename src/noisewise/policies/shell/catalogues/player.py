"""How a rule plays on a catalogue: what it asks of the working set, what it books, and its certificate."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from noisewise.actions.catalogue.lowers import LowerAnswer, LowerQuestion
from noisewise.actions.catalogue.passes import Indices
from noisewise.core.choice.radius import Radius, confidence_radius
from noisewise.core.choice.selection import TIE, Mask
from noisewise.core.model.dense import DenseModel, Floats
from noisewise.policies.shell.catalogues.questions import Best, Highest
from noisewise.policies.shell.catalogues.working_set import WorkingRows

#: Rows taken from the catalogue together.
TOGETHER = 100_000


class Board(NamedTuple):
    """What a player looks at: the working set with what is under way, and who may still be the best."""

    working: WorkingRows
    alive: Callable[[Floats], Mask]  # of some vectors
    best: Callable[[WorkingRows], tuple[int, Floats]]  # the largest mean among them: row and vector
    best_within: Callable[[WorkingRows, Highest], Best | None]  # the same of some rows
    survivors: Callable[[], Indices]  # all of them; the last resort
    open_tests: Callable[[], list[LowerQuestion] | None]  # what a pass may ask each shard as well
    settle: Callable[[Sequence[LowerAnswer]], None]  # takes the answers
    keep_up: Callable[[], None]  # to be called where no pass is made


class Player(ABC):
    """A rule on a catalogue; `choose` answers as the rule does on a list of the same rows."""

    eliminates: bool = False
    """Whether a row that was ruled out once stays so."""
    state: Any = None
    """What the rule's own `certificate` reads, if anything."""

    def __init__(self, params: Any) -> None:
        self.params = params

    @property
    def limits(self) -> Radius:
        """The radius that was chosen, with its numbers."""
        radius: Radius = self.params.setting.radius
        return radius

    @abstractmethod
    def choose(self, board: Board, sigma: float) -> int:
        """The row to measure next; sigma is NaN unless it is announced."""

    def choose_among(self, board: Board, rows: Indices, sigma: float) -> int:
        """The same if only some rows are allowed, ascending."""
        return widest_among(board.working, rows)

    def book(self, working: WorkingRows, row: int, sigma: float) -> None:  # noqa: B027 - most book nothing
        """Note a measurement before it is learnt."""

    def radius(self, model: DenseModel) -> float:
        """The radius of the certificate."""
        return float(confidence_radius(self.limits, model))

    def copy(self) -> Self:
        """An independent copy."""
        return copy(self)


class WidestPlayer(Player):
    """Measures the widest row of all."""

    def choose(self, board: Board, sigma: float) -> int:
        """The widest row."""
        return board.working.widest()


class EliminatingPlayer(WidestPlayer):
    """The same, and drops what a certificate rules out."""

    eliminates = True


class CandidatePlayer(EliminatingPlayer):
    """The same, and measures only what may still be the best."""

    def choose(self, board: Board, sigma: float) -> int:
        """The widest row among the survivors."""
        working = board.working
        for _ in range(2):
            wide = np.flatnonzero(working.model.squared_widths[1:] > working.cut) + 1
            alive = wide[board.alive(np.asarray(working.model.columns.T[wide], np.float64))]
            if len(alive):
                widths = working.model.squared_widths[alive]
                low = float(widths.max()) * (1.0 - TIE)
                if low > working.cut:
                    return int(working.index[alive[np.argmax(widths >= low)]])
            working.renew()
        return widest_among(working, board.survivors())

    def choose_among(self, board: Board, rows: Indices, sigma: float) -> int:
        """The widest survivor among the allowed; of the allowed, if none survived."""
        both = np.intersect1d(rows, board.survivors(), assume_unique=True)
        return widest_among(board.working, both if len(both) else rows)


def widest_among(working: WorkingRows, rows: Indices) -> int:
    """The widest of some rows, ascending; of equally wide ones the first."""
    widths = np.concatenate(
        [
            working.squared_widths_of(working.catalogue.take(rows[start : start + TOGETHER]))
            for start in range(0, len(rows), TOGETHER)
        ]
    )
    return int(rows[np.argmax(widths >= widths.max() * (1.0 - TIE))])


def always(options: dict[str, Any]) -> bool:
    """Most rules are faster with a working set whatever their options."""
    return True


@dataclass(frozen=True)
class OnCatalogues:
    """What a rule declares to run on catalogues."""

    player: Callable[..., Player]
    """``(actions, horizon, options)``"""
    wins: Callable[[dict[str, Any]], bool] = always
    """``(options)``: whether a working set is faster than looking at a long list in every round."""
