"""Measurements and time beside 0.2.0, in one run: ``python -m benchmarks.beside_oracle [worlds]``.

``make oracle`` installs 0.2.0. Worlds are those of `benchmarks.oracle_worlds`, 20 studies each
(``ORACLE_STUDIES=50`` more); ``python -m benchmarks.beside_oracle times`` compares certificate and ask at 10,
150 and 2000 options. Ratios of measurements are geometric means with two standard errors.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from tools.oracle import make_oracle

from benchmarks.oracle_worlds import WORLDS, Played
from benchmarks.timing import Row

STUDIES = int(os.environ.get("ORACLE_STUDIES", "20"))
#: The most measurements, as a part of those of 0.2.0; 1.03 where nothing is said.
TARGETS = {"c3": 0.95, "c1": 0.9, "c2": 0.8, "e1": 0.95, "e2": 0.95}
SIZES = (10, 150, 2000)
KINDS = ("known", "blocks", "counts", "bounded", "readings", "heavy")
SCRIPT = Path(__file__).with_name("oracle_worlds.py")


def played(python: Path, *words: str) -> list[str]:
    """What a version says, line by line."""
    command = [str(python), str(SCRIPT), *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout.splitlines()


def worlds(names: list[str]) -> list[Row]:
    """Measurements that both versions need, world by world."""
    old, made = make_oracle(), []
    for name in names:
        before, now = (
            [Played(*json.loads(line)) for line in played(python, "play", name, str(STUDIES))]
            for python in (old, Path(sys.executable))
        )
        logs = np.log([b.n / a.n for a, b in zip(before, now, strict=True)])
        mean, error = float(logs.mean()), 2.0 * float(logs.std(ddof=1)) / math.sqrt(logs.size)
        seconds = sum(b.seconds for b in now) / sum(a.seconds for a in before)
        medians = [float(np.median([one.n for one in some])) for some in (now, before)]
        late = [sum(not one.reached for one in some) for some in (now, before)]
        detail = (
            f"{math.exp(mean - error):.2f} to {math.exp(mean + error):.2f}; median {medians[0]:g} after "
            f"{medians[1]:g}; not decided {late[0]} after {late[1]}; wrong {sum(b.wrong for b in now)}; "
            f"time {seconds:.2f}"
        )
        made.append(
            Row(f"{name}: measurements", math.exp(mean), "of 0.2.0's", TARGETS.get(name, 1.03), False, detail)
        )
        print(made[-1].name, round(made[-1].figure, 3), detail, flush=True)
    return made


def times() -> list[Row]:
    """Seconds of a first certificate, and of certificate and ask after one more measurement, over 0.2.0's."""
    old, made = make_oracle(), []
    for kind in KINDS:
        for n in SIZES if kind != "heavy" else SIZES[:2]:
            # In turn, so that a machine that becomes busy slows both.
            found: list[list[dict[str, float]]] = [[], []]
            for _ in range(3):
                for at, python in enumerate((old, Path(sys.executable))):
                    found[at].append(json.loads(played(python, "times", kind, str(n))[0]))
            before, now = ({name: min(one[name] for one in some) for name in some[0]} for some in found)
            for name, value in now.items():
                detail = f"{1e3 * value:.3g} ms after {1e3 * before[name]:.3g} ms"
                made.append(
                    Row(
                        f"{kind}, {n} options: {name}", value / before[name], "of 0.2.0's", 1.1, False, detail
                    )
                )
                print(made[-1].name, round(made[-1].figure, 2), detail, flush=True)
    return made


def rows() -> list[Row]:
    """Both."""
    return [*worlds(list(WORLDS)), *times()]


if __name__ == "__main__":
    if sys.argv[1:] == ["times"]:
        times()
    else:
        worlds(sys.argv[1:] or list(WORLDS))
