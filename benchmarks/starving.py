"""Nobody starves: eight processes that ask and tell on one file, and an import beside a busy worker.

``python -m benchmarks starving`` measures; ``python -m benchmarks.starving rate`` prints one line of JSON,
so that another version of noisewise can be measured in the same way.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from benchmarks.timing import Row

OPTIONS, WORKERS, SECONDS = 60, 8, 20.0
ROWS, PAUSE = 60_000, 0.5


def make_misfit(path: Path) -> None:
    """A linear study whose options do not lie on a plane: the check finds a misfit, which costs time."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((OPTIONS, 5))
    table: dict[str, Any] = {"id": [f"o{k}" for k in range(OPTIONS)]}
    table |= {f"x{j}": features[:, j].tolist() for j in range(5)}
    study = nw.create_study(path, options=table, id="id", model="linear", eps=0.05, span=20.0)
    bent = _bent(features)
    told = {"option": table["id"] * 2, "value": np.tile(bent, 2).tolist(), "se": [0.1] * (2 * OPTIONS)}
    study.tell_many(told)


def _bent(features: Any) -> Any:
    return features[:, 0] + np.sin(3.0 * features[:, 1]) + features[:, 2] ** 2


def work(path: str, seconds: float) -> None:
    """One worker: how many pairs of ask and tell, how many time-outs, and the longest wait."""
    study, rng = nw.load_study(path), np.random.default_rng()
    study.ask(dry_run=True)  # everything is loaded
    print("ready", flush=True)
    sys.stdin.readline()
    pairs, waited, longest, end = 0, 0, 0.0, time.time() + seconds
    while time.time() < end:
        start = time.perf_counter()
        try:
            (job,) = study.ask()
            study.tell(job, float(rng.normal(int(job.option[1:]) % 7)), se=0.1)
            pairs += 1
        except TimeoutError:
            waited += 1
        longest = max(longest, time.perf_counter() - start)
    print(json.dumps({"pairs": pairs, "waited": waited, "longest": longest}))


def rate(workers: int = WORKERS, seconds: float = SECONDS) -> dict[str, Any]:
    """Eight processes on one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        make_misfit(path)
        command = [sys.executable, "-m", "benchmarks.starving", "work", str(path), "--seconds", str(seconds)]
        started = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(workers)
        ]
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()
        said = [json.loads(out) for out in _let_go(started)]
    pairs = [one["pairs"] for one in said]
    return {
        "pairs_per_second": sum(pairs) / seconds,
        "least_share": min(pairs) / max(np.mean(pairs), 1e-9),
        "waited": sum(one["waited"] for one in said),
        "longest": max(one["longest"] for one in said),
    }


def _let_go(ready: list[Any]) -> list[str]:
    """All begin at once; what each said in the end."""
    for process in ready:
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate()[0] for process in ready]


def tell_now_and_then(path: str, seconds: float) -> None:
    """A worker that tells twice a second."""
    study, end = nw.load_study(path), time.time() + seconds
    print("ready", flush=True)
    while time.time() < end:
        study.tell(option="o1", value=1.0, se=0.1)
        time.sleep(PAUSE)


def import_seconds(beside: bool) -> float:
    """How long an import takes, alone or beside a worker that tells twice a second."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        names = [f"o{k}" for k in range(OPTIONS)]
        nw.create_study(path, options=names, eps=0.05)
        picked = rng.integers(OPTIONS, size=ROWS)
        told = {
            "option": [names[k] for k in picked], "value": rng.standard_normal(ROWS).tolist(),
            "se": [1.0] * ROWS, "key": [f"run-{i}" for i in range(ROWS)],
        }  # fmt: skip
        busy = None
        if beside:
            arguments = [sys.executable, "-m", "benchmarks.starving", "tell", str(path), "--seconds", "120"]
            busy = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
            assert busy.stdout is not None
            busy.stdout.readline()
        study = nw.load_study(path)
        start = time.perf_counter()
        try:
            study.tell_many(told)
        finally:
            took = time.perf_counter() - start
            if busy is not None:
                busy.kill()
                busy.communicate()
        return took


def rows() -> list[Row]:
    """How many, how fairly, and how much longer."""
    found = rate()
    alone, beside = import_seconds(False), import_seconds(True)
    detail = f"{OPTIONS} options, a linear model that does not fit; longest wait {found['longest']:.2f} s"
    return [
        Row(
            f"ask + tell by {WORKERS} processes on one file", found["pairs_per_second"], "/s", 144.0, True,
            f"{detail}; 60 x what version 0.1.0 did",
        ),
        Row("the slowest of them, in shares of the mean", found["least_share"], "", 1 / 3, True, detail),
        Row("their time-outs", found["waited"], "", 0, False, detail),
        Row(
            "an import beside a worker that tells twice a second", beside / alone, "x", 1.5, False,
            f"{ROWS:,} rows; alone {alone:.2f} s",
        ),
    ]  # fmt: skip


def main() -> None:
    """One of the processes, or the measurement in one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("work", "tell", "rate", "import"))
    parser.add_argument("path", nargs="?", default="")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    if given.what == "work":
        work(given.path, given.seconds)
    elif given.what == "tell":
        tell_now_and_then(given.path, given.seconds)
    elif given.what == "rate":
        print(json.dumps(rate(seconds=given.seconds)))
    else:
        print(json.dumps({"alone": import_seconds(False), "beside": import_seconds(True)}))


if __name__ == "__main__":
    main()
