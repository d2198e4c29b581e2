"""Contract suites for rules, ours and yours: what every rule promises, checked by running it."""

from noisewise.testing.contract import CHECKS, check_rule

__all__ = ["CHECKS", "check_rule"]
