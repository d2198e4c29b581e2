"""The log beside 0.2.0's, in turn: what a second holds, who waits how long, imports, and opening a study.

``LOG_TURNS`` runs of each (5), of ``LOG_SECONDS`` (2); ratios are medians of the ratios of neighbouring runs.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from tests.support.postgres import NoPostgresError, fresh_database, running_server
from tools.oracle import make_oracle

from benchmarks.timing import Row

TURNS = int(os.environ.get("LOG_TURNS", "5"))
SECONDS = float(os.environ.get("LOG_SECONDS", "2"))
SCRIPT = Path(__file__).with_name("log_player.py")
#: The least ratio to 0.2.0 of changes a second: what, processes, with the real analysis, on PostgreSQL.
RATES = {
    ("tell", 1, False, False): 1.5,
    ("tell", 8, False, False): 1.8,
    ("ask+tell", 1, False, False): 2.0,
    ("ask+tell", 8, False, False): 2.0,
    ("ask+tell", 1, True, False): 1.0,
    ("ask+tell", 8, True, False): 1.0,
    ("ask+tell", 1, False, True): 2.0,
    ("ask+tell", 8, False, True): 2.0,
}


def play(python: str, **case: Any) -> dict[str, float]:
    """What a version says of one case."""
    driver = str(Path(psycopg.__file__).parents[1])
    words = [python, "-P", str(SCRIPT), json.dumps(case)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=os.environ | {"LOG_DRIVER": driver}
    )
    if done.returncode:
        raise RuntimeError(f"{case} failed with {python}:\n{done.stderr[-2000:]}")
    return dict(json.loads(done.stdout))


def in_turn(place: Callable[[], str], turns: int = TURNS, **case: Any) -> list[tuple[dict, dict]]:
    """This version and 0.2.0, each in a fresh store."""
    pythons = sys.executable, str(make_oracle())
    return [tuple(play(python, place=place(), **case) for python in pythons) for _ in range(turns)]


def row(
    name: str, pairs: list[tuple[dict, dict]], of: str, target: float, at_least: bool, unit: float
) -> Row:
    """The median ratio of one figure."""
    ratios = sorted(now[of] / before[of] for now, before in pairs)
    now, before = (statistics.median(one[of] for one in some) for some in zip(*pairs, strict=True))
    detail = f"{ratios[0]:.2f} to {ratios[-1]:.2f}; {unit * now:.4g} beside {unit * before:.4g}"
    found = Row(name, statistics.median(ratios), "x", target, at_least, detail)
    print(f"{name:60s} {found.figure:6.2f} {detail}{'' if found.reached else '  <<<'}", flush=True)
    return found


def rates(place: Callable[[], str], on_postgres: bool) -> Iterator[Row]:
    """Changes a second, waits and fairness."""
    for (what, processes, real, postgres), least in RATES.items():
        if postgres != on_postgres:
            continue
        pairs = in_turn(place, what=what, processes=processes, real=real, seconds=SECONDS)
        name = f"{what}, {processes} processes{', real analysis' if real else ''}"
        name += ", PostgreSQL" if postgres else ""
        yield row(f"{name}: a second", pairs, "rate", least, True, 1.0)
        yield row(f"{name}: processor time of one", pairs, "used", 1.0 / least, False, 1e6)
        yield Row(f"{name}: lost or doubled", sum(now["wrong"] for now, _ in pairs), "", 0)
        if processes > 1:
            yield row(f"{name}: 99th percentile, ms", pairs, "p99", 1.2, False, 1e3)
            share = statistics.median(now["share"] for now, _ in pairs)
            before = statistics.median(before["share"] for _, before in pairs)
            yield Row(f"{name}: slowest over fastest", share, "", 0.4, True, f"0.2.0: {before:.2f}")
            print(f"{name}: slowest over fastest {share:.2f} beside {before:.2f}", flush=True)


def sizes(place: Callable[[], str]) -> Iterator[Row]:
    """Imports, and opening a log of 100,000 events."""
    yield row("import of 100,000 rows", in_turn(place, what="import", rows=100_000), "seconds", 0.2, False, 1)
    memory = play(sys.executable, what="import", rows=1_000_000, place=place())
    yield Row("import of 1,000,000 rows", memory["MB"], "MB", 1000, False, f"{memory['seconds']:.1f} s")
    print(memory, flush=True)
    logs = [(sys.executable, place()), (str(make_oracle()), place())]
    for rows, name, target in ((100_000, "opening 100,000 events", 0.8),):
        for python, log in logs:
            play(python, what="build", rows=rows, place=log)
        pairs = [tuple(play(python, what="open", place=log) for python, log in logs) for _ in range(TURNS)]
        yield row(name, pairs, "seconds", target, False, 1)


def commands(place: Callable[[], str]) -> Iterator[Row]:
    """The command ``noisewise tell`` on a study of 10,000 measurements."""
    logs = [(Path(sys.executable), place()), (make_oracle(), place())]
    for python, log in logs:
        play(str(python), what="build", rows=10_000, place=log)
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=-3); "
    code += "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)"
    pairs = []
    for _ in range(2 * TURNS):
        pair = []
        for python, log in logs:
            told = [str(python.with_name("noisewise")), "tell", log, "o1", "0.5", "--se", "0.1"]
            said = subprocess.run([sys.executable, "-c", code, *told], capture_output=True, text=True)
            if said.returncode:
                raise RuntimeError(said.stderr)
            pair.append({"seconds": float(said.stdout.splitlines()[-1])})
        pairs.append(tuple(pair))
    yield row("noisewise tell, 10,000 measurements", pairs, "seconds", 1.0, False, 1)


@contextmanager
def files() -> Iterator[Callable[[], str]]:
    """Places for new stores."""
    with tempfile.TemporaryDirectory() as folder:
        count = iter(range(10_000))
        yield lambda: f"{folder}/{next(count)}.db"


def rows() -> list[Row]:
    """Everything."""
    with files() as place:
        found = [*rates(place, False), *sizes(place), *commands(place)]
    try:
        with running_server() as server:
            found += rates(lambda: fresh_database(server.address), True)
    except NoPostgresError as reason:
        print(f"without PostgreSQL: {reason}")
    return found
