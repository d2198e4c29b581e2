"""What tests take, a plugin for pytest that writes it down and a list of the slowest: `make slowest`.

Processor seconds, not seconds on the clock: those say little on a machine that does other work besides. What
subprocesses took counts where the test waited for their end.
"""

import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

#: Where the plugin writes, a file for each process.
FOLDER = Path("build") / "spent"


def spent() -> tuple[float, float]:
    """Processor seconds so far: of this process, and of its children that have ended."""
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), below.ru_utime + below.ru_stime


class Recorder:
    """Writes a line for collecting, for every fixture, and for the set-up, call and teardown of a test."""

    def __init__(self, file: Path):
        file.parent.mkdir(parents=True, exist_ok=True)
        self.file = file.open("w")

    def measured(self, what: str, kind: str) -> Generator[None, Any, Any]:
        """The rest of a hook, and a line about what it took."""
        own, below = spent()
        began = time.monotonic()
        try:
            return (yield)
        finally:
            now, now_below = spent()
            line = {"what": what, "kind": kind, "own": now - own, "below": now_below - below}
            self.file.write(json.dumps(line | {"clock": time.monotonic() - began}) + "\n")
            self.file.flush()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Any:
        """Importing all tests."""
        return (yield from self.measured("collecting", "collecting"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Any:
        """With the fixtures that are made for this test."""
        return (yield from self.measured(item.nodeid, "test"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        """The test itself."""
        return (yield from self.measured(item.nodeid, "test"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Any:
        """With the fixtures that end with it."""
        return (yield from self.measured(item.nodeid, "test"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """One fixture, which is part of a test's set-up as well."""
        return (yield from self.measured(f"{fixturedef.baseid}::{fixturedef.argname}", "fixture"))


def pytest_configure(config: pytest.Config) -> None:
    """Begin; the lines of an earlier run are forgotten."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        for old in FOLDER.glob("*.jsonl"):
            old.unlink()
    name = "main" if worker is None else worker["workerid"]
    config.pluginmanager.register(Recorder(FOLDER / f"{name}.jsonl"))


def main(count: int = 40) -> None:
    """The files, tests (all parameters together) and fixtures that took most."""
    sums: dict[str, Counter[str]] = {kind: Counter() for kind in ("file", "test", "fixture")}
    total: Counter[str] = Counter()
    for file in FOLDER.glob("*.jsonl"):
        for line in file.read_text().splitlines():
            found = json.loads(line)
            took = found["own"] + found["below"]
            if found["kind"] == "fixture":
                sums["fixture"][found["what"]] += took
                continue
            total[found["kind"]] += took
            total["of which in subprocesses"] += found["below"]
            if found["kind"] == "test":
                sums["test"][found["what"].partition("[")[0]] += took
                sums["file"][found["what"].partition("::")[0]] += took
    print(", ".join(f"{what} {took:.0f}" for what, took in total.items()), "(processor seconds)")
    for kind, found in sums.items():
        print(f"\n{kind}s")
        for what, took in found.most_common(count):
            print(f"{took:8.1f}  {what}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
