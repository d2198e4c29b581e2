"""Pages of large studies: how long the server takes for each, and until Chromium has drawn it.

A page is drawn when it is loaded and two frames were painted after that, counted from the click. Each figure
is the quickest of a few, since the machine may have much else to do; of all pages the slowest counts.
"""

import functools
import http.client
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import numpy as np
from tests.support.browser import CHROMIUM, Browser
from tests.support.servers import ServerProcess

import noisewise as nw
from benchmarks.timing import Row

MEASUREMENTS, OPTIONS, MANY, TRIES = 100_000, 100, 100_000, 5
#: Pages of a study.
PAGES = (
    "", "options", "options?q=7&sort=error", "measurements", "measurements?q=o17", "measurements?page=1500",
    "check", "plan", "worth", "paste", "report", "log", "log?page=1999", "log?kind=tell&q=o17",
)  # fmt: skip
#: How long a page took since it was asked for, when two more frames are painted.
DRAWN = (
    "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
)


def page_rows(store: Path) -> list[Row]:
    """Figures of a study with many measurements, and of one with many options."""
    tell = _large(store)
    with ServerProcess(store) as server:
        for name in ("measured", "misfitting", "options"):
            server.get(f"/s/{name}/")  # opens it
        rows = [
            _served(f"a page of {MEASUREMENTS:,} measurements", server, "measured"),
            _served("the same after another process told", server, "measured", tell["measured"]),
            _served("the same of measurements that disagree", server, "misfitting", tell["misfitting"]),
            _served(f"a page of {MANY:,} options", server, "options"),
        ]
        return [*rows, *_drawn(server.url)]


def _large(store: Path) -> dict[str, Callable[[], None]]:
    """Make the studies; returns what tells some of them, as another process would."""
    rng = np.random.default_rng(0)
    names, tell = [f"o{k}" for k in range(OPTIONS)], {}
    for name, se in {"measured": 1.0, "misfitting": 0.3}.items():
        study = nw.create_study(store, name=name, options=names, eps=0.05)
        k = rng.integers(OPTIONS, size=MEASUREMENTS)
        value = k / OPTIONS + rng.standard_normal(k.size)
        study.tell_many({"option": [names[i] for i in k], "value": value, "se": np.full(k.size, se)})
        tell[name] = functools.partial(_tell, study)
    wide = nw.create_study(store, name="options", options=[f"option {i:06d}" for i in range(MANY)], eps=0.5)
    some = [f"option {i:06d}" for i in range(2000)]
    wide.tell_many({"option": some, "value": rng.normal(size=2000), "se": np.full(2000, 0.1)})
    return tell


def _tell(study: nw.Study) -> None:
    study.tell(option="o17", value=0.17, se=1.0)


def _served(what: str, server: ServerProcess, name: str, before: Callable[[], None] | None = None) -> Row:
    """All pages, each after what is done before it."""
    found, busy = {}, {}
    for page in PAGES:
        tries = []
        for _ in range(TRIES):
            if before is not None:
                before()
            tries.append(_seconds(server, f"/s/{quote(name)}/{page}"))
        found[page], busy[page] = (min(column) for column in zip(*tries, strict=True))
    slowest = max(found, key=lambda one: found[one])
    row = _slowest(f"server: {what}", found, "ms", 300)
    return replace(row, detail=f"{row.detail}; {1000 * busy[slowest]:.0f} ms of a processor")


def _seconds(server: ServerProcess, path: str) -> tuple[float, float]:
    """Until the answer is there, and how long the server was busy with it."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    began, busy = time.perf_counter(), _busy(server)
    connection.request("GET", path, headers={"Accept": "text/html"})
    answer = connection.getresponse()
    answer.read()
    seconds, busy = time.perf_counter() - began, _busy(server) - busy
    connection.close()
    assert answer.status == 200, (path, answer.status)
    return seconds, busy


def _busy(server: ServerProcess) -> float:
    """Seconds of processors that the server has used."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _drawn(url: str) -> list[Row]:
    if CHROMIUM is None:
        print("serving: there is no Chromium; nothing is drawn")
        return []
    found = {}
    with tempfile.TemporaryDirectory() as profile, Browser(Path(profile)) as browser:
        browser.look(1280)
        for study in ("measured", "options"):
            for page in PAGES:
                tries = []
                for _ in range(TRIES):
                    browser.visit(f"{url}/s/{study}/{page}")
                    tries.append(browser.run(DRAWN) / 1000.0)
                found[f"{study}/{page}"] = min(tries)
    return [_slowest("drawn in Chromium: any of these pages", found, "s", 1.0)]


def _slowest(name: str, found: dict[str, float], unit: str, target: float) -> Row:
    page = max(found, key=lambda one: found[one])
    times = 1000.0 if unit == "ms" else 1.0
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    middle = times * float(np.median(list(found.values())))
    detail = f"slowest: {page or 'overview'}; median page {middle:.3g} {unit}; {load}"
    return Row(name, times * found[page], unit, target, detail=detail)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for row in page_rows(Path(folder) / "pages.db"):
            print(f"{row.name}: {row.figure:.3g} {row.unit} (at most {row.target:g}); {row.detail}")
