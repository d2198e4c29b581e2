"""What all tests share."""

import gc
import os
import re
import sys
from pathlib import Path

import hypothesis
import pytest

# Tests run side by side: one BLAS thread each, set before NumPy is imported by any of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

# The same examples every time: a failure is a bug, not bad luck.
hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("fixed")

#: Tests that compile the loop of the rule that their parameters name first.
BY_RULE = ("contracts/test_rules.py", "contracts/test_scales.py", "statistical/test_confidence_sets.py")
#: Tests that compile kernels of their own, or a rule's loop more than once, or share what was simulated.
BY_FILE = (
    "core/choice/test_selection.py",
    "core/model/test_dense.py",
    "rules/test_vagd.py",
    "rules/test_voful.py",
    "certificate/test_certificate.py",
)


def pytest_collection_finish():
    """What collecting made stays to the end: nobody need look through it for garbage, again and again."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out tests so that nothing is compiled twice: what compiles rules by rules, kernels by files."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            """What stays in one process; the largest groups are handed out first."""
            file, _, test = nodeid.partition("::")
            if file.endswith(BY_RULE):
                return re.split(r"\W", test.partition("[")[2])[0] or nodeid
            return file if file.endswith(BY_FILE) or "/arena/" in file else nodeid

    return Together(config, log)
