"""One BLAS thread for small studies, all processors for large ones, and what the person says before both."""

import json
import os
import subprocess
import sys

import pytest

from noisewise.cli import threads

#: Those that this process may use.
PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
CODE = """
import json, sys
from noisewise.cli.app import app
from noisewise.cli.threads import threads_for
app(["init", sys.argv[1], "A", "B", "--eps", "1"], standalone_mode=False)
from threadpoolctl import threadpool_info
def count():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
small = count()
threads_for(5000)
print(json.dumps([small, count()]), file=sys.stderr)
"""


def counted(tmp_path, **environment):
    clean = {name: value for name, value in os.environ.items() if name not in threads.VARIABLES}
    command = [sys.executable, "-c", CODE, str(tmp_path / "s.db")]
    done = subprocess.run(command, capture_output=True, text=True, env=clean | environment, check=True)
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.skipif(PROCESSORS < 2, reason="there is one processor")
def test_a_command_begins_with_one_thread_and_takes_more_for_large_matrices(tmp_path):
    small, large = counted(tmp_path)
    assert set(small) == {1}
    assert max(large) == PROCESSORS


@pytest.mark.skipif(PROCESSORS < 2, reason="there is one processor")
def test_what_the_person_says_stands(tmp_path):
    small, large = counted(tmp_path, OPENBLAS_NUM_THREADS="2")
    assert small == large
    assert max(small) == 2
