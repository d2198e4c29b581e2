"""Plays one rival in some worlds: ``python -m benchmarks.rivals.play optuna '{"many options": [0, 20]}'``.

For each world it prints one line of JSON: its name and a list of runs, or the reason why there is none. All
worlds in one process, because loading some rivals takes longer than playing them.
"""

import importlib
import json
import sys
import warnings
from dataclasses import dataclass
from typing import Any

from benchmarks.rivals.worlds import WORLDS, Drawn


@dataclass(frozen=True)
class Rival:
    """Where a rival is, and what it is."""

    module: str
    function: str
    title: str
    package: str = ""  # what must be installed for it
    budget: bool = True  # names an option after a budget
    claims: bool = False  # says by itself when it is sure
    piece: int = 50  # runs of one process: loading some libraries takes longer than many runs
    most: int = 10_000  # runs: fewer where one takes minutes


RIVALS = {
    "noisewise": Rival("ours", "play", "noisewise", "noisewise", claims=True, piece=5),
    "noisewise-budget": Rival("ours", "play_with_budget", "noisewise, budget told", "noisewise", piece=5),
    "uniform": Rival("uniform", "play", "A/B/n in turn, one planned look", claims=True),
    "peeking": Rival("uniform", "play_peeking", "A/B/n in turn, peeking", budget=False, claims=True),
    "optuna": Rival("optuna_rival", "play", "Optuna, 3 repeats", "optuna", piece=25),
    "ax": Rival("ax_rival", "play", "Ax, Thompson with SEM", "ax-platform"),
    "botorch": Rival("botorch_rival", "play", "BoTorch, GP with SEM", "botorch", most=30, piece=10),
    "ocba": Rival("sim_tools_rival", "play_ocba", "OCBA", "sim-tools"),
    "kn": Rival("sim_tools_rival", "play_kn", "KN", "sim-tools", budget=False, claims=True),
    "bandits": Rival("bandits_rival", "play", "bayesianbandits, Thompson", "bayesianbandits", piece=10),
}


def main() -> None:
    """The seeds from the first to before the second number, in each world."""
    name, wanted = sys.argv[1], json.loads(sys.argv[2])
    rival = RIVALS[name]
    warnings.simplefilter("ignore")
    for world, (first, last) in wanted.items():
        try:
            play = getattr(importlib.import_module(f"benchmarks.rivals.{rival.module}"), rival.function)
        except ImportError as missing:
            found: dict[str, Any] = {"skipped": f"{rival.package} is not installed here ({missing})"}
        else:
            found = {"runs": [play(Drawn(WORLDS[world], seed)).plain() for seed in range(first, last)]}
        print(json.dumps({"world": world, **found}), flush=True)


if __name__ == "__main__":
    main()
