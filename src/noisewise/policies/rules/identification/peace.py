"""Peace (Katz-Samuels, Jain, Karnin and Jamieson 2020): epochs that halve the width of what is left."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.actions import ActionSet
from noisewise.core.model.dense import Floats
from noisewise.core.support.checks import check_count
from noisewise.policies.shared import budget
from noisewise.policies.shared.least_squares import Setting, make_setting
from noisewise.policies.shell.options import constructor


class Params(NamedTuple):
    """What does not change during a run."""

    setting: Setting
    rounds: float  # of every epoch
    n_epochs: int
    first: Floats  # (n,): the shares of the first epoch


def make_params(actions: ActionSet, horizon: int | None, options: dict[str, Any]) -> Params:
    """Plan the first epoch; there are ``max(2, ⌈log₂ γ⌉)``, γ the width of all actions."""
    setting = make_setting(actions, options)
    shares, width = design_for(setting, np.arange(actions.n_actions))
    n_epochs = max(2, math.ceil(math.log2(width)) if width > 0.0 else 2)
    return Params(setting, check_count("horizon", horizon) / n_epochs, n_epochs, shares)


def design_for(
    setting: Setting, survivors: NDArray[np.intp], start: Floats | None = None
) -> tuple[Floats, float]:
    """Shares of all actions for the least width γ of the survivors' differences, and γ."""
    from noisewise.designs.transductive.gaussian_width import width_design

    vectors = np.asarray(setting.columns.T, dtype=np.float64)
    alive = vectors[survivors]
    if np.abs(alive - alive[0]).max() == 0.0:
        return np.full(len(vectors), 1.0 / len(vectors)), 0.0
    return width_design(vectors, alive, start)


def init(params: Params) -> budget.State:
    """The first epoch begins."""
    return budget.first_phase(params.setting, params.first, math.floor(params.rounds))


def plan(params: Params, state: budget.State) -> None:
    """End of an epoch: keep as many of the best as have at most half the width, and design for them."""
    epoch = int(state.phase[0])
    if epoch >= params.n_epochs:
        budget.keep_going(state)
        return
    ordered = np.flatnonzero(state.survivors)
    ordered = ordered[np.argsort(-state.model.means[ordered], kind="stable")]
    shares, kept = halved(params.setting, ordered, state.shares)
    if kept.size < 2:  # nothing left to design for: rather than stop early, go on as before
        budget.keep_going(state)
        return
    state.survivors[:] = False
    state.survivors[kept] = True
    budget.begin(state, shares, math.floor((epoch + 1) * params.rounds) - math.floor(epoch * params.rounds))


def halved(setting: Setting, ordered: NDArray[np.intp], start: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The longest prefix of the actions with at most half of their width, by bisection, and its design."""
    _, width = design_for(setting, ordered, start)
    fits, misses, found = 1, ordered.size, start
    while misses - fits > 1:
        middle = (fits + misses) // 2
        # From equal shares: where shares have vanished no step of the solver brings them back.
        shares, part = design_for(setting, ordered[:middle])
        if part <= width / 2.0:
            fits, found = middle, shares
        else:
            misses = middle
    return found, ordered[:fits]


RULE = budget.budget_rule(
    "peace",
    make_params,
    init,
    plan,
    reconstruction=True,
    reference="Katz-Samuels, Jain, Karnin and Jamieson, An empirical process approach to the union bound, "
    "fixed-budget Peace; shares of precision instead of counts here",
    year=2020,
    guarantee="error exponent for equal sigmas; anytime certificate",
    cost="n·dim, and some designs per epoch",
)


class PeaceOptions(budget.BudgetOptions):
    """Peace: divide a budget into epochs, each with a design for the differences of those still in play.

    After each it keeps the longest list of the best whose differences have at most half the width γ, the
    expected error of the difference that noise favours most. It measures all actions, not only those in
    play. Where the original ends before its budget does, this goes on with the last design; that, and how the
    designs are found, makes it our reconstruction.
    """


peace = constructor(RULE, PeaceOptions)
