"""A rule behind one address: what lets the replication loop be compiled once, for all rules.

The loop sees a rule whose functions call this address, with a number that says which of them is meant; the
function there, `make_glue`, holds the rule's own few lines. Loaded only where something is compiled.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions.oracle_set import Oracle
from noisewise.core.choice.selection import Mask
from noisewise.core.compiler.kernels import kernel
from noisewise.core.compiler.machine_code import MachineCode, MachineLoop
from noisewise.core.compiler.pointers import (
    call_for_action,
    call_for_number,
    floats_at,
    mask_at,
    signature_of,
)
from noisewise.core.compiler.structs import packed
from noisewise.core.model.dense import DenseModel, Floats
from noisewise.policies.shared.least_squares import Setting
from noisewise.policies.shell.on_sets import SetState
from noisewise.policies.shell.recommendation import Advice
from noisewise.policies.shell.rule import Rule
from noisewise.simulation.loop import Script, Truth, make_rounds, never
from noisewise.simulation.record import Record
from noisewise.simulation.set_loop import SetTruth, make_set_rounds
from noisewise.simulation.stopping import Stop

CHOOSE, ABSORB, RECOMMEND, RADIUS, CANDIDATES, BOUND, CERTAIN, WANTS_PLAN = range(8)


class Params(NamedTuple):
    """What the loop sees of a rule's parameters, and how to call the rule."""

    setting: Setting
    code: int  # the address of the glue
    params: int  # that of the block of the rule's parameters
    state: int  # and of its state
    plans: bool  # whether the rule ever wants to plan
    no_draws: Floats  # (0,)
    mask: Mask  # (n,): where the candidates are written


class State(NamedTuple):
    """What the loop sees of a rule's state."""

    model: DenseModel


@kernel
def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """As a `Rule` declares it, like all that follow."""
    action: int = call_for_action(
        params.code, CHOOSE, params.params, params.state, allowed, draws, 0, sigma, 0.0
    )
    return action


@kernel
def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn."""
    nothing = params.no_draws
    call_for_number(
        params.code, ABSORB, params.params, params.state, params.mask, nothing, action, reward, sigma
    )


@kernel
def recommend(params: Params, state: State) -> int:
    """The rule's own advice."""
    action: int = call_for_action(
        params.code, RECOMMEND, params.params, params.state, params.mask, params.no_draws, 0, 0.0, 0.0
    )
    return action


@kernel
def radius(params: Params, state: State) -> float:
    """Of the certificate."""
    number: float = call_for_number(
        params.code, RADIUS, params.params, params.state, params.mask, params.no_draws, 0, 0.0, 0.0
    )
    return number


@kernel
def candidates(params: Params, state: State) -> Mask:
    """What may still be the best; always in the same array."""
    mask = params.mask
    call_for_number(params.code, CANDIDATES, params.params, params.state, mask, params.no_draws, 0, 0.0, 0.0)
    return mask


@kernel
def bound(params: Params, state: State, mask: Mask, action: int, reach: float) -> float:
    """On the regret of an action."""
    nothing = params.no_draws
    number: float = call_for_number(
        params.code, BOUND, params.params, params.state, mask, nothing, action, reach, 0.0
    )
    return number


@kernel
def certain(params: Params, state: State, action: int, eps: float, reach: float) -> bool:
    """That no other action is better by eps."""
    mask, nothing = params.mask, params.no_draws
    number: float = call_for_number(
        params.code, CERTAIN, params.params, params.state, mask, nothing, action, eps, reach
    )
    return number > 0.0


@kernel
def wants_plan(params: Params, state: State) -> bool:
    """Whether to plan now."""
    if not params.plans:
        return False
    mask, nothing = params.mask, params.no_draws
    wants: float = call_for_number(
        params.code, WANTS_PLAN, params.params, params.state, mask, nothing, 0, 0.0, 0.0
    )
    return wants > 0.0


def make_glue(rule: Rule) -> Callable[..., float]:
    """The function behind the address of one rule."""
    # Plain functions in a closure: Numba's disk cache knows them by name.
    choose, absorb, recommend = rule.choose, rule.absorb, rule.recommend
    radius_now, candidates_now, bound_now = rule.radius, rule.candidates, rule.bound
    certain_now, wants_plan = rule.certain, rule.wants_plan or never

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
            return choose(params, state, mask, one, floats_at(draws_address, n_draws))
        if what == ABSORB:
            absorb(params, state, action, one, other)
        elif what == RECOMMEND:
            return recommend(params, state)
        elif what == RADIUS:
            return radius_now(params, state)
        elif what == CANDIDATES:
            found = candidates_now(params, state)
            for k in range(n_mask):
                mask[k] = found[k]
        elif what == BOUND:
            return bound_now(params, state, mask, action, one)
        elif what == CERTAIN:
            return 1.0 if certain_now(params, state, action, one, other) else 0.0
        elif wants_plan(params, state):
            return 1.0
        return 0.0

    return glue


class CompiledLoop:
    """The one loop for all rules, and one rule behind an address; compiled when first called."""

    def __init__(self, rule: Rule, own: Path | None, shared: MachineLoop) -> None:
        self.rule, self.shared = rule, shared
        self.glue = MachineCode(make_glue(rule), own)

    @property
    def codes(self) -> list[MachineCode]:
        """All that is compiled for it."""
        return [self.glue, self.shared]

    def __call__(
        self, params: Any, state: Any, truth: Truth, record: Record, advice: Advice, stop: Stop, start: int
    ) -> tuple[int, bool]:
        """From a round until the end, a stop, or until the rule wants to plan."""
        params_block, state_block = packed(params), packed(state)
        seen = Params(
            setting=params.setting,
            code=self.glue.compiled((params_block.kind, state_block.kind), signature_of).address,
            params=params_block.address,
            state=state_block.address,
            plans=self.rule.wants_plan is not None,
            no_draws=np.empty(0),
            mask=np.empty(truth.means.size, np.bool_),
        )
        script = Script(
            truth=truth,
            means=truth.means,
            action_sigma=truth.action_sigma,
            sigma=truth.sigma,
            noise=truth.noise,
            draws=truth.draws,
            best=float(truth.means.max()),
            allowed=np.ones(truth.means.size, np.bool_),
        )
        done = self.shared(seen, State(state.model), script, record, advice, stop, start)
        return done, bool(record.progress.stopped[0])


class CompiledSetLoop:
    """The loop of one rule on sets of one kind; compiled when first called."""

    def __init__(self, rule: Rule, oracle: Oracle, directory: Path | None) -> None:
        self.code = MachineLoop(make_set_rounds(rule, oracle), directory)

    @property
    def codes(self) -> list[MachineCode]:
        """All that is compiled for it."""
        return [self.code]

    def __call__(
        self,
        params: Any,
        shape: Any,
        last: bool,
        state: SetState,
        truth: SetTruth,
        record: Record,
        stop: Stop,
    ) -> tuple[int, bool]:
        """From the first round to the end or a stop."""
        done = self.code(params, shape, last, state, truth, record, stop)
        return done, bool(record.progress.stopped[0])


def shared_loop(directory: Path | None) -> MachineLoop:
    """The replication loop, with any rule."""
    return MachineLoop(make_rounds(sys.modules[__name__]), directory)
