"""Play all rivals in all worlds and print tables: ``python -m benchmarks rivals --python ENV/bin/python``.

The interpreter is that of an environment with the rivals (`pip install -r` requirements.txt beside this);
noisewise is played with this one. Runs are added, some seeds at a time, to what docs/comparisons.json has,
and that file is written after every piece: stop it at any time, and it goes on where it was. A rival that is
not installed is left out, and the page says why.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.rivals import page
from benchmarks.rivals.play import RIVALS
from benchmarks.rivals.worlds import WORLDS

ROOT = Path(__file__).parents[2]
_writing = threading.Lock()
#: Rivals with pieces of so few runs take longer to play than to load.
SLOW = 10
#: What is installed in the environment that plays, for the page.
VERSION = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"


def play(python: str, rival: str, wanted: dict[str, tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """What comes out world by world, from one process with one thread; at last what went wrong."""
    alone = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    places = [str(ROOT), *([str(ROOT / "src")] if python == sys.executable else [])]
    with subprocess.Popen(
        [python, "-m", "benchmarks.rivals.play", rival, json.dumps(wanted)],
        cwd=ROOT,
        env={**os.environ, **alone, "PYTHONPATH": os.pathsep.join(places)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        left, said = list(wanted), ""
        for line in process.stdout or ():
            said = line.strip() or said
            if line.startswith('{"world"'):
                found: dict[str, Any] = json.loads(line)
                left.remove(found["world"])
                yield found
    if left:
        yield {"world": left[0], "skipped": said}


def version_of(python: str, package: str) -> str:
    """Of a package in an environment, or nothing."""
    done = subprocess.run([python, "-c", VERSION, package], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main(arguments: list[str]) -> None:
    """Piece by piece, all rivals and worlds in turn, so that all have about as many runs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100, help="seeds per rival and world")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the rivals")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS), choices=list(RIVALS))
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    given = parser.parse_args(arguments)
    kept = page.load()
    kept["machine"] = platform.machine()
    for name in given.rivals:
        package = RIVALS[name].package or "numpy"
        kept["versions"][package] = version_of(_interpreter(name, given.python), package)
    step = min(RIVALS[name].piece for name in given.rivals)
    for last in range(step, given.runs + step, step):
        with ThreadPoolExecutor(given.jobs) as pool:
            for name in given.rivals:
                piece = RIVALS[name].piece
                most = min(-(-last // piece) * piece, given.runs, RIVALS[name].most)
                python = _interpreter(name, given.python)
                # Who plays slowly (noisewise, BoTorch) plays its worlds side by side.
                groups = [[world] for world in given.worlds] if piece <= SLOW else [given.worlds]
                for worlds in groups:
                    pool.submit(add, kept, python, name, worlds, most)
    print(page.figures(page.load()))


def _interpreter(rival: str, other: str) -> str:
    return sys.executable if RIVALS[rival].package in ("", "noisewise") else other


def add(kept: dict[str, Any], python: str, name: str, worlds: list[str], last: int) -> None:
    """The seeds that are missing, up to the last one."""
    with _writing:
        cells = kept["cells"].setdefault(name, {})
        for world in worlds:
            cells.setdefault(world, {"runs": []})
    wanted = {
        world: (len(cells[world]["runs"]), last) for world in worlds if len(cells[world]["runs"]) < last
    }
    for found in play(python, name, wanted) if wanted else ():
        cell = cells[found["world"]]
        with _writing:
            cell.pop("skipped", None)
            if "skipped" in found:
                cell["skipped"] = found["skipped"]
            cell["runs"] += found.get("runs", [])
            page.save(kept)
            print(f"{name}, {found['world']}: {len(cell['runs'])} runs {cell.get('skipped', '')}", flush=True)
