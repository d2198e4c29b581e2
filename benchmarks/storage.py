"""A store with a hundred thousand measurements: loading, asking, status; and telling, one by one."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from benchmarks.timing import Row, seconds

OPTIONS, TOLD = 1000, 100_000
TELLS = 2000


class Watch:
    """Wall time, and the processor time of this process, which a busy machine changes less."""

    def __init__(self) -> None:
        self._wall: list[float] = []
        self._own: list[float] = []

    def time(self, function: Callable[[], object]) -> None:
        """Run it once."""
        before = time.process_time()
        self._wall.append(seconds(function))
        self._own.append(time.process_time() - before)

    def row(self, name: str, unit: str, target: float, detail: str) -> Row:
        """Medians of both."""
        scale = 1e3 if unit == "ms" else 1.0
        wall, own = scale * statistics.median(self._wall), scale * statistics.median(self._own)
        return Row(name, wall, unit, target, False, f"{detail}; processor time {own:.3g} {unit}")


def fill(path: Path) -> None:
    """A study of 1,000 options with a hundred measurements each."""
    rng = np.random.default_rng(0)
    names = [f"o{k}" for k in range(OPTIONS)]
    study = nw.create_study(path, options=names, eps=0.05)
    picked, noise = rng.integers(OPTIONS, size=TOLD), rng.standard_normal(TOLD)
    told: dict[str, Any] = {
        "option": [names[k] for k in picked],
        "value": picked / 100.0 + noise,
        "se": np.ones(TOLD),
        "key": [f"run-{i}" for i in range(TOLD)],
    }
    study.tell_many(told)


def rows() -> list[Row]:
    """What a person waits for."""
    loading, asking, looking = Watch(), Watch(), Watch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.db"
        fill(path)
        for _ in range(5):
            loading.time(lambda: nw.load_study(path))
        study = nw.load_study(path)
        for _ in range(15):
            study.tell(option="o7", value=0.07, se=1.0)
            asking.time(lambda: study.ask())
            study.tell(option="o8", value=0.08, se=1.0)
            looking.time(lambda: repr(study))
        fresh = nw.create_study(Path(folder) / "t.db", options=["A", "B"], eps=0.1)
        telling = seconds(
            lambda: [fresh.tell(option="A", value=1.0, se=0.1, key=str(i)) for i in range(TELLS)]
        )
    size = f"{OPTIONS:,} options, {TOLD:,} measurements in SQLite"
    return [
        loading.row("load a study", "s", 2.0, f"{size}; no snapshot"),
        asking.row("ask", "ms", 50.0, f"{size}; after a new measurement"),
        looking.row("status", "ms", 100.0, f"{size}; after a new measurement"),
        Row("tell, one by one", TELLS / telling, "/s", 500.0, True, "one SQLite connection"),
    ]
