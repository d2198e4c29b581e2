"""A pytest plugin: the fixture `race` compares functions in a test, for as long as the verdict needs.

Two functions are compared with each other. A single one is compared with what it took when
``pytest --race-update`` was run: a file keeps how many times as long it takes as a yardstick, a loop that
is timed in the same rounds, so that the speed of the machine cancels. A verdict holds at every look.
"""

import json
import platform
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # loaded in every session of pytest, and rarely needed
    from noisewise.timing.timings import Timings

#: The file with stored ratios, in pytest's root folder, unless `race_file` in its configuration says else.
FILE = ".race-baseline.json"
#: Names of the options of a race with what was stored.
NOW, STORED = "now", "stored"
SAID = pytest.StashKey[list[str]]()


class RaceUndecidedWarning(UserWarning):
    """A race ended before anything was certain."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what the command line and the configuration may say."""
    about = "store how long functions of single races take now, to compare with from now on"
    parser.getgroup("noisewise").addoption("--race-update", action="store_true", help=about)
    parser.addini("race_file", f"file with what races are compared with; default: {FILE}", default=FILE)


def yardstick() -> int:
    """Do some work that every Python does."""
    return sum(k * k % 7 for k in range(2000))


class Racer:
    """What the fixture `race` is.

    Args:
        name: Of the test.
        config: That of the session.
        clock: Nanoseconds.
    """

    def __init__(self, name: str, config: pytest.Config, clock: Callable[[], int]) -> None:
        python = f"{platform.python_implementation()} {'.'.join(platform.python_version_tuple()[:2])}"
        self._key, self._config, self._clock = f"{name} ({python}, {platform.machine()})", config, clock
        self._file = Path(config.rootpath, config.getini("race_file"))

    def __call__(
        self,
        functions: Callable[[], Any] | Mapping[str, Callable[[], Any]],
        *,
        baseline: str | None = None,
        eps: float | str = "10%",
        confidence: float = 0.95,
        rounds: int = 100,
        seed: int | None = None,
    ) -> "Timings | None":
        """Fail the test if the candidate is certainly slower; warn if nothing is certain after all rounds.

        Args:
            functions: Two by name, one of which is the baseline; or one, compared with what was stored.
            baseline: The name of the function that the other one is compared with.
            eps: By how much the candidate may be slower: "10%", or 0.1.
            confidence: Probability with which no verdict of any look is wrong.
            rounds: Number of rounds after which the race ends.
            seed: Of the order within rounds.

        Returns:
            What was measured; None if it was stored.
        """
        from noisewise.timing.functions import Loop, versus_of
        from noisewise.timing.race import Race, Timed

        single = callable(functions)
        named = {NOW: functions, STORED: yardstick} if callable(functions) else dict(functions)
        versus = versus_of(list(named), STORED if single else baseline or next(iter(named)), None)
        loops = {name: Loop(name, function, self._clock) for name, function in named.items()}
        for loop in loops.values():
            loop.calibrate()
        takes = {name: loop.take for name, loop in loops.items()}
        if single:
            confidence = (1.0 + confidence) / 2.0  # what was stored may be wrong as well
            if self._config.getoption("--race-update"):
                self._store(takes, confidence, rounds)
                return None
            ratio, yard = self._stored(), takes[STORED]
            takes[STORED] = lambda: ratio * yard()
        found = Race(
            [Timed(name, take) for name, take in takes.items()], eps=eps, confidence=confidence,
            budget=rounds * len(takes), seed=seed, versus=versus, progress=False,
            clock=lambda: 1e-9 * self._clock(),
        ).run()  # fmt: skip
        assert found.versus is not None
        self._config.stash[SAID].append(f"{self._key}: {found.sentence}")
        if found.versus.verdict == "slower":
            pytest.fail(str(found), pytrace=False)
        if found.versus.verdict == "undecided":
            warnings.warn(found.sentence, RaceUndecidedWarning, stacklevel=2)
        return found

    def _all(self) -> dict[str, Any]:
        return json.loads(self._file.read_text(encoding="utf-8")) if self._file.exists() else {}

    def _stored(self) -> float:
        """The upper limit of the ratio that was stored."""
        if self._key not in (stored := self._all()):
            pytest.skip(f"{self._file.name} has no {self._key!r}: run pytest --race-update to store it.")
        return float(stored[self._key]["at_most"])

    def _store(self, takes: dict[str, Callable[[], float]], confidence: float, rounds: int) -> None:
        """Time all rounds, whatever comes out, and keep the ratio of function and yardstick."""
        import numpy as np

        from noisewise.core.files import written_whole
        from noisewise.timing.timings import ratio_of

        if hasattr(self._config, "workerinput"):
            raise pytest.UsageError("--race-update does not go with workers that run at the same time (-n).")
        now, yard = np.array([(takes[NOW](), takes[STORED]()) for _ in range(rounds)]).T
        found = ratio_of(now, yard, 1.0 - confidence)
        kept = {"ratio": found.middle, "at_most": found.high, "rounds": rounds}
        with written_whole(self._file) as draft:
            draft.write_text(json.dumps(self._all() | {self._key: kept}, indent=2) + "\n", encoding="utf-8")
        self._config.stash[SAID].append(f"{self._key}: stored, {found.middle:.4g} times the yardstick")


@pytest.fixture
def race_clock() -> Callable[[], int]:
    """The clock of races, in nanoseconds: override it to race against another one."""
    from noisewise.timing.functions import CLOCKS

    return CLOCKS["wall"]


@pytest.fixture
def race(request: pytest.FixtureRequest, race_clock: Callable[[], int]) -> Racer:
    """Compare functions in a test, with a verdict that holds at every look: see `Racer.__call__`."""
    return Racer(request.node.nodeid, request.config, race_clock)


def pytest_configure(config: pytest.Config) -> None:
    """Begin the list of what races said."""
    config.stash[SAID] = []


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how each race of this session ended."""
    if config.stash[SAID]:
        terminalreporter.section("races")
        for line in config.stash[SAID]:
            terminalreporter.write_line(line)
