"""Contract suites for rules, ours and yours: what every rule promises, checked by running it."""

from noisewise.testing.contract import CHECKS, check_rule
from noisewise.testing.set_contract import SET_CHECKS, check_rule_on_sets

__all__ = ["CHECKS", "SET_CHECKS", "check_rule", "check_rule_on_sets"]
