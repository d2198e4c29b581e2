"""What a rule of your own is made of: one module for people who add rules (docs/adding-a-rule.md).

A rule is a `Rule`: functions on arrays. There are

- the rule and its constructor: `Rule`, `register`, `Policy`, `SharedOptions`, `option`, `fixed`,
  `constructor`, `WIDEST` to start from, `OnSets` for rules that also run on infinite sets;
- the shelf of ready-made parts: `Setting`, `make_setting`, `plain_params`, `plain_init`, `learn`, `imagine`,
  `best_mean`, `present_radius`, `not_ruled_out`, `own_ball`;
- the model and its verbs: `Model`, `new_model`, `copy_model`, `fold`, `theta`, `set_theta`, `log_det`,
  `total_precision`, `covariance_with`, `contrast_widths`, `perturbed_means`, `projections`;
- choices: `first_largest`, `first_largest_candidate`, `first_best`, `most_optimistic`, `most_telling`,
  `strongest_rival`, `drop_ruled_out`, `keep_near_best`, `regret_bound`, `smallest_bound`;
- radii: `Radius`, `make_radius`, `confidence_radius`;
- checks of options, each an error of one sentence: `check_number`, `check_positive`, `check_not_negative`,
  `check_probability`, `check_count`, `check_choice`.
"""

from noisewise.core.choice.radius import Radius, confidence_radius, make_radius
from noisewise.core.choice.selection import (
    drop_ruled_out,
    first_best,
    first_largest,
    first_largest_candidate,
    keep_near_best,
    most_optimistic,
    most_telling,
    regret_bound,
    smallest_bound,
    strongest_rival,
)
from noisewise.core.model.covariances import contrast_widths, covariance_with, perturbed_means
from noisewise.core.model.dense import (
    copy_model,
    fold,
    log_det,
    new_model,
    projections,
    set_theta,
    theta,
    total_precision,
)
from noisewise.core.model.model import Model
from noisewise.core.support.checks import (
    check_choice,
    check_count,
    check_not_negative,
    check_number,
    check_positive,
    check_probability,
)
from noisewise.policies import Policy, Rule, register
from noisewise.policies.rules.baselines import widest
from noisewise.policies.shared.least_squares import (
    Setting,
    best_mean,
    imagine,
    learn,
    make_setting,
    not_ruled_out,
    plain_init,
    plain_params,
    present_radius,
)
from noisewise.policies.shell.on_sets import OnSets
from noisewise.policies.shell.options import SharedOptions, constructor, fixed, option
from noisewise.policies.shell.rule import own_ball

#: A rule that needs nothing special: ``replace(WIDEST, name=..., choose=...)`` makes another.
WIDEST = widest.RULE

__all__ = [
    "WIDEST",
    "Model",
    "OnSets",
    "Policy",
    "Radius",
    "Rule",
    "Setting",
    "SharedOptions",
    "best_mean",
    "check_choice",
    "check_count",
    "check_not_negative",
    "check_number",
    "check_positive",
    "check_probability",
    "confidence_radius",
    "constructor",
    "contrast_widths",
    "copy_model",
    "covariance_with",
    "drop_ruled_out",
    "first_best",
    "first_largest",
    "first_largest_candidate",
    "fixed",
    "fold",
    "imagine",
    "keep_near_best",
    "learn",
    "log_det",
    "make_radius",
    "make_setting",
    "most_optimistic",
    "most_telling",
    "new_model",
    "not_ruled_out",
    "option",
    "own_ball",
    "perturbed_means",
    "plain_init",
    "plain_params",
    "present_radius",
    "projections",
    "register",
    "regret_bound",
    "set_theta",
    "smallest_bound",
    "strongest_rival",
    "theta",
    "total_precision",
]
