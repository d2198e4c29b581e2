"""Many processes on one store, one of them killed again and again: nothing acknowledged may be lost.

The tests run a small one; ``python -m benchmarks faults`` runs it in full on SQLite and on PostgreSQL.
"""

import argparse
import functools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import noisewise as nw
from noisewise.study.stores import postgres, sqlite

OPTIONS = 40
ROOT = Path(__file__).parents[2]
#: Where a worker kills itself: a commit that was not sent, one whose answer never came, and a measurement
#: that was acknowledged and not noted.
BEFORE, AFTER, ACKNOWLEDGED = POINTS = "before a commit", "after a commit", "acknowledged"


class Outcome(NamedTuple):
    """What was found when everybody had finished."""

    seconds: float
    acknowledged: int
    lost: int  # acknowledged, but not in the log, or with another value
    doubled: int  # in the log more than once
    waited: int  # clear time-outs
    errors: list[str]  # anything else
    kills: int
    same: bool  # whether all ways to the state agree


def main() -> None:
    """One worker: ask, measure, tell, and note what was acknowledged."""
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("name")
    parser.add_argument("who")
    parser.add_argument("count", type=int)
    parser.add_argument("notes", type=Path)
    parser.add_argument("--die", choices=POINTS)
    parser.add_argument("--after", type=int, default=0)
    given = parser.parse_args()
    die = Death(given.die, given.after)
    study = nw.load_study(given.address, given.name)
    rng = np.random.default_rng(abs(hash((given.who, os.getpid()))) % 2**32)
    done = len(given.notes.read_text().splitlines()) if given.notes.exists() else 0
    with given.notes.open("a") as notes:
        while done < given.count:
            try:
                (job,) = study.ask(by=given.who)
                value, se = measure(job.option, rng)
                key = f"{given.who}/{os.getpid()}/{done}"
                study.tell(job, value, se=se, key=key)
            except TimeoutError as waited:
                sys.stdout.write(f"waited: {waited}\n")
                continue
            die.at(ACKNOWLEDGED)
            notes.write(json.dumps([key, job.option, value]) + "\n")
            notes.flush()
            done += 1
    sys.stdout.write(study.certificate().to_json().replace("\n", " ") + "\n")


class Death:
    """Kills this process when it comes to a point, after it has come there a number of times."""

    def __init__(self, point: str | None, after: int) -> None:
        self._point, self._left = point, after
        for module in (sqlite, postgres):
            module.send_commit = functools.partial(self._commit, module.send_commit)

    def at(self, point: str) -> None:
        """The process is at a point."""
        if point == self._point:
            self._left -= 1
            if self._left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def _commit(self, send: Callable[[Any], None], connection: Any) -> None:
        self.at(BEFORE)
        send(connection)
        self.at(AFTER)


def measure(option: str, rng: np.random.Generator) -> tuple[float, float]:
    """A measurement with one of three error bars."""
    se = float(rng.choice([0.1, 0.5, 1.0]))
    return int(option[1:]) / 20.0 + se * float(rng.standard_normal()), se


def run(address: str, folder: Path, *, workers: int, count: int, kills: int, seed: int = 0) -> Outcome:
    """Let them all work, the first of them killed at random points, and look at what is there."""
    start, chance, name = time.perf_counter(), random.Random(seed), f"workers {seed}"
    options = [f"o{k}" for k in range(OPTIONS)]
    nw.create_study(address, name=name, options=options, eps=0.01)

    def begin(who: int, *more: str) -> subprocess.Popen[str]:
        arguments = [address, name, f"w{who}", str(count), folder / f"w{who}.jsonl", *more]
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.workers", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        )  # fmt: skip

    others = [begin(who) for who in range(1, workers)]
    killed = 0
    for kill in range(kills):
        # Few enough that there is work left for the next one: telling takes two commits.
        victim = begin(0, "--die", POINTS[kill % 3], "--after", str(chance.randrange(count // (kills + 1))))
        victim.communicate()
        killed += victim.returncode == -signal.SIGKILL
    others.append(begin(0))
    said = [process.communicate() for process in others]
    errors = [err for process, (_, err) in zip(others, said, strict=True) if process.returncode]
    waited = sum(out.count("waited: ") for out, _ in said)
    return _look(address, name, folder, errors, waited, killed, time.perf_counter() - start, said)


def _look(
    address: str,
    name: str,
    folder: Path,
    errors: list[str],
    waited: int,
    killed: int,
    seconds: float,
    said: list[tuple[str, str]],
) -> Outcome:
    study = nw.load_study(address, name)
    table = study.frame("measurements").select("key", "option", "value").rows()
    there = {row[0]: list(row) for row in table}
    # A line that was cut off by the kill was not acknowledged.
    lines = [line for path in folder.glob("w*.jsonl") for line in path.read_text().splitlines(keepends=True)]
    acknowledged = [json.loads(line) for line in lines if line.endswith("\n")]
    lost = sum(there.get(key) != [key, option, value] for key, option, value in acknowledged)
    same = _replays_to_the_same(study)
    for out, _ in said:  # what each worker believed at its end
        last = out.strip().splitlines()[-1:] or [""]
        if last[0].startswith("{"):
            nw.verify_certificate(last[0], study)
    return Outcome(seconds, len(acknowledged), lost, len(table) - len(there), waited, errors, killed, same)


def _replays_to_the_same(study: nw.Study) -> bool:
    """Whether one process that replays the log comes to the same state."""
    alone = nw.MemoryStorage()
    alone.create(study.name, study._log.storage.read(study.name))
    replayed = nw.load_study(alone)
    suggestions: list[Any] = [[j.option for j in s.ask(3, dry_run=True)] for s in (study, replayed)]
    return (
        replayed.certificate().to_json() == study.certificate().to_json()
        and replayed.frame("measurements").equals(study.frame("measurements"))
        and suggestions[0] == suggestions[1]
    )


if __name__ == "__main__":
    main()
