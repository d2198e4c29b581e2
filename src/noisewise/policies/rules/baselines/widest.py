"""Always the widest action, nothing eliminated: VAEE's exploration alone."""

from noisewise.core.choice.selection import Mask
from noisewise.core.choice.selection import widest as widest_of
from noisewise.core.model.dense import Floats
from noisewise.policies.shared import least_squares
from noisewise.policies.shared.least_squares import Params, State
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor
from noisewise.policies.shell.rule import own_ball, rule_in


def choose(params: Params, state: State, allowed: Mask, sigma: float, draws: Floats) -> int:
    """The widest action."""
    return widest_of(state.model, allowed)


def aim(params: Params, state: State, draws: Floats, direction: Floats) -> float:
    """On a set of vectors: nothing but the width counts."""
    direction[:] = 0.0
    return 1.0


RULE = rule_in(
    __name__,
    name="widest",
    make_params=least_squares.plain_params,
    init=least_squares.plain_init,
    absorb=least_squares.learn,
    imagine=least_squares.imagine,
    recommend=least_squares.best_mean,
    radius=least_squares.present_radius,
    ball=own_ball,
    candidates=least_squares.not_ruled_out,
    on_sets=OnSets(aim),
    catch_up=least_squares.nothing_else,
    order_free=True,
    pools=True,
    reference="uncertainty sampling: Algorithm 1 of Breaking the Total Variance Barrier, nothing eliminated",
    guarantee="anytime certificate; simple regret 2·radius·x, as vaee, for recommendation='best'",
    cost="n·dim",
)


widest = constructor(
    RULE,
    SharedOptions,
    "Always measure the widest action; recommend the largest mean. VAEE without elimination.",
)
