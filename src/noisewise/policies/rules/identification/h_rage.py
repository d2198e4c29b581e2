"""H-RAGE (Weltz and others 2023): RAGE for actions that are measured with different, known noise."""

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noisewise.actions import ActionSet
from noisewise.core.choice.radius import Radius
from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_positive
from noisewise.policies.rules.identification.information_directed import known_factors
from noisewise.policies.rules.identification.phased_elimination import State, error
from noisewise.policies.rules.identification.rage import RULE as RAGE
from noisewise.policies.rules.identification.rage import Phase, begin, design_for, half_radius, phase_estimate
from noisewise.policies.shared.least_squares import Setting, make_setting
from noisewise.policies.shell.options import SharedOptions, constructor, option


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    anytime: Radius  # at half of delta; the other half is for the phases
    first: Floats  # (n,): the precision that the first phase wants of each action
    phase_delta: float  # what all phases together may err
    scale: float
    precisions: Floats  # (n,): what one measurement of each action is worth, up to a common factor
    judges_by_all: bool = False  # as RAGE's; it never does


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options, and plan the first phase."""
    scale = check_positive("scale", options["scale"])
    sigmas = known_factors(actions, options["action_sigma"])
    setting, anytime = make_setting(actions, options), half_radius(actions, options)
    nothing = np.zeros(actions.n_actions)
    params = Params(setting, anytime, nothing, options["delta"] / 2.0, scale, sigmas**-2.0)
    design = design_for(setting, np.ones(actions.n_actions, dtype=np.bool_), params.precisions)
    return params if design is None else params._replace(first=wanted_precision(params, design, 1))


def wanted_precision(params: Params, design: Phase, phase: int) -> Floats:
    """``3·log(8ℓ²n/δ)·q·share·precision/ε²`` for each action: differences known to ``ε = 2^-ℓ``.

    The shares are of measurements, and q is the largest ``‖a - b‖²`` under them.
    """
    doubt = 3.0 * math.log(8.0 * phase**2 * params.first.size / params.phase_delta) * params.scale**2
    per_measurement = doubt * design.value / error(params.setting, phase) ** 2
    return np.asarray(per_measurement * design.shares * params.precisions)


def plan(params: Params, state: State) -> None:
    """End of a phase: drop what another survivor beats by more than ε, and design anew."""
    estimate, _ = phase_estimate(params.setting, state.given, state.sums)
    values = np.where(state.survivors, estimate @ params.setting.columns, -np.inf)
    state.survivors[:] &= ~(values.max() - values > error(params.setting, state.phase[0]))
    design = design_for(params.setting, state.survivors, params.precisions)
    begin(state, None if design is None else wanted_precision(params, design, int(state.phase[0]) + 1))


RULE = replace(
    RAGE,
    name="h_rage",
    make_params=make_params,
    plan=plan,
    reference="Weltz, Fiez, Volfovsky, Laber, Mason, Nassif and Jain, Experimental designs for "
    "heteroskedastic variance, H-RAGE with known variances; in precision instead of counts here",
    year=2023,
)


class HRageOptions(SharedOptions):
    """H-RAGE: phases like those of `rage`, designed for how noisy each action is.

    It differs from the original in three ways. The original learns the variances in a first stage; here they
    are known beforehand. A phase has no minimum length: the original needs one to round shares to whole
    numbers of measurements, and precision is not rounded. And the error of phase ℓ is ``2^-ℓ`` of the largest
    possible value, ``norm_bound`` times the longest vector, where the original has ``2^-ℓ`` for values of at
    most 1.
    """

    action_sigma: ArrayLike | None = option(
        None,
        "How noisy each action is, up to a common factor (a simulation brings that of its world); default: "
        "all alike.",
    )
    scale: float = option(
        1.0, "Multiplies the error allowed for noise, so a phase is scale² as long; 1 is faithful."
    )

    def as_dict(self) -> dict[str, Any]:
        """With the sigmas as a plain list, so that a policy can be saved with them."""
        given = None if self.action_sigma is None else np.asarray(self.action_sigma).tolist()
        return super().as_dict() | {"action_sigma": given}


h_rage = constructor(RULE, HRageOptions)
