"""What rules see of the model with deviations: options with a part of their own and a border.

The border holds a weight per feature, a level, a place per named block, and the deviations of compared
options. The posterior takes the form of `core/model/independent.py`, whose verbs serve rules that compute
with no vectors.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from noisewise.actions.independent import IndependentOptions
from noisewise.core.model.dense import LOG_DET, TOLD, TOTAL_PRECISION, Floats
from noisewise.core.model.independent import IndependentModel, Separate, set_posterior
from noisewise.study.models.exact.twofold import Twofold
from noisewise.study.models.exact.weighted_rows import WeightedRows, solve
from noisewise.study.models.features.linear_rows import (
    RowLayout,
    Values,
    lay_out,
    means_of,
    option_values,
)
from noisewise.study.models.rule_view import RuleView
from noisewise.study.models.sums import SharedUnknowns, Sums


def deviating_options(
    features: Floats, deviation: float, shared: SharedUnknowns | None
) -> IndependentOptions:
    """The options; without shared unknowns the border has only features and a level."""
    n, dim = features.shape
    beside = 0 if shared is None else shared.blocks.size + shared.compared.size
    longest = float(np.sqrt(np.einsum("ij,ij->i", features, features).max() + 1.0 + deviation**2))
    columns = Separate(n, np.arange(n), dim + 1 + beside)
    return IndependentOptions(n, columns=columns, rank=dim + 1, max_norm=longest)


def fill_mixed(model: Any, features: Floats, view: RuleView, ridge: float) -> None:
    """Fill a rule's fresh model: with everything measured if it takes that in at once, else with the prior.

    Args:
        model: The rule's model; None if the rule has none.
        features: ``(n, dim)``.
        view: What the rule sees.
        ridge: The rule's prior precision of features, level and blocks.
    """
    if not isinstance(model, IndependentModel):
        raise ValueError(
            f"the policy {view.policy!r} cannot serve options with deviations: choose another one, such as "
            "'vage', with study.set_policy(...)."
        )
    seen = view.sums if view.whole else view.sums.select(slice(0, 0))
    found = on_a_level(features, seen, view.deviation, ridge)
    tally = {
        LOG_DET: found.log_det,
        TOTAL_PRECISION: float(seen.weight.sum()),
        TOLD: float(view.sums.n_measurements if view.whole else 0),
    }
    # The border is counted in independent units of its own error; places that nothing fills stay 0.
    loads = np.zeros_like(model.loads)
    loads[:, : found.loads.shape[1]] = found.loads
    set_posterior(model, found.own, loads, np.eye(loads.shape[1]), found.means, tally)


class LevelPosterior(NamedTuple):
    """The posterior of options on a common level, for rules: see `noisewise.core.model.independent`."""

    own: Floats  # (n,)
    loads: Floats  # (n, q): on unknowns with covariance I
    means: Floats  # (n,)
    log_det: float


def on_a_level(features: Floats, sums: Sums, deviation: float, ridge: float) -> LevelPosterior:
    """The posterior with one level for all options, a place for every named block, and a ridge on each.

    Args:
        features: ``(n, dim)``.
        sums: The pooled measurements.
        deviation: The size of the deviations.
        ridge: Prior precision of features, level and blocks.
    """

    def levelled(exact: bool) -> tuple[RowLayout, WeightedRows, Values]:
        unknowns = lay_out(features, sums, deviation, exact, keep_offsets=True)
        rows, values = unknowns.rows, option_values(unknowns, features)
        offsets, x, loads = unknowns.offsets, unknowns.rows.x, values.loads
        if deviation == 0.0:
            # Offsets, which the linear model eliminates, become unknowns of their own.
            offsets, x, loads = unknowns.blocks, _widened(x, rows.groups), _widened(loads, rows.groups)
            there = np.flatnonzero(rows.group >= 0)
            x.high[there, rows.group[there]] = 1.0
            rows = rows._replace(group=np.full(rows.weight.size, -1), groups=0)
        change = _onto_level(unknowns, offsets)
        loads = _changed(loads, change)
        loads.high[:, unknowns.seats.size] += 1.0  # the level itself
        return unknowns, rows._replace(x=_changed(x, change)), values._replace(loads=loads)

    unknowns, rows, values = levelled(False)
    seats = unknowns.seats.size
    held = np.full(rows.x.shape[1], ridge)
    held[:seats] = 0.0  # deviations have their prior already
    solved = solve(lambda exact: levelled(exact)[1] if exact else rows, held)
    if solved.exact:
        unknowns, rows, values = levelled(True)
    rest = unknowns.log_rest if deviation else 0.0
    return LevelPosterior(
        values.own,
        np.ascontiguousarray(solved.whitened(values.loads).high.T),
        means_of(values, solved).high,
        solved.log_det + rest - (held.size - seats) * math.log(ridge),
    )


def _onto_level(unknowns: RowLayout, offsets: Any) -> Floats:
    """Old unknowns (seats, offsets, weights) from new ones (seats, level, places, weights).

    An offset is the level plus the block's own; that of the block without a name is the level alone.
    """
    seats, dim, named = unknowns.seats.size, unknowns.dim, offsets[offsets > 0]
    change = np.zeros((seats + offsets.size + dim, seats + 1 + named.size + dim))
    change[np.arange(seats), np.arange(seats)] = 1.0
    change[seats : seats + offsets.size, seats] = 1.0
    here = np.flatnonzero(offsets > 0)
    change[seats + here, seats + 1 + np.arange(named.size)] = 1.0
    change[-dim:, -dim:] = np.eye(dim)
    return change


def _widened(numbers: Twofold, count: int) -> Twofold:
    """With columns of 0 in front."""
    zeros = np.zeros((numbers.shape[0], count))
    return Twofold(*(np.column_stack([zeros, part]) for part in numbers))


def _changed(numbers: Twofold, change: Floats) -> Twofold:
    """WeightedRows over the new unknowns; shares of a weight add up to 1 but for rounding."""
    return Twofold(numbers.high @ change, numbers.low @ change)
