"""A study by its address, beside the same study in a file: what the way costs, and what a worker loads."""

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.servers import ServerProcess

import noisewise as nw
from benchmarks.timing import Row

TIMES, BEFORE = 100, 10
#: A change by address, against the same in a file and an empty answer of the server together.
MOST_TIMES = 2.5
#: A worker that asks and tells once, and what it took: modules, seconds of the processor, megabytes.
WORKER = """
import json, resource, sys
import noisewise as nw
study = nw.load_study(sys.argv[1], "s")
(job,) = study.ask()
study.tell(job, 1.0, se=0.5)
used = resource.getrusage(resource.RUSAGE_SELF)
(most,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(json.dumps([len(sys.modules), used.ru_utime + used.ru_stime, int(most) / 1024.0,
                  [name for name in ("numpy", "polars", "scipy", "sqlalchemy") if name in sys.modules]]))
"""


def rows() -> list[Row]:
    """All figures."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = Path(folder) / "here.db", Path(folder) / "there.db"
        for store in (here, there):
            nw.create_study(store, name="s", options=[f"option {k}" for k in range(20)], eps=0.01)
        with ServerProcess(there) as server:
            studies = nw.load_study(here), nw.load_study(server.url)
            floor = _empty_answer(server.port)
            return [
                _change("tell", *studies, _tell, floor),
                _change("ask and tell", *studies, _ask_and_tell, floor),
                _worker(str(here), server.url),
            ]


def _tell(study: Any) -> None:
    study.tell(option="option 1", value=1.0, se=0.5)


def _ask_and_tell(study: Any) -> None:
    (job,) = study.ask()
    study.tell(job, 1.0, se=0.5)


def _change(name: str, here: Any, there: Any, act: Callable[[Any], None], empty: Callable[[], None]) -> Row:
    """In turn, so that all meet the same moments of a busy machine."""
    taken: list[list[float]] = [[], [], []]
    for turn in range(TIMES + BEFORE):
        for place, one in enumerate((lambda: act(here), lambda: act(there), empty)):
            began = time.perf_counter()
            one()
            if turn >= BEFORE:
                taken[place].append(1e3 * (time.perf_counter() - began))
    in_file, by_address, nothing = map(statistics.median, taken)
    late = statistics.quantiles(taken[1], n=100)[98]
    return Row(
        f"{name} by address, against the same in a file and an empty answer",
        by_address / (in_file + nothing),
        "times",
        MOST_TIMES,
        detail=f"{by_address:.2f} ms (p99 {late:.1f}); in a file {in_file:.2f}, empty answer {nothing:.2f}",
    )


def _empty_answer(port: int) -> Callable[[], None]:
    """Asks whether the server is alive, on a connection that is kept."""
    line = http.client.HTTPConnection("127.0.0.1", port)

    def ask() -> None:
        line.request("GET", "/healthz")
        line.getresponse().read()

    return ask


def _worker(here: str, there: str) -> Row:
    found = []
    for place in (here, there):
        command = [sys.executable, "-c", WORKER, place]
        runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(5)]
        found.append(min(runs, key=lambda run: run[1]))
    (_, slow, large, _), (modules, quick, small, heavy) = found
    assert not heavy, heavy
    return Row(
        "a worker that asks and tells once, against one with a file",
        quick / slow,
        "of its time",
        0.6,
        detail=f"{modules} modules, {quick:.2f} s, {small:.0f} MB; with a file {slow:.2f} s, {large:.0f} MB",
    )
