"""Precision tracking: designs for the differences that still matter, tracked in precision, phase by phase."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.radius import Radius, confidence_radius
from noisewise.core.choice.selection import Mask, drop_ruled_out, first_best, regret_bound, widest
from noisewise.core.model.covariances import contrast_widths
from noisewise.core.model.dense import DenseModel, Floats, fold, new_dense
from noisewise.core.support.checks import check_choice, check_number
from noisewise.policies.rules.ours.precision_tracking.looks import FIRST as FIRST_LEVEL
from noisewise.policies.rules.ours.precision_tracking.looks import (
    Looks,
    claims_of,
    delta_at,
    multiplier,
    squared_width_at,
    whitened,
)
from noisewise.policies.shared.least_squares import Setting, make_setting
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import anytime, rule_in

NOISES = ("gaussian", "sub-gaussian")
#: The ridge of a phase shifts no difference by more than this share of its width.
PULL = 1e-3
#: A design may need so much more precision than the best one: exact designs take longer to compute.
GAP = 0.1
#: A phase ends early if a new one, which starts from nothing, needs at most this share of what is left.
WORTH_IT = 0.5
#: New designs are looked for when this share of the compared has been ruled out.
RULED_OUT = 0.3
#: With fewer measurements per dimension that carry a phase's precision, it is too dear to be given up.
LUMPS = 2.0
#: By then widths have fallen by forty decades.
MOST_LEVELS = 1000

# What the ledger holds: the phase, the next level and the squared width it waits for, the bound of the first
# level, the action that widths are taken to, whether a look is due, and the sum of the phase's 1/σ⁴.
PHASE, LEVEL, NEXT, START, REFERENCE, DUE, SQUARES = range(7)


class Params(NamedTuple):
    """The design of the first phase, and what does not change."""

    setting: Setting
    anytime: Radius  # of half the delta
    shares: Floats  # (n,)
    looks: Looks


class State(NamedTuple):
    """The model of everything told, that of the phase, and what was found out."""

    model: DenseModel
    phase: DenseModel
    candidates: Mask  # (n,): what may still be the best
    compared: Mask  # (n,): the candidates when the phase began
    shares: Floats  # (n,): the design of the phase
    given: Floats  # (n,): Σ 1/σ² in the phase
    claims: Floats  # (n,): the smallest regret bound that any look has given
    ledger: Floats  # (7,)


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options, and design the first phase."""
    setting = make_setting(actions, options)
    half = options["delta"] / 2.0
    anytime = make_setting(actions, options | {"delta": half}).radius
    eps = check_number("eps", options["eps"])
    if eps < 0.0:
        raise ValueError(f"`eps` must be at least 0; got {options['eps']!r}.")
    gaussian = check_choice("noise", options["noise"], NOISES) == "gaussian"
    shares, _ = design_for(setting, np.arange(actions.n_actions))
    return Params(setting, anytime, shares, Looks(half, PULL, eps, gaussian))


def design_for(setting: Setting, rows: Any) -> tuple[Floats, float]:
    """Shares of precision under which the widest difference of these actions is narrowest, and its square."""
    from noisewise.designs import Pairs, transductive_design

    vectors = np.ascontiguousarray(setting.columns.T, dtype=np.float64)
    if not np.ptp(vectors[rows], axis=0).any():
        return np.full(len(vectors), 1.0 / len(vectors)), 0.0  # nothing to tell apart
    design = transductive_design(vectors, Pairs(vectors[rows]), gap=GAP)
    return design.dense(), design.value


def init(params: Params) -> State:
    """All actions are candidates; the first phase begins."""
    model, phase = new_dense(params.setting.columns, params.setting.ridge), _empty_phase(params)
    n = model.means.size
    everybody = np.ones(n, np.bool_)
    claims, ledger = np.full(n, np.inf), np.zeros(7)
    state = State(
        model, phase, everybody, everybody.copy(), params.shares.copy(), np.zeros(n), claims, ledger
    )
    _begin_phase(params, state, params.shares, reference=0)
    return state


def _empty_phase(params: Params) -> DenseModel:
    return new_dense(params.setting.columns, (PULL / params.setting.radius.norm_bound) ** 2)


def _begin_phase(params: Params, state: State, shares: Floats, reference: int) -> None:
    """Forget the measurements of the last phase; compare what is left."""
    limits, ledger = params.setting.radius, state.ledger
    state.compared[:] = state.candidates
    state.shares[:] = shares
    state.given[:] = 0.0
    for array, fresh in zip(state.phase[1:], _empty_phase(params)[1:], strict=True):
        array[...] = fresh
    claim = min(2.0 * limits.norm_bound * limits.max_norm, float(state.claims.min()))
    first = FIRST_LEVEL * params.looks.eps
    ledger[PHASE] += 1.0
    # A later phase need not look before it can say more than is known.
    ledger[START] = claim if first == 0.0 else first if ledger[PHASE] == 1.0 else min(first, claim)
    ledger[LEVEL], ledger[REFERENCE], ledger[DUE], ledger[SQUARES] = 1.0, reference, 0.0, 0.0
    ledger[NEXT] = _next(params, state)


def _next(params: Params, state: State) -> float:
    """The squared width that the next level waits for; 0 after the last one."""
    phase, level = int(state.ledger[PHASE]), int(state.ledger[LEVEL])
    if level > MOST_LEVELS:
        return 0.0
    return squared_width_at(
        params.looks, float(state.ledger[START]), phase, level, int(np.count_nonzero(state.compared))
    )


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """Of the design's actions that lag behind their shares of the phase's precision, the one known least."""
    lagging = allowed & (state.shares > 0.0) & (state.given <= state.shares * state.given.sum())
    if not lagging.any():
        return widest(state.model, allowed)
    return widest(state.phase, lagging)


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn; what belongs to the design also counts for the phase, and may make a look due."""
    fold(state.model, action, reward, sigma)
    drop_ruled_out(state.model, state.candidates, confidence_radius(params.anytime, state.model))
    # What is off the design may have been chosen by its values: it stays out of the phase.
    if state.shares[action] > 0.0:
        fold(state.phase, action, reward, sigma)
        precision = 1.0 / (sigma * sigma)
        state.given[action] += precision
        state.ledger[SQUARES] += precision * precision
        if widest_difference(state) < state.ledger[NEXT]:
            state.ledger[DUE] = 1.0


def widest_difference(state: State) -> float:
    """The largest squared width of a difference to the reference: sigmas decide it, and no reward."""
    widths = contrast_widths(state.phase, int(state.ledger[REFERENCE]))
    return float(np.max(np.where(state.compared, widths, 0.0)) ** 2)


def imagine(params: Params, state: State, action: int, sigma: float) -> None:
    """A pending measurement also counts for the phase, but makes no look due.

    A look judges by the phase's rewards, and what is measured in a phase must not depend on them.
    """
    due = state.ledger[DUE]
    absorb(params, state, action, state.model.means[action], sigma)
    state.ledger[DUE] = due


def wants_plan(params: Params, state: State) -> bool:
    """When a look is due."""
    return bool(state.ledger[DUE] > 0.0)


def plan(params: Params, state: State) -> None:
    """Look: spend the delta of all levels that were reached, rule out, claim; perhaps begin a new phase."""
    ledger, delta, reached = state.ledger, 0.0, widest_difference(state)
    while ledger[NEXT] > reached:
        delta += delta_at(params.looks, int(ledger[PHASE]), int(ledger[LEVEL]))
        ledger[LEVEL] += 1.0
        ledger[NEXT] = _next(params, state)
    ledger[DUE] = 0.0
    if delta > 0.0 and np.count_nonzero(state.candidates) > 1:
        anytime = state.model, confidence_radius(params.anytime, state.model)
        left, claims = claims_of(params.looks, state.phase, anytime, state.compared, state.candidates, delta)
        state.candidates[:] = left
        np.minimum(state.claims, claims, out=state.claims)
        _begin_phase_if_worth_it(params, state)


def _begin_phase_if_worth_it(params: Params, state: State) -> None:
    """A new phase, if even from nothing it needs much less precision for the next claim than this one."""
    from noisewise.designs.transductive import Differences

    rows = np.flatnonzero(state.candidates)
    claim = float(state.claims[rows].min())
    few = rows.size <= (1.0 - RULED_OUT) * np.count_nonzero(state.compared)
    carried = state.given.sum() ** 2 >= LUMPS * state.phase.pivots.size * state.ledger[SQUARES]
    if rows.size < 2 or claim <= params.looks.eps or not few or not carried:
        return
    shares, anew = design_for(params.setting, rows)
    points = whitened(state.phase, rows)
    widest_left = Differences(points).worst(np.eye(points.shape[1]), math.inf).largest
    if anew == 0.0 or widest_left <= 0.0:
        return  # copies of each other: nothing is left to tell apart
    # In units of 1/width²: a design of value v gives P/v for precision P.
    aim = max(params.looks.eps, 0.5 * claim)
    factor = multiplier(params.looks, rows.size, delta_at(params.looks, int(state.ledger[PHASE]) + 1, 1))
    wanted = (factor / aim) ** 2
    got = 1.0 / widest_left
    present = _value_of(params.setting, state.shares, rows)
    if anew * wanted <= WORTH_IT * present * (wanted - got):
        leader = int(rows[np.argmax(state.phase.means[rows])])
        _begin_phase(params, state, shares, leader)


def _value_of(setting: Setting, shares: Floats, rows: Any) -> float:
    """The largest ``yᵀV⁻¹y`` over the differences of these actions under a design."""
    from noisewise.designs.transductive import Differences

    support = np.flatnonzero(shares)
    model = new_dense(setting.columns, 1e-12 * setting.radius.max_norm**2)
    for row in support:
        fold(model, int(row), 0.0, 1.0 / math.sqrt(shares[row]))
    points = whitened(model, rows)
    return Differences(points).worst(np.eye(points.shape[1]), math.inf).largest


def ball(params: Params) -> Radius:
    """Of the anytime part, at half of delta."""
    return params.anytime


def radius(params: Params, state: State) -> float:
    """The mixture's over all measurements, with half of delta."""
    return confidence_radius(params.anytime, state.model)


def candidates(params: Params, state: State) -> Mask:
    """What neither certificate has ruled out so far."""
    return state.candidates


def bound(params: Params, state: State, candidates: Mask, action: int, radius: float) -> float:
    """The smaller of what the looks have claimed and what the mixture says now."""
    return min(float(state.claims[action]), regret_bound(state.model, candidates, action, radius))


def recommend(params: Params, state: State) -> int:
    """The best mean, unless a look has claimed more for others: then the best mean of those."""
    leader = first_best(state.model.means, state.model.squared_widths, state.candidates)
    smallest = np.min(np.where(state.candidates, state.claims, np.inf))
    enough = max(smallest, params.looks.eps)
    if state.claims[leader] <= enough:
        return leader
    reach = confidence_radius(params.anytime, state.model)
    if regret_bound(state.model, state.candidates, leader, reach) <= enough:
        return leader
    return first_best(
        state.model.means, state.model.squared_widths, state.candidates & (state.claims <= enough)
    )


def certificate(params: Params, state: State) -> str:
    """What the bound rests on."""
    law = "normal" if params.looks.gaussian else "sub-Gaussian"
    return (
        f"{anytime(params)}, if no sigma depends on measured values and what is measured was "
        "asked for: half of delta by the mixture over all measurements, half by fixed designs on the data of "
        "one phase each, looked at when sigmas alone say so, with deltas that add up and the ridge's bias "
        "included; "
        f"{law} noise"
    )


def explain(params: Params, state: State, action: int, label: Callable[[int], str]) -> str:
    """What the phase is for, and how far the action lags."""
    phase, total = int(state.ledger[PHASE]), float(state.given.sum())
    known = math.sqrt(state.model.squared_widths[action])
    if state.shares[action] == 0.0:
        return f"{label(action)} is no part of the design of phase {phase}; it is known to ±{known:.2g}."
    has = state.given[action] / total if total else 0.0
    return (
        f"To tell {np.count_nonzero(state.compared)} options apart (phase {phase}): {label(action)} should "
        f"get {state.shares[action]:.0%} of the precision and has {has:.0%}; it is known to ±{known:.2g}."
    )


RULE = rule_in(
    __name__,
    name="precision_tracking",
    fixed_set=True,
    reference="ours: docs/precision-tracking.md",
    guarantee="anytime certificate, half of it by fixed designs: no √dim, if no sigma depends on values",
    cost="3·n·dim, a comparison of all candidates per look, a design per phase",
)


class PrecisionTrackingOptions(SharedOptions):
    """Precision tracking: learn the differences of what may be the best, and certify them without √dim."""

    eps: float = option(
        0.0,
        "The regret bound to reach: looks are planned around it, and nothing finer is aimed at. 0: go on "
        "for ever.",
    )
    noise: str = option(
        "gaussian",
        '``"gaussian"``: exact quantiles for comparisons with the best; ``"sub-gaussian"``: a union bound.',
    )


precision_tracking = constructor(RULE, PrecisionTrackingOptions)
