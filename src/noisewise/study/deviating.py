"""What rules choose from in the model with deviations: options with a part of their own and a border.

The border holds a weight per feature, a level, a place per named block, and the deviations of compared
options. The posterior takes the form of `noisewise.core.independent`, whose verbs serve rules that compute
with no vectors.
"""

from typing import Any, NamedTuple

import numpy as np

from noisewise.actions.independent import IndependentOptions
from noisewise.core.independent import IndependentModel, Separate, set_posterior
from noisewise.core.mixed import eliminate, on_a_level
from noisewise.core.model import LOG_DET, TOLD, TOTAL_PRECISION, Floats
from noisewise.policies.rule import Rule
from noisewise.study.mixed_fit import gather_rows
from noisewise.study.sums import ROWS, Sums


class Layout(NamedTuple):
    """Which unknowns there are besides the options: named blocks that were used, and compared options."""

    blocks: Any
    compared: Any


def layout_of(sums: Sums) -> Layout:
    """The layout of pooled measurements."""
    difference = sums.minus >= 0
    blocks = np.unique(sums.block[~difference])
    compared = np.unique(np.concatenate([sums.plus[difference], sums.minus[difference]]))
    return Layout(blocks[blocks > 0], compared)


def deviating_options(features: Floats, deviation: float, layout: Layout | None) -> IndependentOptions:
    """The options; without a layout the border has only features and a level."""
    n, dim = features.shape
    beside = 0 if layout is None else layout.blocks.size + layout.compared.size
    longest = float(np.sqrt(np.einsum("ij,ij->i", features, features).max() + 1.0 + deviation**2))
    columns = Separate(n, np.arange(n), dim + 1 + beside)
    return IndependentOptions(n, columns=columns, rank=dim + 1, max_norm=longest)


def fill_mixed(
    rule: Rule, params: Any, state: Any, features: Floats | None, sums: Sums, deviation: float
) -> None:
    """Fill a rule's fresh model: with everything measured if it can catch up, else with the prior alone."""
    model = getattr(state, "model", None)
    if not isinstance(model, IndependentModel) or features is None:
        raise ValueError(
            f"the policy {rule.name!r} cannot serve options with deviations: choose another one, such as "
            "'vage', with study.set_policy(...)."
        )
    whole = rule.catch_up is not None
    seen = sums if whole else sums._replace(**{name: getattr(sums, name)[:0] for name in ROWS})
    rows, present = gather_rows(features, seen)
    named = present[present > 0]
    places = np.where(present > 0, np.searchsorted(named, present), -1)
    gone = eliminate(rows, deviation)
    found = on_a_level(gone, features.shape[1], places, named.size, params.setting.ridge)
    tally = {
        LOG_DET: found.log_det,
        TOTAL_PRECISION: float(seen.weight.sum()),
        TOLD: float(sums.n_measurements if whole else 0),
    }
    set_posterior(model, found.own, found.loads, found.border, found.means, tally)
