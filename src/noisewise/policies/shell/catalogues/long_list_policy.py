"""Policies on long lists: the shell of lists around a working set, which measures the same actions sooner."""

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import ActionSet, Catalogue
from noisewise.actions.catalogue.shards import Shard
from noisewise.core.choice.radius import RADII, RESTARTED
from noisewise.core.choice.selection import Mask
from noisewise.core.support.blocks import row_blocks
from noisewise.policies.shell.catalogues.catalogue_policy import CataloguePolicy
from noisewise.policies.shell.policy import Estimate, Policy
from noisewise.policies.shell.policy_file import Saved
from noisewise.policies.shell.recommendation import RECOMMENDATIONS, SMALLEST_BOUND
from noisewise.policies.shell.rule import Rule

#: Actions, and numbers in all their vectors, from which on a working set takes less time than all of them.
MANY, MUCH = 1_000_000, 50_000_000


def is_faster(rule: Rule, actions: ActionSet, options: dict[str, Any]) -> bool:
    """Whether a working set serves this rule on this list, and faster."""
    return (
        type(actions) is ActionSet
        and actions.n_actions >= MANY
        and actions.vectors.size >= MUCH
        and rule.on_catalogues is not None
        and rule.on_catalogues.wins(options)
        and options.get("radius") != RADII[RESTARTED]
        and options.get("recommendation") != RECOMMENDATIONS[SMALLEST_BOUND]
    )


class ListedCatalogue(Catalogue):
    """The rows of an `ActionSet`, with its labels and what it knows of them."""

    def __init__(self, actions: ActionSet) -> None:
        self.listed = actions
        vectors = actions.vectors
        shard = Shard(0, len(vectors), vectors.shape[1], vectors.dtype.name, held=vectors)
        self._set_up([shard], None)
        self._moment, self.max_norm = actions.moment, actions.max_norm

    def label(self, action: int) -> str:
        """The name of an action."""
        return self.listed.label(action)

    def index(self, action: Any) -> int:
        """The row of an action given by its row number or its label."""
        return self.listed.index(action)


class LongListPolicy(Policy):
    """A policy on a long list: what `Policy` answers, found by a working set."""

    def __init__(
        self,
        rule: Rule,
        actions: ActionSet | ArrayLike,
        options: dict[str, Any],
        *,
        horizon: int | None = None,
    ) -> None:
        listed = actions if isinstance(actions, ActionSet) else ActionSet(actions)
        self._settle(rule, listed, options, horizon)
        self._follow(CataloguePolicy(rule, ListedCatalogue(listed), options, horizon=horizon))

    def _follow(self, inner: CataloguePolicy) -> None:
        self._inner = inner
        self._params, self._sigmas, self._told = inner._params, inner._sigmas, inner._told

    @property
    def _state(self) -> Any:
        """As in all policies, what has a model."""
        return self._inner._state

    def _kept_state(self) -> Any:
        return self._inner._kept_state()

    def ask(
        self,
        sigma: float | None = None,
        pending: Iterable[Any] = (),
        allowed: Sequence[Any] | Mask | None = None,
    ) -> Any:
        """The action to measure next; see `Policy.ask`."""
        return self._inner.ask(sigma, pending, allowed)

    def why(self, action: Any, pending: Iterable[Any] = ()) -> str:
        """Why to measure this action now, in words."""
        return self._inner.why(action, pending)

    def tell(self, action: Any, reward: float, sigma: float) -> None:
        """Learn one measurement: the action's row or label, what came out, and its sigma."""
        self._inner.tell(action, reward, sigma)

    def tell_many(self, actions: Sequence[Any], rewards: ArrayLike, sigmas: ArrayLike) -> None:
        """Learn many measurements in order; if one of them is bad, none is learnt."""
        self._inner.tell_many(actions, rewards, sigmas)

    def recommend(self) -> Any:
        """The action to take if measuring stops now."""
        return self._inner.recommend()

    def is_candidate(self, action: Any) -> bool:
        """Whether an action may still be the best."""
        return self._inner.is_candidate(action)

    def estimate(self) -> Estimate:
        """Everything the policy believes now, as arrays of its own: some passes over all actions."""
        found = self._inner.estimate()
        vectors = self.actions.vectors
        means, widths = np.empty(len(vectors)), np.empty(len(vectors))
        for rows in row_blocks(len(vectors)):
            block = vectors[rows].astype(np.float64, copy=False)
            means[rows] = block @ found.theta
            widths[rows] = np.sqrt(self._inner._working.squared_widths_of(block))
        candidates = np.zeros(len(vectors), np.bool_)
        candidates[self._inner.survivors()] = True
        return Estimate(
            theta=found.theta,
            means=means,
            widths=widths,
            radius=found.radius,
            candidates=candidates,
            recommended=found.recommended,
            regret_bound=found.regret_bound,
            total_precision=found.total_precision,
            n_told=found.n_told,
            delta=found.delta,
            label=found.label,
            certificate=found.certificate,
        )

    def copy(self) -> Self:
        """An independent copy, with everything told so far."""
        twin = copy(self)
        twin.options = dict(self.options)
        twin._follow(self._inner.copy())
        return twin

    def fresh(self, actions: Any = None, horizon: int | None = None) -> Any:
        """The same rule and options before any measurement, perhaps on other actions."""
        listed = self.actions if actions is None else actions
        listed = listed if isinstance(listed, ActionSet) else ActionSet(listed)
        kind = LongListPolicy if is_faster(self.rule, listed, self.options) else Policy
        return kind(self.rule, listed, self.options, horizon=horizon or self.horizon)

    def resume(self, saved: Saved) -> None:
        """Take over what was told to a saved policy of the same rule, options and actions."""
        self._inner.resume(saved)
        self._follow(self._inner)
