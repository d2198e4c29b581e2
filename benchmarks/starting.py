"""How long a person waits for the import, for the help page and for the first answers."""

import os
import subprocess
import sys
import tempfile

from benchmarks.timing import Row, seconds

#: Whole processes are timed, and everything else on the machine only adds: the fastest run counts.
RUNS = 10


def _fastest(*command: str, **environment: str) -> float:
    def run():
        return subprocess.run(command, check=True, capture_output=True, env=os.environ | environment)

    return min(seconds(run) for _ in range(RUNS))


def rows() -> list[Row]:
    """Whole processes, started afresh."""
    python = (sys.executable, "-c")
    bare = _fastest(*python, "pass")
    with tempfile.TemporaryDirectory() as empty:  # -B writes no bytecode: none is found there in any run
        uncompiled = _fastest(sys.executable, "-B", "-c", "import noisewise", PYTHONPYCACHEPREFIX=empty)
    detail = f"whole process, fastest of {RUNS}; an empty Python takes {bare:.2f} s"
    study = "import noisewise as nw; nw.create_study(options=['red', 'green'], eps=1).ask()"
    policy = "import noisewise as nw; nw.vaee([[1, 0], [0, 1]]).ask()"
    return [
        Row("import noisewise", _fastest(*python, "import noisewise"), "s", 0.35, False, detail),
        Row("import noisewise without bytecode", uncompiled, "s", 0.5, False, detail),
        Row(
            "noisewise --help",
            _fastest(sys.executable, "-m", "noisewise", "--help"),
            "s",
            0.45,
            False,
            detail,
        ),
        Row("until a new policy asks", _fastest(*python, policy), "s", 1.0, False, detail),
        Row("until a new study asks", _fastest(*python, study), "s", 1.5, False, detail),
    ]
