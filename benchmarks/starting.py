"""How long a person waits for the import, for the help page and for a command, here and in 0.1.0.

Whole processes, started afresh, in turn, and in units of starting Python and importing NumPy in the same
turns: a busy machine makes all of them slower alike. Medians over the turns, bytecode compiled.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import baseline
from benchmarks.timing import Row, seconds

TURNS = 9
OPTIONS, MEASUREMENTS, FEATURES = 60, 100, 4
#: A command ends with 3 if measuring may not stop yet.
FINE = (0, 3)
#: What has nothing to do with a store, and what is asked of one; with limits in units of python + numpy.
PLAIN = {
    "import noisewise": (("-c", "import noisewise"), 0.5),
    "import noisewise, no bytecode": (("-B", "-X", "pycache_prefix={none}", "-c", "import noisewise"), 1.5),
    "noisewise --help": (("-m", "noisewise", "--help"), 2.0),
    "until a new policy asks": (("-c", "import noisewise as nw; nw.vaee([[1, 0], [0, 1]]).ask()"), 6.0),
    "until a new study asks": (
        ("-c", "import noisewise as nw; nw.create_study(options=['red', 'green'], eps=1).ask()"),
        8.0,
    ),
}
ON_STORES = {
    "noisewise ask": (("-m", "noisewise", "ask", "{store}"), 6.0),
    "noisewise certify": (("-m", "noisewise", "certify", "{store}"), 6.0),
    "noisewise tell": (("-m", "noisewise", "tell", "{store}", "o3", "1.0", "--se", "0.5"), 3.5),
}
MAKE = """
import sys
import numpy as np
import noisewise as nw
path, model, n, count, dim = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
rng = np.random.default_rng(0)
features, weights = rng.normal(size=(n, dim)), rng.normal(size=dim)
table = {"id": [f"o{k}" for k in range(n)], **{f"f{j}": features[:, j] for j in range(dim)}}
study = nw.create_study(
    path, options=table, id="id", features=[f"f{j}" for j in range(dim)], model=model, eps=0.5, span=20.0
)
for at in range(count):
    value = features[at % n] @ weights + 0.1 * rng.standard_normal()
    study.tell(option=f"o{at % n}", value=float(value), se=0.1)
"""


class Version:
    """The code of this clone, or that of 0.1.0."""

    def __init__(self, name: str) -> None:
        self.name, self.python, source = name, sys.executable, baseline.ROOT / "src"
        if name == baseline.OLD:
            found = baseline.prepared()
            self.python, source = found.python, found.tree / "src"
        # Bytecode is part of an installed package.
        self._environment = {**os.environ, "PYTHONPATH": str(source)}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(self, *arguments: str) -> None:
        """A process of its own."""
        done = subprocess.run(
            [self.python, "-P", *arguments], capture_output=True, text=True, env=self._environment
        )
        if done.returncode not in FINE:
            raise RuntimeError(f"{' '.join(arguments)} failed ({self.name}): {done.stderr.strip()[-2000:]}")

    def works(self, folder: Path) -> dict[str, tuple[str, ...]]:
        """What is timed, by name; the stores are made here."""
        none = folder / "none"  # -B writes no bytecode: none is found there in any run
        found = {name: _filled(arguments, none=none) for name, (arguments, _) in PLAIN.items()}
        for model in ("independent", "linear"):
            store = folder / f"{self.name}-{model}.db"
            self.run("-c", MAKE, str(store), model, str(OPTIONS), str(MEASUREMENTS), str(FEATURES))
            for name, (arguments, _) in ON_STORES.items():
                found[f"{name}, {model}"] = _filled(arguments, store=store)
        return found


def _filled(arguments: tuple[str, ...], **places: Path) -> tuple[str, ...]:
    return tuple(part.format(**places) if "{" in part else part for part in arguments)


def measured() -> dict[tuple[str, str], float]:
    """Medians in units of python + numpy, by version and work."""
    versions = [Version(name) for name in (baseline.NEW, baseline.OLD)]
    units: list[float] = []
    found: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        works = {version: version.works(Path(folder)) for version in versions}
        for turn in range(1 + TURNS):
            unit = seconds(lambda: versions[0].run("-c", "import numpy"))
            units += [unit] if turn else []  # the first turn compiles bytecode
            for version, named in works.items():
                for name, arguments in named.items():
                    took = seconds(lambda version=version, arguments=arguments: version.run(*arguments))
                    found.setdefault((version.name, name), []).extend([took] if turn else [])
    unit = statistics.median(units)
    return {key: statistics.median(took) / unit for key, took in found.items()}


def rows() -> list[Row]:
    """All of it, against its limits."""
    found = measured()
    limits = {name: limit for name, (_, limit) in (PLAIN | ON_STORES).items()}
    made = []
    for (version, name), figure in found.items():
        if version == baseline.NEW:
            detail = f"of python + numpy, median of {TURNS}; 0.1.0: {found[baseline.OLD, name]:.3g}"
            made.append(Row(name, figure, "units", limits[name.split(",")[0] if name not in limits else name],
                            False, detail))  # fmt: skip
    return made
