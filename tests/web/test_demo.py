"""``noisewise demo --serve``: a study that is measured while it is served."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import noisewise as nw


def test_the_demo_is_served_while_it_is_measured(tmp_path):
    command = [sys.executable, "-m", "noisewise", "demo", "--serve", "--out", str(tmp_path)]
    quiet = {**os.environ, "BROWSER": "true"}  # a browser that shows nothing
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=quiet
    ) as process:
        try:
            said = process.stdout.readline() + process.stdout.readline()
            address = re.search(r"http://\S+/s/models-1/", said)[0]
            before = int(urllib.request.urlopen(f"{address}now", timeout=60).read())
            give_up = time.monotonic() + 60.0
            while int(urllib.request.urlopen(f"{address}now", timeout=60).read()) <= before:
                assert time.monotonic() < give_up
                time.sleep(0.1)
            page = urllib.request.urlopen(address, timeout=60).read().decode()
            assert "Which of 223 options has the largest value?" in page
        finally:
            process.send_signal(signal.SIGINT)
            _, complained = process.communicate(timeout=60)
    assert "Traceback" not in complained
    assert nw.load_study(tmp_path / "models.db", "models-1", read_only=True).n_measurements > 0
