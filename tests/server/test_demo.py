"""``noisewise demo --serve``: a study that is measured while it is served."""

import os
import re
import signal
import subprocess
import sys
import urllib.request

import pytest
from tests.support.waiting import wait_until

import noisewise as nw


@pytest.mark.long("servers")
def test_the_demo_is_served_while_it_is_measured(tmp_path):
    command = [sys.executable, "-m", "noisewise", "demo", "--serve", "--out", str(tmp_path)]
    quiet = {
        **os.environ,
        "BROWSER": "true",
        "COLUMNS": "500",
        "NO_COLOR": "1",
    }  # a browser that shows nothing
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=quiet
    ) as process:
        try:
            said = process.stdout.readline() + process.stdout.readline()
            address = re.search(r"http://\S+/s/models-1/", said)[0]

            def number():
                return int(urllib.request.urlopen(f"{address}now", timeout=120).read())

            wait_until(lambda: number() > 0, "a measurement")
            page = urllib.request.urlopen(address, timeout=120).read().decode()
            assert "Which of 223 options has the largest value?" in page
        finally:
            process.send_signal(signal.SIGINT)
            _, complained = process.communicate(timeout=120)
    assert "Traceback" not in complained
    assert nw.load_study(tmp_path / "models.db", "models-1", read_only=True).n_measurements > 0
