"""Contract suites for rules, stores and readers, ours and yours: what each promises, checked by running."""

from noisewise.testing.contract import CHECKS, check_rule
from noisewise.testing.reader_contract import READER_CHECKS, check_reader
from noisewise.testing.set_contract import SET_CHECKS, check_rule_on_sets
from noisewise.testing.storage import STORAGE_CHECKS, check_storage

__all__ = [
    "CHECKS",
    "READER_CHECKS",
    "SET_CHECKS",
    "STORAGE_CHECKS",
    "check_reader",
    "check_rule",
    "check_rule_on_sets",
    "check_storage",
]
