"""Contract suites for rules and stores, ours and yours: what each promises, checked by running it."""

from noisewise.testing.contract import CHECKS, check_rule
from noisewise.testing.set_contract import SET_CHECKS, check_rule_on_sets
from noisewise.testing.storage import STORAGE_CHECKS, check_storage

__all__ = ["CHECKS", "SET_CHECKS", "STORAGE_CHECKS", "check_rule", "check_rule_on_sets", "check_storage"]
