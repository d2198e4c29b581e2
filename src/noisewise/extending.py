"""What a rule of your own is made of: one module for people who add rules (docs/adding-a-rule.md).

A rule is a child of `Rule` with a name, options as fields, and a method `choose`. There are

- the rule and its policy: `Rule`, `fixed` for an option that cannot be given, `register`, `Policy`, and
  `rule_named` for the class of a rule that is there, to change a part of it;
- what a rule talks to: `Model` on a list of actions, `SetModel` on an infinite set, which `self.model` is;
- verbs on `self.model.arrays`, for what the model has no method for: `covariance_with`, `strongest_rival`,
  `most_telling`, `keep_near_best`, `set_theta`;
- choices among numbers with ties broken on purpose: `first_largest`, `first_best`;
- checks of options, each an error of one sentence: `check_number`, `check_positive`, `check_not_negative`,
  `check_probability`, `check_count`, `check_choice`.
"""

from noisewise.core.checks import (
    check_choice,
    check_count,
    check_not_negative,
    check_number,
    check_positive,
    check_probability,
)
from noisewise.core.model import covariance_with, set_theta
from noisewise.core.selection import first_best, first_largest, keep_near_best, most_telling, strongest_rival
from noisewise.rules.model import Model, SetModel
from noisewise.rules.policy import Policy
from noisewise.rules.registry import register, rule_named
from noisewise.rules.rule import Rule, fixed

__all__ = [
    "Model",
    "Policy",
    "Rule",
    "SetModel",
    "check_choice",
    "check_count",
    "check_not_negative",
    "check_number",
    "check_positive",
    "check_probability",
    "covariance_with",
    "first_best",
    "first_largest",
    "fixed",
    "keep_near_best",
    "most_telling",
    "register",
    "rule_named",
    "set_theta",
    "strongest_rival",
]
