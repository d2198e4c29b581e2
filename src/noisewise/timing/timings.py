"""What came out of a race: the answer in one sentence, a table, and what to be careful about."""

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.support.text import printable
from noisewise.core.support.words import as_html, counted, number, percent, rounded_up
from noisewise.study.certificate.certificate import Certificate
from noisewise.study.evidence.symmetric import FIRST
from noisewise.study.study import Study
from noisewise.timing.cautions import cautions_of
from noisewise.timing.ratios import SLOWER, UNDECIDED, Ratio, ratio_of

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
