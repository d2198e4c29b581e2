"""A rule behind one address: what lets the replication loop be compiled once, for all rules.

The loop sees a rule whose functions call this address, with a number that says which of them is meant; the
function there, `make_glue`, holds the rule's own few lines. Loaded only where something is compiled.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.choice.selection import Mask
from noisewise.core.compiler.kernels import kernel
from noisewise.core.compiler.pointers import call_address, floats_at, mask_at
from noisewise.core.model.dense import DenseModel, Floats
from noisewise.policies.shared.least_squares import Setting
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.loop import never

CHOOSE, ABSORB, RECOMMEND, RADIUS, CANDIDATES, BOUND, WANTS_PLAN = range(7)


class Params(NamedTuple):
    """What the loop sees of a rule's parameters, and how to call the rule."""

    setting: Setting
    code: int  # the address of the glue
    params: int  # that of the block of the rule's parameters
    state: int  # and of its state
    plans: bool  # whether the rule ever wants to plan
    no_draws: Floats  # (0,)
    no_mask: Mask  # (0,)


class State(NamedTuple):
    """What the loop sees of a rule's state."""

    model: DenseModel


@kernel
def _ask(params: Params, what: int, action: int, one: float, other: float) -> float:
    """Call the rule without a mask and draws."""
    return call_address(  # type: ignore[no-any-return]
        params.code,
        what,
        params.params,
        params.state,
        params.no_mask,
        params.no_draws,
        action,
        one,
        other,
    )


@kernel
def _ask_about(params: Params, what: int, mask: Mask, draws: Floats, action: int, number: float) -> float:
    """Call the rule with them."""
    return call_address(  # type: ignore[no-any-return]
        params.code, what, params.params, params.state, mask, draws, action, number, 0.0
    )


@kernel
def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """As a `Rule` declares it, like all that follow."""
    return int(_ask_about(params, CHOOSE, allowed, draws, 0, sigma))


@kernel
def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    _ask(params, ABSORB, action, reward, sigma)


@kernel
def recommend(params: Params, state: State) -> int:
    return int(_ask(params, RECOMMEND, 0, 0.0, 0.0))


@kernel
def radius(params: Params, state: State) -> float:
    return _ask(params, RADIUS, 0, 0.0, 0.0)


@kernel
def candidates(params: Params, state: State) -> Mask:
    mask = np.empty(state.model.means.size, np.bool_)
    _ask_about(params, CANDIDATES, mask, params.no_draws, 0, 0.0)
    return mask


@kernel
def bound(params: Params, state: State, mask: Mask, action: int, reach: float) -> float:
    return _ask_about(params, BOUND, mask, params.no_draws, action, reach)


@kernel
def wants_plan(params: Params, state: State) -> bool:
    return params.plans and _ask(params, WANTS_PLAN, 0, 0.0, 0.0) > 0.0


def make_glue(rule: Rule) -> Callable[..., float]:
    """The function behind the address of one rule."""
    # Plain functions in a closure: Numba's disk cache knows them by name.
    choose, absorb, recommend = rule.choose, rule.absorb, rule.recommend
    radius_now, candidates_now, bound_now = rule.radius, rule.candidates, rule.bound
    wants_plan = rule.wants_plan or never

    def glue(
        what: int,
        params: Any,
        state: Any,
        mask_address: Any,
        n_mask: int,
        draws_address: Any,
        n_draws: int,
        action: int,
        one: float,
        other: float,
    ) -> float:
        mask = mask_at(mask_address, n_mask)
        if what == CHOOSE:
            return float(choose(params, state, mask, one, floats_at(draws_address, n_draws)))
        if what == ABSORB:
            absorb(params, state, action, one, other)
        elif what == RECOMMEND:
            return float(recommend(params, state))
        elif what == RADIUS:
            return float(radius_now(params, state))
        elif what == CANDIDATES:
            found = candidates_now(params, state)
            for k in range(n_mask):
                mask[k] = found[k]
        elif what == BOUND:
            return float(bound_now(params, state, mask, action, one))
        elif wants_plan(params, state):
            return 1.0
        return 0.0

    return glue
