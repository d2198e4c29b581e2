"""What all tests share."""

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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out tests so that no rule is compiled twice: the contract by rules, long preparations by files."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            """What stays in one process; the largest groups are handed out first."""
            file, _, test = nodeid.partition("::")
            if file.endswith("contracts/test_rules.py"):
                return re.split(r"\W", test.partition("[")[2])[0]
            return file if "/arena/" in file else nodeid

    return Together(config, log)
