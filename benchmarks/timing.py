"""Timing two things in turn, so that a busy machine slows both alike."""

import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BLOCKS = 9


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    name: str
    figure: float
    unit: str
    target: float
    at_least: bool = False  # whether the target is a least value; by default it is a largest
    detail: str = ""

    @property
    def reached(self) -> bool:
        """Whether the figure meets its target."""
        return self.figure >= self.target if self.at_least else self.figure <= self.target


def seconds(function: Callable[[], object]) -> float:
    """The time one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def alternating(
    ours: Callable[[], object], theirs: Callable[[], object], blocks: int = BLOCKS
) -> tuple[float, float]:
    """Median seconds of each, measured in alternating blocks after one call to warm up."""
    ours()
    theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(blocks)]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


class Player:
    """A process that times cases as it is asked to.

    Args:
        python: The Python that runs it: that of this tree, or of 0.2.0.
        script: The name of a module of this folder that answers a line with a line.
    """

    def __init__(self, python: str, script: str) -> None:
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        alone = os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        command = [python, "-P", str(Path(__file__).with_name(script))]
        self._process = subprocess.Popen(command, env=alone, **pipes)

    def play(self, case: dict[str, Any]) -> float:
        """The time of one case; NaN if it is refused."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(case) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if isinstance(answer, str):
            print(case, answer, file=sys.stderr)
            return math.nan
        return float(answer)

    def end(self) -> None:
        """Stop the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
