"""How many more measurements until the bound is small enough: the study, simulated forward many times."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.core.spreading.workers import Workforce, opened
from noisewise.core.support.checks import check_count
from noisewise.core.support.randomness import check_seed, generator
from noisewise.core.support.remarks import progress
from noisewise.core.support.words import as_html, counted, percent
from noisewise.study.asking.coming import DIFFERENCE, expected_manner, usual_probe
from noisewise.study.asking.decision import some_allowed
from noisewise.study.inputs.error_bars import BOUNDED
from noisewise.study.inputs.value_scale import AS_TOLD, ValueScale
from noisewise.study.log.specification import ANY_TIME, ONCE, RACE
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.scatter import LEAST_FREEDOM
from noisewise.study.planning.coming_blocks import ComingBlocks, coming_blocks
from noisewise.study.planning.forecast import Forecast, Level
from noisewise.study.planning.many_paths import outcome_of, outcomes_elsewhere
from noisewise.study.planning.needs import least_more
from noisewise.study.planning.noise_menu import Noise, Priced, by_cost, by_share, noise_in_words
from noisewise.study.planning.one_look import OneLookAhead
from noisewise.study.planning.paths import NoiseMenu, Outcome, Question, ask_ahead
from noisewise.study.planning.worlds import draw_worlds

#: How few worlds will do when each takes long: all of nine lie in a band of 80 %.
LEAST_PATHS = 9
#: Work for all forecasts of a plan, in milliseconds of a usual machine. Counted, not measured, so that the
#: same study always gives the same plan.
WORK = 4000.0
#: What a look takes longer where successes out of trials are counted, or readings between bounds one by one,
#: in the same milliseconds.
COUNTED, BETWEEN_BOUNDS = 5.0, 12.0
#: The band that holds four of five studies: the ends leave out a tenth each.
TAIL = 0.1
#: How finely progress is told.
PARTS = 100
WITHHELD = "The certificate is withheld now"
ASSUMED = "Assumed: "


@dataclass(frozen=True, eq=False)
class Plan:
    """How many more measurements until the bound is at most eps: median, and the band of 80 %."""

    eps: float
    confidence: float
    bound: float  # now
    forecasts: tuple[Forecast, ...]  # the first is the one asked for; of a menu the cheapest
    by_cost: bool
    block: int | None = None  # how many measurements a coming block holds; None: no further block is begun
    batch: int = 1  # how many are asked for at once
    rule: str = RACE  # who asks
    assumed: tuple[str, ...] = field(default=())  # what it rests on, in words
    notes: tuple[str, ...] = field(default=())
    withheld: tuple[str, ...] = field(default=())  # why there is no certificate now, whatever the bound
    looks: str = ANY_TIME  # or ONCE: then nothing was simulated from values
    scale: ValueScale = AS_TOLD  # how its numbers are shown

    @property
    def median(self) -> float:
        """A number of measurements that half of the simulated studies do not exceed."""
        return self.forecasts[0].median

    @property
    def low(self) -> float:
        """One in ten needs fewer."""
        return self.forecasts[0].low

    @property
    def high(self) -> float:
        """A number of measurements that nine of ten simulated studies do not exceed."""
        return self.forecasts[0].high

    @property
    def blocks(self) -> float | None:
        """How many more blocks half of the simulated studies do not exceed; None if none are begun."""
        return self.forecasts[0].blocks

    @property
    def without_quiet(self) -> Forecast | None:
        """The same without the quietest level, if there are several."""
        if self.by_cost or len(self.forecasts) == 1:
            return None
        return self.forecasts[1]

    @property
    def eps_text(self) -> str:
        """What is enough, in words."""
        return self.scale.stated(self.eps)

    @property
    def sentence(self) -> str:
        """The plan in one sentence."""
        first = self.forecasts[0]
        until = f"Until the bound is at most {self.eps_text}"
        if self.looks == ONCE:
            until = f"Until one look finds a bound of at most {self.eps_text}"
        if first.high == 0.0 and self.withheld:
            reasons = "; ".join(self.withheld)
            return f"{until}: no more, were it not for the certificate, which is withheld: {reasons}."
        if first.high == 0.0:
            return f"{until}: nothing, it is there already."
        if self.by_cost:
            return f"{until}, cheapest is {first.name}: a cost of {first.cost_words()}, {first.words()}."
        return f"{until}: {first.words()}."

    def __str__(self) -> str:
        lines = [self.sentence]
        if self.high > 0.0:
            for other in self.forecasts[1:]:
                said = f"a cost of {other.cost_words()}, {other.words()}" if self.by_cost else other.words()
                lines.append(f"{other.name[0].upper()}{other.name[1:]}: {said}.")
            if self.by_cost and len(self.forecasts[0].levels) > 1:
                used = ", ".join(
                    f"{percent(level.share, 0)} at {self.scale.error_stated(level.sigma)}"
                    for level in self.forecasts[0].levels
                )
                lines.append(f"Of the measurements: {used}.")
            lines.append(f"{ASSUMED}{', '.join(self.assumed)}.")
        notes = self.notes
        if self.high == 0.0:  # then the sentence says it
            notes = tuple(note for note in notes if not note.startswith(WITHHELD))
        return "\n".join([*lines, *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html("Plan", str(self).splitlines())

    def to_plain(self) -> dict[str, Any]:
        """As JSON values; what is infinite becomes None."""
        plain = {**asdict(self), "sentence": self.sentence}
        del plain["scale"]
        plain |= self.scale.to_plain(eps=self.eps, bound=self.bound)
        plain["forecasts"] = [_finite(asdict(forecast)) for forecast in self.forecasts]
        return _finite(plain)


def make_plan(
    analysis: Analysis,
    *,
    noise: Noise | None,
    menu: Priced | None,
    eps: float | str | None,
    span: float | str | None,
    paths: int,
    most: int,
    seed: int,
    compare: bool,
    block: int | None,
    batch: int | None,
    withheld: Sequence[str],
    bound: float,
    on: Any = None,
) -> Plan:
    """Check what is asked, and simulate every way of going on."""
    eps, scale = _read_eps(analysis, eps), analysis.specification.value_scale
    span = analysis.state.model.span if span is None else scale.read_span(span)
    count, most = check_count("paths", paths, least=2), check_count("most", most)
    some_allowed(analysis.state)
    if noise is not None and menu is not None:
        raise ValueError("say either noise= (levels with their shares) or menu= (levels with their costs).")
    ways = by_cost(menu, scale) if menu is not None else by_share(analysis, noise, compare)
    blocks = coming_blocks(analysis, block, batch)
    least = least_more(analysis)
    manner = expected_manner(analysis, None if noise is None and menu is None else ways[0][1].usual)
    rng = generator(check_seed(seed), "plan", 0)
    worlds = np.zeros((0, analysis.n)) if analysis.once else draw_worlds(analysis, count, rng, span)
    made = []
    with opened(on) as workers:
        for way, (name, levels) in enumerate(ways):
            question = ask_ahead(analysis, levels, eps, most, blocks, least, manner)
            work, watch = WORK / len(ways), partial(_tell, way, len(ways))
            made.append(_forecast(question, name, levels, worlds, seed, work, watch, workers))
    in_words = noise_in_words(noise, ways[0][1], scale, priced=menu is not None)
    assumed = _assumed(analysis, blocks, in_words)
    if menu is not None:
        made.sort(key=lambda forecast: (forecast.cost, forecast.cost_high))
    reasons = tuple(dict.fromkeys([*withheld, *analysis.sigmas.waiting]))
    return Plan(
        eps=eps, confidence=analysis.specification.confidence, bound=bound, forecasts=tuple(made),
        by_cost=menu is not None, block=blocks.size, batch=blocks.batch, rule=analysis.state.policy.name,
        assumed=tuple(assumed), notes=tuple(_notes(analysis, reasons)), withheld=reasons,
        looks=analysis.state.looks, scale=scale,
    )  # fmt: skip


def _tell(way: int, ways: int, share: float) -> None:
    """Say how far the forecasts are: so many are made, and this share of the next."""
    progress("simulating", round(PARTS * (way + share)), PARTS * ways)


def _notes(analysis: Analysis, withheld: Sequence[str]) -> list[str]:
    """What stands between the bound and the certificate."""
    seen = "what was measured so far shows" if analysis.columns.value.size else "there is none"
    notes = []
    for reason in withheld:
        hope = seen if reason in analysis.sigmas.waiting else "that it fits"
        notes.append(f"{WITHHELD} ({reason}); the plan assumes {hope}.")
    for pool in analysis.sigmas.pools:
        if (missing := LEAST_FREEDOM - pool.freedom) > 0:
            more = counted(missing, "degree of freedom")
            notes.append(f"The scatter of {pool.name} lacks {more}, which no measurement with se= brings.")
    return notes


def _assumed(analysis: Analysis, blocks: ComingBlocks, noise: str) -> list[str]:
    """What the simulation goes by, in words."""
    so_far = " (as so far)" if blocks.as_so_far else ""
    if usual_probe(analysis) == DIFFERENCE:
        made = ["differences, which no block shifts"]
    elif blocks.size is not None:
        made = [f"blocks of {blocks.size}{so_far}"]
        if blocks.room:
            made.append(f"the present one filled up first ({blocks.room} more) and not counted")
    else:
        outside = "outside of blocks" if (analysis.columns.block > 0).any() else "no blocks"
        made = [f"all in block {blocks.name}" if blocks.name else outside]
    if analysis.once:
        return [*made, noise, "every option in turn, and one look at the end"]
    asked = "asked for one by one" if blocks.batch == 1 else f"{blocks.batch} asked for at once"
    return [*made, asked, noise, f"the rule {analysis.state.policy.name}"]


def _forecast(
    question: Question,
    name: str,
    menu: NoiseMenu,
    worlds: Floats,
    seed: int,
    work: float,
    watch: Callable[[float], None],
    workers: Workforce | None,
) -> Forecast:
    step, look = question.model.milliseconds(question.sums.has_border or question.blocks.size is not None)
    look += COUNTED if question.counted else BETWEEN_BOUNDS if question.manner.kind == BOUNDED else 0.0
    outcomes: list[Outcome] = [OneLookAhead(question).go()] if question.analysis.once else []
    if workers is not None:
        outcomes += outcomes_elsewhere(question, worlds, seed, workers, watch)
    spent = 0.0
    for place in range(0 if workers is not None else len(worlds)):
        # Of 9, 19, 29 ... order statistics there are two between which 80 % lie, not more.
        if place >= LEAST_PATHS and (place + 1) % 10 == 0 and spent > work:
            break
        outcomes.append(outcome_of(question, worlds, seed, place))
        spent += step * outcomes[-1].steps + look * outcomes[-1].looks
        # It is over when all futures are simulated, or when a few are and the work is done.
        watch(max((place + 1) / len(worlds), min((place + 1) / LEAST_PATHS, spent / work, 1.0)))
    counts = np.sort([outcome.needed for outcome in outcomes])
    costs = np.sort([outcome.cost for outcome in outcomes])
    used = np.sum([outcome.used for outcome in outcomes], axis=0)
    share = used / used.sum() if used.any() else np.full(used.size, 1.0 / used.size)
    return Forecast(
        name=name,
        median=_middle(counts),
        low=_end(counts, TAIL),
        high=_end(counts, 1.0 - TAIL),
        cost=_middle(costs),
        cost_low=_end(costs, TAIL),
        cost_high=_end(costs, 1.0 - TAIL),
        levels=tuple(map(Level, menu.sigma.tolist(), share.tolist(), menu.cost.tolist())),
        paths=min(len(outcomes), len(worlds)),
        **_blocks(question.blocks, counts),
    )


def _blocks(blocks: ComingBlocks, counts: Floats) -> dict[str, Any]:
    """How many blocks the measurements begin: more measurements never begin fewer."""
    if blocks.size is None:
        return {}
    ends = {
        "blocks": _middle(counts),
        "blocks_low": _end(counts, TAIL),
        "blocks_high": _end(counts, 1.0 - TAIL),
    }
    return {"unit": blocks.unit, **{name: blocks.begun(count) for name, count in ends.items()}}


def _end(ordered: Floats, share: float) -> float:
    """An order statistic that a further study stays below with at least, or at most, this probability."""
    place = share * (ordered.size + 1)
    rank = math.floor(place) if share < 0.5 else math.ceil(place)
    return float(ordered[min(ordered.size, max(1, rank)) - 1])


def _middle(ordered: Floats) -> float:
    return float(ordered[(ordered.size - 1) // 2])


def _read_eps(analysis: Analysis, eps: float | str | None) -> float:
    wanted = analysis.specification.eps if eps is None else analysis.specification.value_scale.read_eps(eps)
    if wanted is None:
        raise ValueError("`eps` must be given: this study has none, and a plan needs to know what is enough.")
    return wanted


def _finite(plain: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in plain.items()
    }
