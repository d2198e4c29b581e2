"""How often bounds for one look are wrong, and how much smaller they are than those that hold at any time.

Every study is measured by a fixed plan and looked at once, at its end. The rivals lie as far below the best
option as the half-width of their difference is wide, where mistakes are likeliest. Two rates are counted: how
often some difference to the best option lies outside of its half-width, which is what the error probability
is spent on, and how often a certificate is wrong. ``python -m benchmarks one_look`` plays 2000 studies per
line and confidence; ``ONE_LOOK_STUDIES=100`` fewer. ``python -m benchmarks.one_look`` prints tables.
"""

import os
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

import noisewise as nw
from benchmarks.coverage import FALSE_ALARM
from benchmarks.timing import Row
from noisewise.study.certificates.bound import recommend
from noisewise.study.log.events import Event
from noisewise.study.log.specification import Specification
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis

STUDIES = int(os.environ.get("ONE_LOOK_STUDIES", "2000"))
CONFIDENCES = (0.5, 0.8, 0.95)
Values = np.ndarray[Any, np.dtype[np.float64]]
Body = dict[str, Any]
Measure = Callable[[Values, np.random.Generator], list[Body]]


class Line(NamedTuple):
    """A kind of study: how it is measured, and the model it is judged by."""

    name: str
    measure: Measure
    options: int = 5
    level: float = 0.0  # of the best option
    question: dict[str, Any] = {}  # noqa: RUF012 - never changed


def _name(option: Any) -> str:
    return f"o{option}"


def known(errors: list[float], times: int = 2) -> Measure:
    """Known error bars, one per option."""

    def measured(values: Values, rng: np.random.Generator) -> list[Body]:
        return [
            _body(
                k, values[k] + errors[k % len(errors)] * rng.standard_normal(), sigma=errors[k % len(errors)]
            )
            for k in range(values.size)
            for _ in range(times)
        ]

    return measured


def shares(trials: list[int]) -> Measure:
    """Successes out of trials."""

    def measured(values: Values, rng: np.random.Generator) -> list[Body]:
        told = []
        for k, value in enumerate(values):
            n = trials[k % len(trials)]
            won = rng.binomial(n, min(1.0, max(0.0, value)))
            told.append(_body(k, won / n, kind="counts", sigma=0.5 / n**0.5, readings=n))
        return told

    return measured


def readings(counts: list[int], scatters: list[float]) -> Measure:
    """Repeated readings; each scatter is an instrument's."""

    def measured(values: Values, rng: np.random.Generator) -> list[Body]:
        told = []
        for tool, scatter in enumerate(scatters):
            for k, value in enumerate(values):
                drawn = value + scatter * rng.standard_normal(counts[k % len(counts)])
                squares = float(((drawn - drawn.mean()) ** 2).sum())
                about = {
                    "readings": drawn.size,
                    "errors": nw.Errors(scatter=squares),
                    "instrument": f"i{tool}",
                }
                told.append(_body(k, drawn.mean(), kind="readings", **about))
        return told

    return measured


def without_bars(times: int, block: int = 0) -> Measure:
    """Values without error bars, in blocks that hold so many."""

    def measured(values: Values, rng: np.random.Generator) -> list[Body]:
        order = _shuffled(values.size, times)
        return _in_blocks(order, block, values, 1.0, rng, kind="none")

    return measured


def in_blocks(size: int, times: int, errors: float = 1.0) -> Measure:
    """Known error bars, in blocks that hold so many of the options."""

    def measured(values: Values, rng: np.random.Generator) -> list[Body]:
        order = _shuffled(values.size, times)
        sigma = errors * (0.5 + np.arange(order.size) % 3)
        return _in_blocks(order, size, values, sigma, rng)

    return measured


def differences(times: int) -> Measure:
    """Differences around a ring, and some across."""

    def measured(values: Values, rng: np.random.Generator) -> list[Body]:
        n, told = values.size, []
        for at in range(times * n):
            plus, minus = at % n, (at + 1 + at // n) % n
            value = values[plus] - values[minus] + rng.standard_normal()
            told.append(_body(plus, value, sigma=1.0, minus=_name(minus)))
        return told

    return measured


def together(*several: Measure) -> Measure:
    """One after the other."""
    return lambda values, rng: [body for measure in several for body in measure(values, rng)]


def _body(option: Any, value: Any, *, kind: str = "known", **about: Any) -> Body:
    return {"option": _name(option), "value": float(value), "kind": kind, **about}


def _shuffled(options: int, times: int) -> Any:
    """All options a few times, each time in another order, which is the same in every study."""
    return np.concatenate([np.random.default_rng(k).permutation(options) for k in range(times)])


def _in_blocks(
    order: Any, size: int, values: Values, sigma: Any, rng: np.random.Generator, kind: str = "known"
) -> list[Body]:
    sigma = np.broadcast_to(sigma, order.shape)
    drawn = values[order] + sigma * rng.standard_normal(order.size)
    if not size:
        return [_body(k, value, kind=kind) for k, value in zip(order, drawn, strict=True)]
    drawn = drawn + 20.0 * np.repeat(rng.standard_normal(order.size), size)[: order.size]
    return [
        _body(
            k, value, kind=kind, block=f"b{at // size}", **({"sigma": float(bar)} if kind == "known" else {})
        )
        for at, (k, value, bar) in enumerate(zip(order, drawn, sigma, strict=True))
    ]


LINEAR = {"model": "linear"}
DEVIATION = {"model": "linear+deviation:1.0"}
LINES = (
    Line("known, equal error bars", known([1.0])),
    Line("known, unequal error bars", known([0.3, 1.0, 2.0, 0.7, 1.5])),
    Line("known, 20 options", known([0.5, 1.0, 2.0]), options=20),
    Line("shares around a half", shares([60, 100, 150]), level=0.7),
    Line("shares, rare successes", shares([400]), level=0.06),
    Line("shares and known", together(shares([80]), known([0.1], 1)), level=0.7),
    Line("readings, one scatter", readings([3, 4, 6], [1.0])),
    Line("readings, two instruments", readings([6], [1.0, 2.0])),
    Line("without error bars", without_bars(4)),
    Line("without error bars, blocks of 3", without_bars(6, 3)),
    Line("complete blocks", in_blocks(5, 3)),
    Line("blocks of 2", in_blocks(2, 4)),
    Line("blocks of 3, 12 options", in_blocks(3, 3), options=12),
    Line("differences", differences(2)),
    Line("linear", known([0.5, 1.0, 2.0], 1), options=20, question=LINEAR),
    Line("linear, blocks of 4", in_blocks(4, 1), options=20, question=LINEAR),
    Line("linear, without error bars", without_bars(1), options=20, question=LINEAR),
    Line("linear+deviation", known([0.5, 1.0, 2.0], 1), options=20, question=DEVIATION),
    Line("linear+deviation, blocks of 4", in_blocks(4, 2), options=20, question=DEVIATION),
)


class Rates(NamedTuple):
    """Of many studies."""

    studies: int
    missed: int  # some difference to the best lies outside
    wrong: int  # the certificate says less than the truth
    ratio: float  # of half-widths to those that hold at any time, geometric mean


class Kind:
    """The studies of one line."""

    def __init__(self, line: Line, confidence: float) -> None:
        self.line = line
        rng = np.random.default_rng([zlib.crc32(line.name.encode()), 7])
        self.features = rng.normal(size=(line.options, 3))
        table: dict[str, Any] = {"id": [_name(k) for k in range(line.options)]}
        if line.question:
            table |= {name: self.features[:, at] for at, name in enumerate("abc")}
        study = nw.create_study(options=table, eps=0.5, confidence=confidence, final=True, **line.question)
        self.once: Specification = study.specification
        self.any: Specification = replace(study.specification, looks=None)
        self.deviates = "deviation" in line.question
        self.weights = rng.normal(size=3)
        self.values = self._worst()

    def analysis(self, specification: Specification, bodies: list[Body]) -> Analysis:
        """What is known after these measurements."""
        state = State(specification)
        state.apply_all([Event(at, 0.0, "tell", body) for at, body in enumerate(bodies, 1)])
        return Analysis(state)

    def _worst(self) -> Values:
        """Rivals as far below the best as half-widths are wide."""
        line, rng = self.line, np.random.default_rng(1)
        values = np.full(line.options, line.level)
        if line.question:
            sums = self.features @ self.weights
            best = int(np.argmax(sums))
            widths = self.analysis(self.once, line.measure(sums, rng)).boundary.lead_widths(best)
            nearest = np.delete((sums[best] - sums) / np.maximum(widths, 1e-9), best).min()
            return np.asarray(sums / nearest)
        for _ in range(3):  # those of shares and readings depend on what was measured
            several = [
                self.analysis(self.once, line.measure(values, rng)).boundary.lead_widths(0) for _ in range(20)
            ]
            values = line.level - np.mean(several, axis=0)
            if line.level:
                values = np.maximum(values, 0.0)
        return np.asarray(values)

    def play(self, studies: int, with_ratio: int = 20, seed: int = 2) -> Rates:
        """Play studies, and compare the first of them with bounds that hold at any time."""
        rng, missed, wrong, ratios = np.random.default_rng(seed), 0, 0, []
        for number in range(studies):
            values = self.values
            if self.deviates:
                values = values + rng.standard_normal(values.size)
            best = int(np.argmax(values))
            bodies = self.line.measure(values, rng)
            analysis = self.analysis(self.once, bodies)
            widths, others = analysis.boundary.lead_widths(best), np.arange(values.size) != best
            estimated = -analysis.certified.differences(best)
            missed += bool((values[best] - values > estimated + widths + 1e-12).any())
            found = recommend(analysis)
            assert found is not None
            wrong += bool(found.bound < values[best] - values[found.option] - 1e-12)
            if number < with_ratio:
                at_any_time = self.analysis(self.any, bodies)
                if not at_any_time.sigmas.waiting:
                    wide = at_any_time.boundary.lead_widths(best)[others]
                    ratios.append(np.log(widths[others] / wide).mean())
        return Rates(studies, missed, wrong, float(np.exp(np.mean(ratios))) if ratios else np.nan)


def rows() -> list[Row]:
    """How much of the allowed error is used, and how much smaller half-widths are."""
    found = []
    for line in LINES:
        for confidence in CONFIDENCES:
            played = Kind(line, confidence).play(STUDIES)
            limit = float(binom.isf(FALSE_ALARM, played.studies, 1.0 - confidence)) / played.studies
            wrong = f"certificates wrong {played.wrong / played.studies:.4f}"
            detail = f"{wrong}; half-widths {played.ratio:.2f} of those at any time"
            outside = played.missed / played.studies
            found.append(Row(f"{line.name}, {confidence:g}", outside, "outside", limit, detail=detail))
    return found


TITLES = (
    "measured", "confidence", "outside", "of what is allowed", "certificates wrong", "half-widths over usual"
)  # fmt: skip


def table() -> str:
    """The same for a page."""
    lines = (
        table_line(line.name, confidence, Kind(line, confidence).play(STUDIES))
        for line in LINES
        for confidence in CONFIDENCES
    )
    return "\n".join([f"| {' | '.join(TITLES)} |", "|---" * len(TITLES) + "|", *lines])


def table_line(name: str, confidence: float, played: Rates) -> str:
    """One line of it."""
    missed, wrong = played.missed / played.studies, played.wrong / played.studies
    ratio = "-" if np.isnan(played.ratio) else f"{played.ratio:.2f}"
    used = missed / (1.0 - confidence)
    return f"| {name} | {confidence:g} | {missed:.3f} | {used:.2f} | {wrong:.3f} | {ratio} |"


def main() -> None:
    """Play everything, and print the table."""
    print(f"{STUDIES} studies per line.\n\n{table()}")


if __name__ == "__main__":
    main()
