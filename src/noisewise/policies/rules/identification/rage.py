"""RAGE (Fiez, Jain, Jamieson and Ratliff 2019): phases that measure what best tells the survivors apart."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet
from noisewise.core.choice.radius import Radius, confidence_radius
from noisewise.core.choice.selection import Mask, first_best
from noisewise.core.model.covariances import contrast_widths
from noisewise.core.model.dense import Floats, new_model
from noisewise.core.support.checks import check_choice, check_positive
from noisewise.policies.rules.identification.phased_elimination import (
    State,
    absorb,
    choose,
    error,
    wants_plan,
)
from noisewise.policies.shared.alternatives import COPY
from noisewise.policies.shared.least_squares import Setting, make_setting
from noisewise.policies.shell.options import SharedOptions, constructor, option
from noisewise.policies.shell.rule import anytime, below, rule_in

#: Phases are so much longer than needed, as published: there it makes up for rounding.
ROUNDING = 1.1
#: Directions that a phase's vectors have a smaller share of are rounding.
SPANNED = 1e-10
#: A phase may be this much longer than the best design would make it.
GAP = 0.01


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    anytime: Radius  # at half of delta; the other half is for the phases
    first: Floats  # (n,): the precision that the first phase wants of each action
    phase_delta: float  # what all phases together may err
    scale: float
    judges_by_all: bool  # by all measurements instead of those of the phase


class Phase(NamedTuple):
    """A design for the survivors."""

    shares: Floats  # (n,)
    value: float  # the largest ‖a - b‖² of two survivors under it


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Check the options, and plan the first phase."""
    scale = check_positive("scale", options["scale"])
    setting, anytime = make_setting(actions, options), half_radius(actions, options)
    by_all = check_choice("judge_by", options["judge_by"], ("phase", "all")) == "all"
    params = Params(setting, anytime, np.zeros(actions.n_actions), options["delta"] / 2.0, scale, by_all)
    design = design_for(setting, np.ones(actions.n_actions, dtype=np.bool_))
    return params if design is None else params._replace(first=wanted_precision(params, design, 1))


def half_radius(actions: ActionSet, options: dict[str, Any]) -> Radius:
    """The anytime radius at half of delta: the other half is for the phases."""
    return make_setting(actions, options | {"delta": options["delta"] / 2.0}).radius


def design_for(setting: Setting, survivors: Mask, precisions: Floats | None = None) -> Phase | None:
    """Shares of **all** actions for the least ``max ‖a - b‖²`` over survivors; None if there are not two."""
    from noisewise.designs import Pairs, transductive_design

    vectors = np.ascontiguousarray(setting.columns.T, dtype=np.float64)
    alive = vectors[survivors]
    if np.abs(alive - alive[0]).max() <= COPY * setting.radius.max_norm:
        return None
    found = transductive_design(vectors, Pairs(alive), weights=precisions, gap=GAP)
    return Phase(found.dense(), found.value)


def wanted_precision(params: Params, design: Phase, phase: int) -> Floats:
    """``2·log(2n²/δ_ℓ)·ρ·share/ε²`` for each action, with ``δ_ℓ = δ/ℓ²``: differences known to ``ε = 2^-ℓ``.

    In units of the largest possible value. With equal sigmas it is the number of measurements times 1/σ².
    """
    doubt = ROUNDING * union(params, phase) * params.scale**2
    return np.asarray(2.0 * doubt * design.value * design.shares / error(params.setting, phase) ** 2)


def union(params: Params, phase: float) -> float:
    """``log(2n²/δ_ℓ)``: all pairs, both ways, in all phases."""
    return math.log(2.0 * params.first.size**2 * phase**2 / params.phase_delta)


def init(params: Params) -> State:
    """All actions survive; the first phase begins."""
    model = new_model(params.setting.columns, params.setting.ridge)
    n = model.means.size
    survivors, wanted = np.ones(n, np.bool_), params.first.copy()
    return State(model, survivors, wanted, np.zeros(n), np.zeros(n), np.ones(1), missing(wanted))


def missing(wanted: Floats) -> Floats:
    """How many actions are still to be measured; without a design nothing ever ends."""
    count = np.count_nonzero(wanted)
    return np.array([float(count) if count else math.inf])


def plan(params: Params, state: State) -> None:
    """End of a phase: drop what another survivor beats by more than the noise explains, and design anew."""
    reach = params.scale * math.sqrt(2.0 * union(params, state.phase[0]))
    rows = np.flatnonzero(state.survivors)
    if params.judges_by_all:
        values = state.model.means[rows]
        widths = np.array([contrast_widths(state.model, int(row))[rows] for row in rows])
    else:
        values, widths = judged_by_phase(params.setting, state, rows)
    lead = values[None, :] - values[:, None]
    state.survivors[rows] = ~((lead >= reach * widths) & (lead > 0.0)).any(axis=1)
    design = design_for(params.setting, state.survivors)
    begin(state, None if design is None else wanted_precision(params, design, int(state.phase[0]) + 1))


def judged_by_phase(setting: Setting, state: State, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """The values of some actions by this phase alone, and the widths of their differences, (m, m)."""
    from scipy.spatial.distance import cdist

    estimate, root = phase_estimate(setting, state.given, state.sums)
    vectors = np.asarray(setting.columns[:, rows].T, dtype=np.float64)
    whitened = vectors @ root
    return vectors @ estimate, np.asarray(cdist(whitened, whitened))


def phase_estimate(setting: Setting, given: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Least squares on the measurements of one phase alone, and a root W of ``V⁻¹ = W·Wᵀ`` on their span.

    What is spanned is judged by the vectors alone: beside one measurement of weight 1e16 all others would
    look like rounding. For the same reason V is never formed, and heavy rows come first.
    """
    from scipy.linalg import qr, solve_triangular

    used = np.flatnonzero(given)
    used = used[np.argsort(-given[used], kind="stable")]
    vectors = np.asarray(setting.columns[:, used].T, dtype=np.float64)
    _, sizes, directions = np.linalg.svd(vectors, full_matrices=False)
    basis = directions[sizes > SPANNED * sizes.max(initial=0.0)].T
    if basis.shape[1] == 0:
        return np.zeros(len(basis)), basis
    weights = np.sqrt(given[used])
    rotation, triangle, order = qr(vectors @ basis * weights[:, None], mode="economic", pivoting=True)
    root = np.asarray(basis[:, order] @ solve_triangular(triangle, np.eye(order.size)))
    return root @ (rotation.T @ (sums[used] / weights)), root


def begin(state: State, wanted: Floats | None) -> None:
    """The next phase; with one survivor the last design goes on, to be twice as exact."""
    state.phase[0] += 1.0
    state.wanted[:] = 4.0 * state.wanted if wanted is None else wanted
    state.given[:] = 0.0
    state.sums[:] = 0.0
    state.missing[:] = missing(state.wanted)


def recommend(params: Params, state: State) -> int:
    """The largest mean, over all measurements, among the survivors."""
    return first_best(state.model.means, state.model.squared_widths, state.survivors)


def candidates(params: Params, state: State) -> Mask:
    """The survivors."""
    return state.survivors


def ball(params: Params) -> Radius:
    """Of the anytime part, at half of delta."""
    return params.anytime


def radius(params: Params, state: State) -> float:
    """The anytime radius, at half of delta."""
    return confidence_radius(params.anytime, state.model)


def certificate(params: Params, state: State) -> str:
    """When the bound holds; what phases dropped is part of it."""
    doubts = ("judge_by='all'" if params.judges_by_all else "", below("scale", params.scale))
    unproven = " and ".join(doubt for doubt in doubts if doubt)
    dropped = ", about what was dropped" if unproven else ""
    return anytime(params, "if no sigma depends on values", unproven=unproven) + dropped


RULE = rule_in(
    __name__,
    name="rage",
    choose=choose,
    absorb=absorb,
    wants_plan=wants_plan,
    fixed_set=True,
    reference="Fiez, Jain, Jamieson and Ratliff, Sequential experimental design for transductive linear "
    "bandits, Algorithm 1 with the elimination of the authors' code; in precision instead of counts here",
    year=2019,
    guarantee="the best survives all phases with probability 1 - delta/2, if sigmas do not depend on values; "
    "anytime certificate among the survivors; stop='gap' with a tiny eps is its own stopping rule",
    cost="n·dim, and a design per phase",
)


class RageOptions(SharedOptions):
    """RAGE: in every phase, measure by the design that best tells the survivors apart, whatever it is on.

    Unlike `phased_elimination` it may measure actions that cannot be the best any more. Phases count
    precision, which is the same as measurements when all sigmas are equal; each is twice as exact as the one
    before, and its survivors are judged by its measurements alone, at half of delta.

    It differs from the paper in two ways besides. A phase has no minimum length: the paper needs one to round
    shares to whole numbers of measurements, and precision is not rounded. And the error of phase ℓ is
    ``2^-ℓ`` of the largest possible value, ``norm_bound`` times the longest vector, where the paper has
    ``2^-ℓ`` for values of at most 1: the same rule in any unit.
    """

    judge_by: str = option(
        "phase",
        '``"phase"``, or ``"all"``: survivors are judged by all measurements so far, as in a later rerun '
        "by others; it ends sooner, but nothing is proven about it.",
    )
    scale: float = option(
        1.0, "Multiplies the error allowed for noise, so a phase is scale² as long; 1 is faithful."
    )


rage = constructor(RULE, RageOptions)
