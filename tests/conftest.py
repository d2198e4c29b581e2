"""What all tests share."""

import gc
import os
import re
import resource
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

# Tests run side by side: one BLAS thread each, set before NumPy is imported by any of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.effort import LONG

# A shell starts background jobs with SIGINT ignored, and child processes inherit that. Tests interrupt some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

#: How many tests were left to the long suite, by the kind that their marker names.
LEFT_OUT = pytest.StashKey()

# The same examples every time: a failure is a bug, not bad luck.
hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("fixed")

#: Tests that compile the loop of the rule that their parameters name first.
BY_RULE = (
    "contracts/test_rules.py",
    "statistical/test_confidence_sets.py",
    "statistical/test_coverage.py",  # by radius
)
#: Tests that compile kernels of their own, or a rule's loop more than once, or share what was simulated, a
#: cluster, a browser or all sources parsed, which every process that has one of them would have to make.
BY_FILE = (
    "rules/test_vagd.py",
    "rules/test_voful.py",
    "shared/test_restarted_radius.py",
    "simulation/test_sets.py",
    "certificate/test_certificate.py",
    "golden/test_oracle.py",
    "cli/test_clusters.py",
    "core/test_parallel.py",
    "running/test_run_elsewhere.py",
    "report/test_report_in_a_browser.py",
    "pages/test_in_a_browser.py",
    "tests/test_house.py",
    "tests/test_tests.py",
)


#: Seconds after which a test is considered stuck.
PATIENCE = 600


def within_patience(item):
    """Run a phase of a test, and fail it where it is once it has taken too long."""

    def give_up(signum, frame):
        raise TimeoutError(
            f"{item.nodeid} took more than {PATIENCE} s; it waits for something that never comes."
        )

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


def pytest_collection_modifyitems(config, items):
    """Leave tests marked `long` to `make test-long`, unless they are selected by name."""
    config.stash[LEFT_OUT] = Counter()
    if LONG or "::" in " ".join(config.args) or config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("long")]
    if left_out:
        config.stash[LEFT_OUT].update(item.get_closest_marker("long").args[0] for item in left_out)
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_sessionfinish(session):
    """Send the main process what this worker left out; every worker collects the same tests."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = dict(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    node.config.stash[LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(terminalreporter, config):
    """Report what was left out or skipped, and the processor time of the run with all its child processes."""
    left_out = config.stash.get(LEFT_OUT, Counter())
    if left_out:
        kinds = ", ".join(f"{kind} {many}" for kind, many in left_out.most_common())
        terminalreporter.write_line(f"Left to `make test-long`: {left_out.total()} tests ({kinds}).")
    skipped = Counter(report.longrepr[2] for report in terminalreporter.getreports("skipped"))
    for reason, many in skipped.most_common():
        terminalreporter.write_line(f"{many} tests skipped: {reason.removeprefix('Skipped: ')}")
    seconds = sum(
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    loop = calibration()
    terminalreporter.write_line(
        f"Processor time: {seconds:.0f} s, {seconds / loop:.0f} calibration loops of {loop:.2f} s."
    )


def calibration():
    """Processor seconds of a fixed loop, the median of three; tells machines of different speed apart."""
    found = []
    for _ in range(3):
        began, total = time.process_time(), 0
        for number in range(10_000_000):
            total += number
        found.append(time.process_time() - began)
    return sorted(found)[1]


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
            return file if file.endswith(BY_FILE) or "test_arena" in file else nodeid

    return Together(config, log)
