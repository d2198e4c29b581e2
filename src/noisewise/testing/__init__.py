"""Contract suites for rules and stores, ours and yours: what each promises, checked by running it."""

from noisewise.testing.contract import CHECKS, check_rule
from noisewise.testing.storage import STORAGE_CHECKS, check_storage

__all__ = ["CHECKS", "STORAGE_CHECKS", "check_rule", "check_storage"]
