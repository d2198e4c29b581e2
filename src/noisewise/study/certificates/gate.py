"""Gates: compare a candidate with a baseline, and say whether it is good enough.

They rest on the upper bounds of the certificate, which hold at every look for the option that is truly the
better of the two, against the other one. If that is the baseline, "better" and "not worse by more than the
margin" are wrong only where its bound fails; if it is the candidate, only "worse" can be wrong. So all looks
together give a wrong verdict with probability delta at most. In a study of more than two options the bounds
have to hold whichever two are compared: they are those for a catalogue that changed.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from noisewise.core.checks import nearest
from noisewise.core.strict_json import plain
from noisewise.core.text import as_html, counted, in_unit, number, percent
from noisewise.study.certificates.assumptions import approximations, broken_promises
from noisewise.study.certificates.check import Check
from noisewise.study.log.amounts import name_of
from noisewise.study.log.specification import ONCE
from noisewise.study.models.analysis import Analysis
from noisewise.study.telling.scale import ValueScale

if TYPE_CHECKING:
    from noisewise.study.log.state import State

BETTER, WORSE, NOT_WORSE, UNDECIDED, WITHHELD = "better", "worse", "not worse", "undecided", "withheld"


@dataclass(frozen=True)
class Gate:
    """A candidate beside a baseline.

    Differences are amounts by which the candidate is better: above 0 if it is, whatever the goal. On a log
    scale they are differences of logarithms.

    Attributes:
        study: Name of the study.
        candidate: The option that may replace the baseline.
        baseline: The option it is compared with.
        verdict: "better", "worse", "not worse" (by more than the margin), "undecided" or "withheld".
        difference: The estimate; None before both were measured.
        low: Lower confidence limit.
        high: Upper confidence limit.
        margin: The loss that does not matter; None if any loss does.
        confidence: Probability with which no verdict of any look is wrong.
        goal: Whether the largest or the smallest value is best.
        counts: The readings, trials or items of the candidate and of the baseline.
        counted: What is counted, such as "reading".
        looks: "any time", or "once".
        pool: Number of items of a finite pool, which the verdict is about.
        wider: Confidence limits for the population of these items; None without a pool.
        withheld: Reasons to withhold the verdict.
        approximate: Reasons why the confidence is approximate.
        unit: Unit of the values.
        scale: "log" if values are compared by their ratios.
    """

    study: str
    candidate: str
    baseline: str
    verdict: str
    difference: float | None
    low: float | None
    high: float | None
    margin: float | None
    confidence: float
    goal: str
    counts: tuple[int, int]
    counted: str
    looks: str
    pool: int | None
    wider: tuple[float | None, float | None] | None
    withheld: tuple[str, ...]
    approximate: tuple[str, ...]
    unit: str | None
    scale: str | None

    @property
    def passed(self) -> bool:
        """Whether the candidate is better, or not worse by more than the margin."""
        return self.verdict in (BETTER, NOT_WORSE)

    @property
    def sentence(self) -> str:
        """The verdict in one sentence."""
        if self.verdict == WITHHELD:
            return f"Verdict withheld: {'; '.join(self.withheld)}."
        if self.difference is None:
            return f"Undecided: {self._unmeasured}"
        if self.verdict in (BETTER, WORSE):
            text = f"{self.candidate} is {self.verdict} than {self.baseline} by {self._by}"
        elif self.verdict == NOT_WORSE and self.margin is not None:
            most = self._amount(-self.margin)
            text = f"{self.candidate} is not worse than {self.baseline} by more than {most}: {self._interval}"
        else:
            text = f"Undecided: {self.candidate} is {self._interval} than {self.baseline}"
        return f"{text}, {self._sure}."

    @property
    def sentences(self) -> list[str]:
        """The sentence, and those that have to be read with it."""
        said = [self.sentence]
        if self.wider is not None and self.verdict != WITHHELD and self.difference is not None:
            limits = f"between {self._side(self.wider[0], -1)} and {self._side(self.wider[1], 1)}"
            said.append(f"For the population that these {self.pool:,} items were drawn from: {limits}.")
        candidate, baseline = self.counts
        of_candidate = f"{counted(candidate, self.counted)} of {self.candidate}"
        said.append(f"It rests on {of_candidate} and {baseline:,} of {self.baseline}.")
        return [*said, *(f"Approximate: {reason}." for reason in self.approximate)]

    def markdown(self) -> str:
        """The verdict for a pull request."""
        mark = {BETTER: "✅", NOT_WORSE: "✅", WORSE: "❌"}.get(self.verdict, "❔")
        cells = [self._shown(self.difference), self._shown(self.low), self._shown(self.high)]
        margin = [] if self.margin is None else [f"allowed: {self._side(-self.margin, -1)}"]
        rows = [
            f"### {mark} {_escaped(self.candidate)} beside {_escaped(self.baseline)}: {self.verdict}",
            "",
            f"| advantage of {_escaped(self.candidate)} | estimate | low | high |",
            "|---|---|---|---|",
            f"| {'; '.join([percent(self.confidence) + ' confidence', *margin])} | {' | '.join(cells)} |",
            "",
            *(_escaped(one) for one in self.sentences),
        ]
        return "\n".join(rows) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; limits that do not exist are null."""
        return {
            name: plain(list(value) if isinstance(value, tuple) else value)
            for name, value in asdict(self).items()
        } | {"passed": self.passed, "sentence": self.sentence}

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        good = True if self.passed else False if self.verdict == WORSE else None
        return as_html(f"{self.candidate} beside {self.baseline}", self.sentences, good=good)

    @property
    def _scale(self) -> ValueScale:
        return ValueScale(log=self.scale is not None, goal=self.goal, unit=self.unit)

    @property
    def _sure(self) -> str:
        sure = f"with {'about ' if self.approximate else ''}{percent(self.confidence)} confidence"
        on = "" if self.pool is None else f" on these {self.pool:,} items"
        return f"{sure}{on}{' (valid for one look only)' if self.looks == ONCE else ''}"

    @property
    def _by(self) -> str:
        """The size of a difference that is certain, with its limits."""
        ends = [(self.low, -1), (self.high, 1)]
        (near, to_near), (far, to_far) = ends if self.verdict == BETTER else ends[::-1]
        least = self._amount(near or 0.0, to_near)
        most = f"at least {least}" if far is None else f"{least} to {self._amount(far, to_far)}"
        return f"{self._amount(self.difference or 0.0)} ({most})"

    @property
    def _interval(self) -> str:
        return f"between {self._side(self.low, -1)} and {self._side(self.high, 1)}"

    def _side(self, advantage: float | None, rounding: int) -> str:
        """An advantage in words: "1.2 better", "0.3 worse"."""
        if advantage is None or not math.isfinite(advantage):
            return f"any amount {'better' if rounding > 0 else 'worse'}"
        if advantage == 0.0:
            return "equal"
        return f"{self._amount(advantage, rounding)} {'better' if advantage > 0.0 else 'worse'}"

    def _amount(self, advantage: float, rounding: int = 0) -> str:
        """Its size; limits are rounded away from the estimate."""
        if self._scale.log:
            sign = 1.0 if self.goal == "max" else -1.0
            size = 100.0 * abs(math.expm1(sign * max(-700.0, min(700.0, advantage))))
        else:
            size = abs(advantage)
        shown = _outward(size, rounding * (1 if advantage > 0.0 else -1)) if rounding else size
        return in_unit(number(shown), self._scale.unit_of_bounds)

    def _shown(self, advantage: float | None) -> str:
        return "-" if advantage is None or not math.isfinite(advantage) else self._side(advantage, 0)

    @property
    def _unmeasured(self) -> str:
        names = [self.candidate, self.baseline]
        missing = [name for name, count in zip(names, self.counts, strict=True) if not count]
        if missing:
            return f"{' and '.join(missing)} {'was' if len(missing) == 1 else 'were'} not measured yet."
        return f"nothing links {self.candidate} and {self.baseline} yet: measure both in a common block."


def _outward(size: float, rounding: int) -> float:
    """A size with four digits, rounded up (1) or down (-1)."""
    if size == 0.0 or not math.isfinite(size):
        return size
    unit = 10.0 ** (math.floor(math.log10(size)) - 3)
    return (math.ceil if rounding > 0 else math.floor)(size / unit) * unit


def _escaped(text: str) -> str:
    return "".join(f"\\{one}" if one in "|*_`<>[]#\\" else one for one in text)


def compare_pair(
    analysis: Analysis, check: Check, candidate: str, baseline: str, margin: float | str | None
) -> Gate:
    """Compare two options of a study.

    Args:
        analysis: The study at this moment.
        check: Whether its measurements fit.
        candidate: The option that may replace the baseline.
        baseline: The option it is compared with.
        margin: The loss that does not matter, as `eps` is given.
    """
    state, specification = analysis.state, analysis.specification
    pair = _indices(state, candidate, baseline)
    lost = None if margin is None else specification.value_scale.read_eps(margin, "margin")
    withheld = (*check.problems, *broken_promises(analysis))
    now = analysis if len(state.ids) == 2 else Analysis(_of_pair(state, pair))
    difference, low, high = _limits(now, *pair)
    columns = analysis.columns
    pool = state.items.pool if specification.items is not None else None
    wider = _limits(Analysis(now.state.of_population()), *pair)[1:] if pool else None
    counts = [int(columns.readings[(columns.plus == k) | (columns.minus == k)].sum()) for k in pair]
    return Gate(
        study=specification.name,
        candidate=candidate,
        baseline=baseline,
        verdict=WITHHELD if withheld else _verdict(low, high, lost),
        difference=difference,
        low=None if withheld else low,
        high=None if withheld else high,
        margin=lost,
        confidence=specification.confidence,
        goal=specification.goal,
        counts=(counts[0], counts[1]),
        counted=name_of(state, columns),
        looks=state.looks,
        pool=pool,
        wider=None if withheld else wider,
        withheld=withheld,
        approximate=tuple(approximations(analysis)),
        unit=specification.unit,
        scale=specification.scale,
    )


def _indices(state: "State", candidate: str, baseline: str) -> tuple[int, int]:
    for name, given in (("candidate", candidate), ("baseline", baseline)):
        if given not in state.index:
            raise ValueError(
                f"`{name}` must be an option of the study; got {given!r}.{nearest(given, state.ids)}"
            )
        if state.index[given] in state.excluded:
            raise ValueError(
                f"`{name}` must not be excluded; {given!r} is: {state.excluded[state.index[given]]}"
            )
    if candidate == baseline:
        raise ValueError(f"`candidate` and `baseline` must be two options; both are {baseline!r}.")
    return state.index[candidate], state.index[baseline]


def _of_pair(state: "State", pair: Sequence[int]) -> "State":
    """The study, whose best may be either of two options, whichever two they are."""
    twin = state.with_model(state.model)
    twin.excluded = {k: "not compared" for k in range(len(state.ids)) if k not in pair}
    twin.changed = True
    return twin


def _limits(
    analysis: Analysis, candidate: int, baseline: int
) -> tuple[float | None, float | None, float | None]:
    """The estimated advantage of the candidate, and its confidence limits; None where there are none."""
    if not analysis.columns.value.size or analysis.sigmas.waiting:
        return None, None, None
    fit = analysis.certified
    if fit.group[candidate] < 0 or fit.group[candidate] != fit.group[baseline]:
        return None, None, None
    ahead = float(fit.differences(baseline)[candidate])
    up = float(analysis.boundary.half_widths(baseline)[candidate])
    down = float(analysis.boundary.half_widths(candidate)[baseline])
    estimate = float(analysis.estimates.differences(baseline)[candidate])
    return (
        _finite(estimate),
        _finite(-(float(fit.differences(candidate)[baseline]) + down)),
        _finite(ahead + up),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _verdict(low: float | None, high: float | None, margin: float | None) -> str:
    """What the limits say; a limit that does not exist decides nothing."""
    if low is not None and low > 0.0:
        return BETTER
    if low is not None and margin is not None and low > -margin:
        return NOT_WORSE
    return WORSE if high is not None and high < 0.0 else UNDECIDED
