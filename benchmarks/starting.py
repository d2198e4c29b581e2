"""How long a person waits for the import and for the help page."""

import statistics
import subprocess
import sys

from benchmarks.timing import BLOCKS, Row, seconds


def _median(command: list[str]) -> float:
    def run():
        return subprocess.run(command, check=True, capture_output=True)

    run()
    return statistics.median(seconds(run) for _ in range(BLOCKS))


def rows() -> list[Row]:
    """Whole processes, started afresh."""
    bare = _median([sys.executable, "-c", "pass"])
    python = [sys.executable, "-c"]
    importing = _median([*python, "import noisewise"])
    helping = _median([sys.executable, "-m", "noisewise", "--help"])
    detail = f"whole process; an empty Python takes {bare:.2f} s"
    return [
        Row("import noisewise", importing, "s", 0.5, False, detail),
        Row("noisewise --help", helping, "s", 0.6, False, detail),
    ]
