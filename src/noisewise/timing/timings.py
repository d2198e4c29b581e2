"""What came out of a race: the answer in one sentence, a table, ratios, and what to be careful about."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.text import as_html, counted, number, percent, printable, rounded_up
from noisewise.study.certificates.certificate import Certificate
from noisewise.study.evidence.rounds import (
    FIRST,
    NORMAL_MEDIAN,
    PairRounds,
    gathered,
    log_evidence,
    median_distance,
    upper_limits,
)
from noisewise.study.study import Study

#: What can be said of a candidate: at most eps slower than the baseline, more than that, neither.
WITHIN, SLOWER, UNDECIDED = ("within", "slower", "undecided")


class Ratio(NamedTuple):
    """One time over another."""

    middle: float  # the median over rounds
    low: float
    high: float


class Comparison:
    """A candidate against its baseline, while rounds come: is it at most so many times as slow?

    Of "at most" and "more than" one is wrong, so that both may be tested at the whole error probability.

    Args:
        most: The largest ratio of their times that is good enough.
        delta: The error probability.
    """

    def __init__(self, most: float, delta: float) -> None:
        self._most, self._level = math.log(most), math.log(1.0 / delta)
        self._pair = PairRounds()

    def verdict(self, candidate: Sequence[float], baseline: Sequence[float]) -> str:
        """What can be said after these times, of which earlier ones are known."""
        known = FIRST + len(self._pair.apart)
        apart = np.log(candidate[known:]) - np.log(baseline[known:])
        self._pair.extend(np.concatenate([self._pair.apart, apart]))
        if not self._pair.apart:
            return UNDECIDED
        slower, quicker = (
            float(log_evidence(gathered([self._pair], np.array([sign])), np.array([claim]), gross=True)[0])
            for sign, claim in ((-1.0, -self._most), (1.0, self._most))
        )
        return WITHIN if quicker >= self._level else SLOWER if slower >= self._level else UNDECIDED


def ratio_of(times: Floats, other: Floats, delta: float) -> Ratio:
    """One option's times over another's, with limits that hold after every round.

    Args:
        times: Of the one, round by round from the first on.
        other: Of the other; only the rounds of both count.
        delta: The error probability of each of the two limits.
    """
    count = min(times.size, other.size)
    apart = np.log(times[:count]) - np.log(other[:count])
    if count <= FIRST:
        return Ratio(float(np.exp(apart[-1])), 0.0, math.inf)
    pair = PairRounds().extend(apart[FIRST:])
    level = np.array([math.log(1.0 / delta)])
    above, below = (
        float(upper_limits(gathered([pair], np.array([sign])), level, gross=True)[0]) for sign in (1.0, -1.0)
    )
    return Ratio(float(np.exp(np.median(apart[FIRST:]))), math.exp(-below), math.exp(min(above, 700.0)))


#: Rounds that are needed to say anything.
ENOUGH = 4
#: A first run that took this much longer than usual, and so many times as much as runs scatter, is told.
FIRST_RUN, FAR = 1.2, 5.0
#: The same for single runs, and which part of all of them is worth a word.
DISTURBED, SOME = 1.25, 0.05
#: By how much the machine's speed may differ between the halves of a race before it is told.
DRIFT = 1.05
#: Slow runs that fall on one option as often as they do by chance in so few races are its own doing.
OWN_DOING = 0.001


def cautions_of(times: dict[str, Floats]) -> list[str]:
    """One sentence for everything that is odd.

    Args:
        times: Of every option, round by round; the first is a round that does not count.
    """
    long = {name: np.log(runs) for name, runs in times.items() if runs.size >= FIRST + ENOUGH}
    if not long:
        return []
    usual = {name: float(np.median(logs[FIRST:])) for name, logs in long.items()}
    scatter = {name: NORMAL_MEDIAN * median_distance(logs[FIRST:]) for name, logs in long.items()}
    found = [
        _about_first_runs(long, usual, scatter),
        _about_drift(long, usual),
        _about_disturbed(long, usual, scatter),
    ]
    return [said for said in found if said is not None]


def _about_first_runs(
    logs: dict[str, Floats], usual: dict[str, float], scatter: dict[str, float]
) -> str | None:
    """Options whose first run was much slower: caches were cold."""
    slow = {
        name: float(runs[0] - usual[name])
        for name, runs in logs.items()
        if runs[0] - usual[name] > max(np.log(FIRST_RUN), FAR * scatter[name])
    }
    if not slow:
        return None
    worst = max(slow, key=lambda name: slow[name])
    others = f" (and that of {counted(len(slow) - 1, 'other')})" if len(slow) > 1 else ""
    return (
        f"the first run of `{printable(worst)}` took {np.exp(slow[worst]):.2g} times as long as later "
        f"ones{others}: caches that were cold; it was not counted."
    )


def _about_drift(logs: dict[str, Floats], usual: dict[str, float]) -> str | None:
    """Whether the whole machine became slower or faster."""
    length = max(runs.size for runs in logs.values()) - FIRST
    if length < 2 * ENOUGH:
        return None
    apart = [runs[FIRST:] - usual[name] for name, runs in logs.items() if runs.size - FIRST == length]
    rounds = np.median(np.stack(apart), axis=0)
    first, second = rounds[: length // 2], rounds[length // 2 :]
    moved = float(np.median(second) - np.median(first))
    noise = NORMAL_MEDIAN * median_distance(rounds) * 1.2533 * np.sqrt(4.0 / length)
    if abs(moved) < max(np.log(DRIFT), 3.0 * noise):
        return None
    word = "slower" if moved > 0.0 else "faster"
    return (
        f"everything became {100.0 * abs(np.expm1(moved)):.2g} % {word} from the first half of the rounds to "
        "the second; that cancels in the ratios, but not in the means."
    )


def _about_disturbed(
    logs: dict[str, Floats], usual: dict[str, float], scatter: dict[str, float]
) -> str | None:
    """How many runs took much longer than usual."""
    far = {
        name: int((runs[FIRST:] - usual[name] > max(np.log(DISTURBED), FAR * scatter[name])).sum())
        for name, runs in logs.items()
    }
    counts = {name: runs.size - FIRST for name, runs in logs.items()}
    many, total = sum(far.values()), sum(counts.values())
    if many < 2 or many < SOME * total:
        return None
    said = f"{many} of {total} runs took much longer than usual"
    worst = max(far, key=lambda name: far[name] / counts[name])
    if len(far) > 1 and len(far) * _chance(far[worst], many, counts[worst] / total) < OWN_DOING:
        return (
            f"{said}, {far[worst]} of them of `{printable(worst)}`: more than a machine would do that treats "
            "all alike. If that is its own doing, the answer need not be true of its typical time, nor of "
            "its mean."
        )
    return (
        f"{said}, as if something else ran at the same time; each counts as slower, whatever by how much, so "
        "that they do little harm."
    )


def _chance(hits: int, of: int, share: float) -> float:
    """How likely so many hits, or more, of all of them fall on a competitor with this share."""
    from scipy import special

    return float(special.betainc(hits, of - hits + 1, share)) if hits else 1.0


#: Units of times, and from which time on each is used.
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
#: Characters of a name in the table.
NAME_WIDTH = 48


class Versus(NamedTuple):
    """A candidate against its baseline."""

    baseline: str
    candidate: str
    ratio: Ratio  # the candidate's time over the baseline's
    most: float  # 1 + eps: the largest ratio that is good enough
    verdict: str


class TimingRow(NamedTuple):
    """One option of the table."""

    name: str
    runs: int
    mean: float  # geometric, seconds, without the first round
    low: float  # of single runs
    high: float
    ratio: Ratio  # its time over that of the recommended option


@dataclass(frozen=True, eq=False)
class Timings:
    """Which option is the fastest, and how sure that is."""

    certificate: Certificate
    study: Study
    times: dict[str, Floats]  # seconds, round by round; the first orders the options, and counts no further
    rounds: int  # without the first
    seconds: float
    interrupted: bool = False
    versus: Versus | None = None
    asides: tuple[str, ...] = ()  # what else is to be said about how it was timed

    @property
    def option(self) -> str | None:
        """The option to take."""
        return self.certificate.option

    @property
    def reached(self) -> bool:
        """Whether it is decided: the fastest, or one close enough to it; with a baseline, either way."""
        if self.versus is not None:
            return self.versus.verdict != UNDECIDED
        return self.certificate.reached

    @functools.cached_property
    def rows(self) -> list[TimingRow]:
        """The table, fastest first; each limit of a ratio, by itself, holds with the confidence asked for."""
        best = self.times[self._reference]
        delta = 1.0 - self.certificate.confidence
        rows = []
        for name, times in self.times.items():
            counted_runs = times[FIRST:] if times.size > FIRST else times
            if not counted_runs.size:
                continue
            ratio = Ratio(1.0, 1.0, 1.0) if name == self._reference else ratio_of(times, best, delta)
            mean = float(np.exp(np.mean(np.log(counted_runs))))
            low, high = float(counted_runs.min()), float(counted_runs.max())
            rows.append(TimingRow(name, counted_runs.size, mean, low, high, ratio))
        return sorted(rows, key=lambda row: row.ratio.middle)

    @property
    def _reference(self) -> str:
        """The option that all others are compared with."""
        return self.versus.baseline if self.versus else self.certificate.option or next(iter(self.times))

    @functools.cached_property
    def cautions(self) -> list[str]:
        """What to be careful about, one sentence each."""
        return [*cautions_of(self.times), *self.asides]

    @property
    def sentence(self) -> str:
        """The answer."""
        effort = f"{counted(self.rounds, 'round')}, {_seconds(self.seconds)}"
        stopped = "; interrupted" if self.interrupted else ""
        said = self._against() if self.versus is not None else self._fastest()
        return f"{said}; {effort}{stopped}."

    def _fastest(self) -> str:
        found, sure = self.certificate, self.certificate.sure
        name = f"`{printable(str(found.option))}`"
        if not math.isfinite(found.bound) or found.withheld:
            return f"Undecided: {name} leads, and nothing is certain about it yet"
        far = found.bound_text
        if not found.reached:
            others = [f"`{printable(one)}`" for one in found.candidates if one != found.option]
            close = found.value_scale.close(found.eps or 0.0)
            rivals = f" ({', '.join(others[:3])}{', …' if len(others) > 3 else ''})" if others else ""
            return (
                f"Undecided: {name} leads, and is at most {far} slower than the fastest{rivals}, {sure}; "
                f"{close} was wanted"
            )
        if found.bound == 0.0:
            return f"{name} is fastest of {found.n_options}, {sure}"
        return f"{name} is fastest, or at most {far} slower than any other, {sure}"

    def _against(self) -> str:
        found = self.versus
        assert found is not None
        names = f"`{printable(found.candidate)}`", f"`{printable(found.baseline)}`"
        eps = f"{100.0 * (found.most - 1.0):.10g} %"
        sure = f"with {percent(self.certificate.confidence)} confidence"
        if found.verdict == UNDECIDED:
            span = f"{_ratio(found.ratio.low)} to {_ratio(found.ratio.high)}"
            return (
                f"Undecided: whether {names[0]} is at most {eps} slower than {names[1]}; it takes {span} "
                f"times as long, {sure}"
            )
        if found.verdict == SLOWER:
            least = math.floor(1000.0 * (found.ratio.low - 1.0)) / 10.0
            return f"{names[0]} is more than {eps} slower than {names[1]}: at least {least:g} %, {sure}"
        if found.ratio.high < 1.0:
            return f"{names[0]} is faster than {names[1]}, {sure}"
        most = rounded_up(100.0 * (found.ratio.high - 1.0))
        return f"{names[0]} is at most {most} % slower than {names[1]}, {sure}"

    def __str__(self) -> str:
        return "\n".join([self.sentence, "", *self.table(), *self._notes()])

    __repr__ = __str__

    def _notes(self) -> list[str]:
        return ["", *(f"Note: {one}" for one in self.cautions)] if self.cautions else []

    def table(self) -> list[str]:
        """The table as lines of text."""
        size, unit = _unit(min((row.mean for row in self.rows), default=1.0))
        head = ["", f"mean, {unit}", f"min to max, {unit}", "times as long", "at least", "at most", "runs"]
        lines = [head]
        for row in self.rows:
            own = row.name == self._reference
            name = printable(row.name)
            lines.append(
                [
                    name if len(name) <= NAME_WIDTH else f"{name[: NAME_WIDTH - 1]}…",
                    number(row.mean / size, 4),
                    f"{number(row.low / size, 4)} to {number(row.high / size, 4)}",
                    "1" if own else _ratio(row.ratio.middle),
                    "" if own else _ratio(row.ratio.low),
                    "" if own else _ratio(row.ratio.high),
                    str(row.runs),
                ]
            )
        widths = [max(len(line[at]) for line in lines) for at in range(len(head))]
        return [
            "  ".join(
                [
                    line[0].ljust(widths[0]),
                    *(part.rjust(width) for part, width in zip(line[1:], widths[1:], strict=True)),
                ]
            ).rstrip()
            for line in lines
        ]

    def _repr_html_(self) -> str:
        good = True if self.reached else None
        if self.versus is not None and self.versus.verdict == SLOWER:
            good = False
        return as_html("Timings", str(self).splitlines(), good=good)

    def to_plain(self) -> dict[str, Any]:
        """As JSON values; ``results`` has the fields of hyperfine's export."""
        import json

        certificate = json.loads(self.certificate.to_json())
        found = self.versus
        return {
            "sentence": self.sentence,
            "option": self.option,
            "reached": self.reached,
            "interrupted": self.interrupted,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "versus": None
            if found is None
            else {
                "baseline": found.baseline,
                "candidate": found.candidate,
                "verdict": found.verdict,
                "eps": found.most - 1.0,
                "ratio": found.ratio.middle,
                "ratio_low": found.ratio.low,
                "ratio_high": _finite(found.ratio.high),
            },
            "notes": self.cautions,
            "results": [self._result(row) for row in self.rows],
            "certificate": certificate,
        }

    def _result(self, row: TimingRow) -> dict[str, Any]:
        times = self.times[row.name][FIRST:] if row.runs > FIRST else self.times[row.name]
        return {
            "command": row.name,
            "mean": float(np.mean(times)),
            "stddev": float(np.std(times, ddof=1)) if times.size > 1 else None,
            "median": float(np.median(times)),
            "min": row.low,
            "max": row.high,
            "times": times.tolist(),
            "geometric_mean": row.mean,
            "ratio": row.ratio.middle,
            "ratio_low": row.ratio.low,
            "ratio_high": _finite(row.ratio.high),
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) and value < 1e300 else None


def _ratio(value: float) -> str:
    """A ratio with as many digits as matter: 1.034, 12.4, or a dash where there is no limit."""
    if not math.isfinite(value) or value > 1e300 or value == 0.0:
        return "?"
    return f"{value:.3f}" if value < 10.0 else number(value)


def _unit(seconds: float) -> tuple[float, str]:
    """The unit in which such a time is written, and its size."""
    return next(((size, unit) for size, unit in UNITS if seconds >= size), UNITS[-1])


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120.0 else f"{seconds / 60.0:.1f} min"
