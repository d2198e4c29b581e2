"""Phased elimination: measure the survivors by an optimal design, drop some, and halve the error."""

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions import ActionSet
from noisewise.core.choice.selection import Mask, first_largest, widest
from noisewise.core.model.dense import Floats, fold, new_model
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_positive
from noisewise.policies.shared.budget import recommend
from noisewise.policies.shared.least_squares import Setting, make_setting, not_ruled_out, present_radius
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import own_ball, rule_in

#: A phase may be this much longer than the best design would make it: exact designs take twice the time.
GAP = 0.05


class Params(NamedTuple):
    """The precision that the first phase wants of each action, and what does not change."""

    setting: Setting
    first: Floats  # (n,)
    scale: float


class State(NamedTuple):
    """The model of everything told; the survivors, and what the present phase wants and has got."""

    model: Model
    survivors: Mask  # (n,)
    wanted: Floats  # (n,): precision, 0 off the design
    given: Floats  # (n,): Σ 1/σ²
    sums: Floats  # (n,): Σ reward/σ²
    phase: Floats  # (1,): its number, from 1
    missing: Floats  # (1,): how many actions have not got what is wanted


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options, and plan the first phase."""
    setting = make_setting(actions, options)
    scale = check_positive("scale", options["scale"])
    everybody = np.ones(actions.n_actions, dtype=np.bool_)
    return Params(setting, wanted_precision(setting, scale, everybody, phase=1), scale)


def wanted_precision(setting: Setting, scale: float, survivors: Mask, phase: int) -> Floats:
    """``2·g(π)·π(a)·log(2n·ℓ(ℓ+1)/δ)/ε²`` for each action a, π a G-optimal design of the survivors.

    Then every survivor's value is known to ``ε = 2^-ℓ`` times the largest possible value, except with
    probability ``δ/(ℓ(ℓ+1))``. With equal sigmas it is the number of measurements times 1/σ².
    """
    from noisewise.designs import optimal_design

    rows = np.flatnonzero(survivors)
    shares, g_value = np.ones(1), 1.0  # with one survivor there is nothing to solve
    if rows.size > 1:
        design = optimal_design(np.ascontiguousarray(setting.columns[:, rows].T), gap=GAP)
        shares, g_value = design.dense(), design.g_value
    doubt = math.log(2.0 * survivors.size * phase * (phase + 1) / setting.radius.delta)
    wanted = np.zeros(survivors.size)
    wanted[rows] = 2.0 * scale**2 * g_value * shares * doubt / error(setting, phase) ** 2
    return wanted


def error(setting: Setting, phase: float) -> float:
    """``ε_ℓ``: values are between ± norm_bound·max_norm, and every phase halves what is not known."""
    return float(0.5**phase * setting.radius.norm_bound * setting.radius.max_norm)


def init(params: Params) -> State:
    """All actions survive; the first phase begins."""
    model = new_model(params.setting.columns, params.setting.ridge)
    n = model.means.size
    missing = np.array([float(np.count_nonzero(params.first))])
    survivors = np.ones(n, np.bool_)
    return State(model, survivors, params.first.copy(), np.zeros(n), np.zeros(n), np.ones(1), missing)


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The action of the phase's design that lacks the largest share of what it wants."""
    lacking = (state.given < state.wanted) & allowed
    if not lacking.any():
        return widest(state.model, allowed)
    return first_largest(-state.given / np.maximum(state.wanted, 1e-300), lacking)


def absorb(params: Params, state: State, action: int, reward: float, sigma: float) -> None:
    """Learn; what belongs to the phase counts for it."""
    fold(state.model, action, reward, sigma)
    weight, had = 1.0 / (sigma * sigma), state.given[action]
    # What is measured beyond the plan may have been chosen by its values: it stays out of the phase.
    if had < state.wanted[action]:
        state.given[action] = had + weight
        state.sums[action] += weight * reward
        if had + weight >= state.wanted[action]:
            state.missing[0] -= 1.0


def wants_plan(params: Params, state: State) -> bool:
    """When the phase has got all it wants."""
    return bool(state.missing[0] <= 0.0)


def plan(params: Params, state: State) -> None:
    """End of a phase: estimate from its measurements alone, drop what is 2ε worse, design anew."""
    used = np.flatnonzero(state.given)
    vectors = params.setting.columns[:, used].T.astype(np.float64)
    roots = np.sqrt(state.given[used])
    theta = np.linalg.lstsq(vectors * roots[:, None], state.sums[used] / roots, rcond=None)[0]
    means = theta @ params.setting.columns
    best = means[state.survivors].max()
    state.survivors[:] &= ~(best - means > 2.0 * error(params.setting, state.phase[0]))
    state.phase[0] += 1.0
    state.wanted[:] = wanted_precision(params.setting, params.scale, state.survivors, int(state.phase[0]))
    state.given[:] = 0.0
    state.sums[:] = 0.0
    state.missing[0] = np.count_nonzero(state.wanted)


RULE = rule_in(
    __name__,
    name="phased_elimination",
    recommend=recommend,
    radius=present_radius,
    ball=own_ball,
    candidates=not_ruled_out,
    fixed_set=True,
    reconstruction=True,
    reference="Lattimore and Szepesvári, Bandit Algorithms, chapter 22; in precision instead of counts here",
    year=2020,
    guarantee="cumulative regret √(T·dim·log n) for equal sigmas, so simple regret for "
    "recommendation='uniform-played'; what survives a phase is within 4ε of the best; anytime certificate",
    cost="n·dim, and a design per phase",
)


class PhasedEliminationOptions(SharedOptions):
    """Phased elimination: a G-optimal design of the survivors in every phase, each twice as exact.

    The textbook's phases count measurements; here they count precision, which is the same when all sigmas
    are equal. Survivors are judged by the measurements of one phase; the certificate
    is the anytime one of all measurements and does not rest on the phases.
    """

    scale: float = option(
        1.0, "Multiplies the error allowed for noise, so a phase is scale² as long; 1 is faithful."
    )


phased_elimination = constructor(RULE, PhasedEliminationOptions)
