"""What all tests share."""

import gc
import os
import re
import signal
import sys
import threading
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
BY_RULE = (
    "contracts/test_rules.py",
    "contracts/test_scales.py",
    "statistical/test_confidence_sets.py",
    "statistical/test_coverage.py",  # by radius
)
#: Tests that compile kernels of their own, or a rule's loop more than once, or share what was simulated, a
#: cluster, a browser or all sources parsed, which every process that has one of them would have to make.
BY_FILE = (
    "core/choice/test_selection.py",
    "core/model/test_dense.py",
    "rules/test_vagd.py",
    "rules/test_voful.py",
    "shared/test_restarted_radius.py",
    "simulation/test_sets.py",
    "certificate/test_certificate.py",
    "golden/test_oracle.py",
    "cli/test_clusters.py",
    "simulation/test_elsewhere.py",
    "spreading/test_spread.py",
    "running/test_run_elsewhere.py",
    "showing/test_report_in_a_browser.py",
    "pages/test_in_a_browser.py",
    "tests/test_house.py",
    "tests/test_tests.py",
)

#: Seconds after which a test is taken to wait for something that will never come.
PATIENCE = 900


def within_patience(item):
    """A phase of a test, which fails where it stands once it has taken too long."""

    def give_up(signum, frame):
        raise TimeoutError(f"{item.nodeid} has taken {PATIENCE} s: what it waits for does not come.")

    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        return (yield)
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    return (yield from within_patience(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from within_patience(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    return (yield from within_patience(item))


@pytest.fixture
def heeds_ctrl_c():
    """Programs that were begun in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_collection_modifyitems(config, items):
    """Tests marked `long` are for `make test-long`, and for those who name them."""
    from tests.support.effort import LONG

    if LONG or "::" in " ".join(config.args) or config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


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
