"""The shell around a rule on a catalogue: ask, tell, recommend, estimate; most rounds look at few rows."""

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions.catalogue.catalogue import Catalogue
from noisewise.actions.catalogue.passes import Indices
from noisewise.actions.catalogue.replay import Present
from noisewise.actions.catalogue.scores import ScoreQuestion
from noisewise.core.choice.selection import ROUNDING, TIE, Mask
from noisewise.core.model.dense import Floats, theta
from noisewise.core.model.vectors import covariance
from noisewise.core.support.checks import check_sigma
from noisewise.core.support.randomness import generator
from noisewise.policies.shell.archive import DamagedFileError
from noisewise.policies.shell.base_policy import BasePolicy, chosen_by
from noisewise.policies.shell.catalogues.catalogue_estimate import CatalogueEstimate
from noisewise.policies.shell.catalogues.past import Past
from noisewise.policies.shell.catalogues.player import Board, OnCatalogues, Player
from noisewise.policies.shell.catalogues.questions import (
    FIRST_MOST,
    Best,
    Highest,
    best_of,
    best_within,
    width_of,
)
from noisewise.policies.shell.catalogues.survivors import Now, Survivors
from noisewise.policies.shell.catalogues.working_set import WorkingRows
from noisewise.policies.shell.decide import announced_sigma
from noisewise.policies.shell.policy_file import Saved, told_actions
from noisewise.policies.shell.recommendation import (
    BEST,
    LAST,
    MOST_PLAYED,
    RECOMMENDATIONS,
    SMALLEST_BOUND,
    make_advice,
)
from noisewise.policies.shell.rule import Rule


class KeptRounds(NamedTuple):
    """What a file holds of a policy beside actions and sigmas: the rest follows from them."""

    rewards: Floats


def holds_rounds(saved: Saved) -> bool:
    """Whether a file was written by a policy that keeps its rounds."""
    return "state.rewards" in saved.arrays


def _tie_of_means(working: WorkingRows) -> Callable[[Floats, float], float]:
    """What of the best mean and its vector counts as equal."""
    root = working.norm().root
    return lambda vector, top: TIE * width_of(vector, root) + ROUNDING * abs(top)


class CataloguePolicy(BasePolicy):
    """A rule with its state on a catalogue; actions are row numbers.

    Made by the constructors of rules that can, such as `noisewise.vaee`. It measures what the rule measures
    on an `ActionSet` of the same rows. `recommend`, `estimate`, `is_candidate` and `survivors` look at the
    whole catalogue whenever they are called.
    """

    actions: Catalogue

    def __init__(
        self, rule: Rule, actions: Catalogue, options: dict[str, Any], *, horizon: int | None = None
    ) -> None:
        self._settle(rule, actions, options, horizon)
        player = self._serving(rule).player(actions, horizon, self.options)
        self._params = player.params
        self._advice_kind = make_advice(self.options, 0, generator(0, "advice", 0)).kind
        if self._advice_kind == SMALLEST_BOUND:
            raise ValueError(
                f"`recommendation` must not be {RECOMMENDATIONS[SMALLEST_BOUND]!r} on a catalogue: it "
                f"would compare "
                "all pairs of rows; 'best' is the largest mean."
            )
        self._start(player)

    def _serving(self, rule: Rule) -> OnCatalogues:
        serving = self.rule.on_catalogues
        if serving is None:
            why = " with radius='restarted'" if self.rule.around is not None else ""
            raise ValueError(
                f"{rule.name!r}{why} must look at all actions in every round, and cannot run on a catalogue; "
                "vaee, widest, vagd, static_design and vage can: use one of them, or an nw.ActionSet."
            )
        return serving

    def _start(self, player: Player) -> None:
        ridge = player.params.setting.ridge
        self._player = player
        self._working = WorkingRows(self.actions, ridge)
        self._past = Past(self.actions.dim, ridge, player.radius)
        self._survivors = Survivors(self.actions, self._past, self._working.course, self._working.brought)

    @property
    def _state(self) -> Any:
        """As in all policies, what has a model."""
        return self._working

    def _kept_state(self) -> Any:
        return KeptRounds(np.array(self._past.rewards))

    def ask(self, sigma: float | None = None, pending: Iterable[Any] = (), allowed: Any = None) -> int:
        """The row to measure next. Asking changes nothing.

        Args:
            sigma: The noise of the coming measurement, if it is known beforehand.
            pending: Measurements under way, as rows or pairs (row, sigma); see `noisewise.Policy.ask`.
            allowed: The rows that can be measured this time, as a list or a mask. Default: all.
        """
        announced = announced_sigma(self.rule, None if sigma is None else check_sigma(sigma))
        working, player = self._imagined(pending)
        board = self._board(working)
        if allowed is None:
            return int(player.choose(board, announced))
        return int(player.choose_among(board, self._allowed(allowed), announced))

    def _board(self, working: WorkingRows) -> Board:
        # With what is only under way, widths are smaller than those of the tests.
        is_real = working is self._working
        return Board(
            working,
            self._alive,
            self._best,
            self._best_within,
            self.survivors,
            lambda: self._survivors.question(self._present()) if is_real else None,
            lambda answers: self._survivors.settle(answers, self._present()),
            lambda: self._survivors.keep_up(self._present()),
        )

    def why(self, action: Any, pending: Iterable[Any] = ()) -> str:
        """Why to measure this row now, in words."""
        row = self.actions.index(action)
        working, _ = self._imagined(pending)
        return chosen_by(self.name, width_of(working.vector(row), working.norm().root))

    def tell(self, action: Any, reward: float, sigma: float) -> None:
        """Learn one measurement: the row, what came out, and its sigma."""
        row = self.actions.index(action)
        value, deviation = self._checked_values(reward, sigma)
        self._learn(row, self._working.vector(row), value, deviation)

    def tell_many(self, actions: Sequence[Any], rewards: ArrayLike, sigmas: ArrayLike) -> None:
        """Learn many measurements in order; if one of them is bad, none is learnt."""
        columns = self._equally_long(actions, rewards, sigmas)
        rows = [self.actions.index(action) for action in columns[0]]
        values = [self._checked_values(*pair) for pair in zip(*columns[1:], strict=True)]
        self._learn_all(rows, values)

    def _learn_all(self, rows: list[int], values: list[tuple[float, float]]) -> None:
        vectors = self.actions.take(rows) if rows else np.empty((0, self.actions.dim))
        for row, vector, (reward, sigma) in zip(rows, vectors, values, strict=True):
            self._learn(row, vector, reward, sigma)

    def _learn(self, row: int, vector: Floats, reward: float, sigma: float) -> None:
        self._player.book(self._working, row, sigma)
        self._working.learn(row, vector, reward, sigma)
        self._past.append(vector, reward, sigma)
        self._sigmas.append(sigma)
        self._told.append(row)

    def recommend(self) -> int:
        """The row to take if measuring stops now: one pass."""
        if self._advice_kind != BEST and self._told:
            row = self._advised_row()
            if row is not None:
                return row
        return self._best(self._working)[0]

    def is_candidate(self, action: Any) -> bool:
        """Whether a row may still be the best."""
        row = self.actions.index(action)
        return bool(self._breach() or self._candidates(self._working.vector(row)[None, :])[0])

    def survivors(self) -> Indices:
        """The rows that may still be the best, ascending: a few passes."""
        if self._breach():
            return np.arange(self.actions.n_actions)
        if self._player.eliminates:
            return self._survivors.rows(self._present())
        return Now(self._working, self._present(), self._radius()).rows()

    def estimate(self) -> CatalogueEstimate:
        """What the policy believes now: a few passes."""
        limits, present = self._player.limits, self._present()
        row = self.recommend()
        vector, radius = self._working.vector(row), self._radius()
        breach = self._breach()
        bound = math.inf if breach else self._regret_bound(vector, present, radius)
        most = 2.0 * limits.norm_bound * limits.max_norm
        return CatalogueEstimate(
            theta=present.theta,
            covariance=covariance(self._working.model),
            radius=math.inf if breach else radius,
            recommended=row,
            mean=float(vector @ present.theta),
            width=width_of(vector, present.norm.root),
            regret_bound=bound if bound < most else most,
            total_precision=self.total_precision,
            n_told=self.n_told,
            delta=limits.delta,
            label=self.actions.label(row),
            certificate=breach or self.rule.certificate(self._params, self._player.state),
        )

    def copy(self) -> Self:
        """An independent copy, with everything told so far."""
        twin = copy(self)
        twin.options = dict(self.options)
        twin._sigmas, twin._told = self._sigmas[:], self._told[:]
        twin._player, twin._working, twin._past = self._player.copy(), self._working.copy(), self._past.copy()
        twin._survivors = self._survivors.copy(twin._past, twin._working.course)
        return twin

    def fresh(self, actions: Any = None, horizon: int | None = None) -> Self:
        """The same rule and options before any measurement, perhaps on another catalogue."""
        actions = self.actions if actions is None else actions
        return type(self)(self.rule, actions, self.options, horizon=horizon or self.horizon)

    def _radius(self) -> float:
        return float(self._player.radius(self._working.model))

    def _present(self) -> Present:
        limit = self._working.width_limit()
        return Present(theta(self._working.model), self._working.norm(), limit)

    def _alive(self, rows: Floats) -> Mask:
        return self._survivors.alive(rows, self._present())

    def _candidates(self, rows: Floats) -> Mask:
        present = self._present()
        if self._player.eliminates:
            return self._survivors.alive(rows, present)
        return Now(self._working, present, self._radius()).alive(rows)

    def _best(self, working: WorkingRows) -> tuple[int, Floats]:
        """The largest mean, among the survivors if the rule keeps to them; of equal ones the first."""
        question = ScoreQuestion(
            theta(working.model), working.norm(), 0.0, np.zeros(self.actions.dim), FIRST_MOST
        )
        return best_of(self.actions, question, self._passes(), _tie_of_means(working))[:2]

    def _best_within(self, working: WorkingRows, found: Highest) -> Best | None:
        """The same among some rows with the largest means."""
        if found.scores.max() <= found.cut:
            return None  # not even the largest mean is among them
        if working is self._working:
            self._survivors.no_mean_exceeds(found.upper)
        return best_within(found, self._passes(), _tie_of_means(working))

    def _passes(self) -> Callable[[Floats], Mask]:
        return self._alive if self._player.eliminates else lambda rows: np.ones(len(rows), np.bool_)

    def _regret_bound(self, vector: Floats, present: Present, radius: float) -> float:
        """How far the row can be below the best: the largest upper bound on a contrast with a candidate."""
        question = ScoreQuestion(present.theta, present.norm, radius, vector, 1)
        _, _, bound = best_of(self.actions, question, self._candidates, lambda row, top: 0.0)
        return max(0.0, bound)

    def _advised_row(self) -> int | None:
        """The action measured last, most often, or at random; None if it cannot be the best any more."""
        told = np.array(self._told, dtype=np.int64)
        rows, counts = np.unique(told, return_counts=True)
        if self._advice_kind == LAST:
            row = int(told[-1])
        elif self._advice_kind == MOST_PLAYED:
            row = int(rows[np.argmax(counts)])
        else:
            chance = make_advice(self.options, 0, generator(self.seed, "advice", 0)).chance
            return int(rows[np.searchsorted(np.cumsum(counts), chance * len(told), side="right")])
        return row if self._candidates(self._working.vector(row)[None, :])[0] else None

    def _imagined(self, pending: Iterable[Any]) -> tuple[WorkingRows, Player]:
        if isinstance(pending, str) or not isinstance(pending, Iterable):
            raise TypeError(f"`pending` must be a list of rows or pairs (row, sigma); got {pending!r}.")
        under_way = [self._pending_row(item) for item in pending]
        if not under_way:
            return self._working, self._player
        working, player = self._working.imagined(), self._player.copy()
        for row, sigma in under_way:
            vector = working.vector(row)
            at = working.at(row, vector)
            if math.isnan(sigma):
                known = float(np.median(self._sigmas)) if self._sigmas else 0.0
                sigma = known or math.sqrt(working.model.squared_widths[at]) or 1.0
            player.book(working, row, sigma)
            expected = float(working.model.means[working.at(row, vector)])  # booking may have moved it
            working.learn(row, vector, expected, sigma)
        return working, player

    def _pending_row(self, item: Any) -> tuple[int, float]:
        if isinstance(item, tuple | list):
            if len(item) != 2:
                raise ValueError(f"`pending` must hold rows or pairs (row, sigma); got {item!r}.")
            return self.actions.index(item[0]), math.nan if item[1] is None else check_sigma(item[1])
        return self.actions.index(item), math.nan

    def _allowed(self, allowed: Any) -> Indices:
        n = self.actions.n_actions
        if isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_:
            if allowed.shape != (n,):
                raise ValueError(f"`allowed` must have shape ({n},); got {allowed.shape}.")
            rows: Indices = np.flatnonzero(allowed)
        elif isinstance(allowed, str) or not isinstance(allowed, Iterable):
            raise TypeError(f"`allowed` must be a list of rows or a mask; got {allowed!r}.")
        else:
            rows = np.unique(np.array([self.actions.index(row) for row in allowed], dtype=np.int64))
        if not len(rows):
            raise ValueError(f"`allowed` must contain at least one row; got {allowed!r}.")
        return rows

    def resume(self, saved: Saved) -> None:
        """Take over what was told to a saved policy of the same rule, options and catalogue."""
        told = told_actions(saved, self.actions.n_actions)
        rewards, sigmas = saved.arrays.get("state.rewards", np.empty(0)), saved.arrays["sigmas"]
        if not (rewards.dtype == np.float64 and rewards.shape == sigmas.shape == told.shape):
            raise DamagedFileError("its measurements are no triples of an action, a reward and a sigma")
        if not np.isfinite(rewards).all():
            raise DamagedFileError("its rewards are no numbers")
        self._sigmas, self._told = array("d"), array("q")
        self._start(self._serving(self.rule).player(self.actions, self.horizon, self.options))
        self._learn_all(told.tolist(), list(zip(rewards.tolist(), sigmas.tolist(), strict=True)))
