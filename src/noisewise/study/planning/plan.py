"""How many more measurements until the bound is small enough: the study, simulated forward many times."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count
from noisewise.core.parallel import spread
from noisewise.core.randomness import check_seed, generator
from noisewise.core.text import about, as_html, counted
from noisewise.study.asking.ask import some_allowed
from noisewise.study.asking.items import batch_of
from noisewise.study.asking.pending import (
    DIFFERENCE,
    OPTION,
    WhatIf,
    condensed,
    expected_manner,
    usual_probe,
)
from noisewise.study.certificates.bound import recommend
from noisewise.study.certificates.certificate import Certificate, WithLeague
from noisewise.study.evidence.half_widths import SeparateOptions
from noisewise.study.log.amounts import name_of
from noisewise.study.log.measurements import NO_BLOCK
from noisewise.study.log.specification import ANY_TIME, ONCE, RACE
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.scatter import LEAST_FREEDOM
from noisewise.study.models.variance_components import Likelihood, Sizes
from noisewise.study.planning.future import (
    ComingBlocks,
    FutureSetting,
    ItemSetting,
    Outcome,
    coming_blocks,
    one_look_ahead,
)
from noisewise.study.planning.noise import Noise, NoiseLevels, Priced, by_cost, by_share
from noisewise.study.planning.worth import resolution_of
from noisewise.study.telling.error_bars import COUNTS
from noisewise.study.telling.scale import AS_TOLD, ValueScale

#: What lies outside of the band at each end.
TAIL = 0.1
#: How often worlds whose options differ by more than the span are drawn again; then the span must be wrong.
REDRAWN = 8
WITHHELD = "The certificate is withheld now"


@dataclass(frozen=True)
class Level:
    """One noise level: an instrument, a sample size."""

    sigma: float
    share: float  # of the measurements
    cost: float


@dataclass(frozen=True)
class Forecast:
    """How many measurements one way of going on takes; infinite: more than were simulated."""

    name: str
    median: float
    low: float  # one study in ten needs fewer
    high: float  # one in ten needs more
    cost: float  # median
    cost_low: float
    cost_high: float
    levels: tuple[Level, ...]
    paths: int  # futures that were simulated; 0: the counts do not depend on what comes out
    counted: str = "measurement"  # what is counted: "measurement", "comparison", "answer"
    each: float = 1.0  # trials or readings of one measurement
    piece: str = "measurement"  # what these are called: "trial", "reading"
    of_one: float = 0.0  # how many of them the option needs that needs most, median
    unit: str | None = None  # what the coming blocks are called, "day" or "block"; None: there are none
    blocks: float | None = None  # how many more of them are begun, median; the present one is not counted
    blocks_low: float | None = None
    blocks_high: float | None = None

    def words(self) -> str:
        """The counts in words, in what a person orders: trials, readings, answers."""
        if math.isinf(self.median):
            return f"more {self.counted}s than were simulated"
        band = self._band(self.low, self.high)
        if self.blocks is not None and self.unit is not None:
            blocks = "no further" if self.blocks == 0.0 else f"about {about(self.blocks)} more"
            around = self._band(self.blocks_low, self.blocks_high)
            count = f"about {_amount(self.median, self.counted)}{band}"
            return f"{blocks} {_plural(self.unit, self.blocks)}{around}, {count}"
        if self.each > 1.0:
            pieces = _amount(self.each * self.median, f"more {self.piece}")
            band = self._band(self.each * self.low, self.each * self.high)
            return f"about {pieces}{band}, {about(self.each)} of an option at a time"
        count = f"about {_amount(self.median, f'more {self.counted}')}{band}"
        return count + (f", at most {about(self.of_one)} for each option" if self.counted == "answer" else "")

    def cost_words(self) -> str:
        """The cost in words."""
        if math.isinf(self.cost):
            return "more than was simulated"
        return f"about {about(self.cost)}{self._band(self.cost_low, self.cost_high)}"

    def _band(self, low: float | None, high: float | None) -> str:
        if not self.paths or low is None or high is None:
            return "" if self.paths else ", whatever comes out"
        if about(low) == about(high):
            return ""
        end = f"to {about(high)}" if math.isfinite(high) else "or more"
        return f" (80 %: {about(low)} {end})"


def _amount(count: float, thing: str) -> str:
    return f"{about(count)} {_plural(thing, count)}"


def _plural(thing: str, count: float) -> str:
    return thing if count == 1.0 else f"{thing}s"


@dataclass(frozen=True, eq=False)
class Plan(WithLeague):
    """How many more measurements until the bound is at most eps: median, and the band of 80 %."""

    eps: float
    confidence: float
    bound: float  # now
    forecasts: tuple[Forecast, ...]  # the first is the one asked for; of a menu the cheapest
    by_cost: bool
    block: int | None = None  # how many measurements a coming block holds; None: no further block is begun
    batch: int = 1  # how many are asked for at once
    rule: str = RACE  # the policy that asks
    resolution: float | None = None  # the difference that the measurements so far can tell apart
    resolution_text: str = ""
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
        """The forecast without the quietest level, if there are several."""
        return None if self.by_cost or len(self.forecasts) == 1 else self.forecasts[1]

    @property
    def eps_text(self) -> str:
        """What is close enough, in words."""
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
            return f"{until}: nothing more; it already is."
        if self.by_cost:
            return f"{until}, cheapest is {first.name}: a cost of {first.cost_words()}, {first.words()}."
        return f"{until}: {first.words()}."

    def __str__(self) -> str:
        lines = [self.sentence]
        if self.high > 0.0:
            for other in self.forecasts[1:]:
                said = f"a cost of {other.cost_words()}, {other.words()}" if self.by_cost else other.words()
                lines.append(f"{other.name[0].upper()}{other.name[1:]}: {said}.")
            lines.append(f"Assumed: {', '.join(self.assumed)}.")
        notes = self.notes
        if self.high == 0.0:  # then the sentence says it
            notes = tuple(note for note in notes if not note.startswith(WITHHELD))
        return "\n".join([*lines, *([self.resolution_text] if self.resolution_text else []), *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html("Plan", str(self).splitlines(), drawn=self._league())

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
    block: int | None,
    batch: int | None,
    certificate: Certificate,
    on: Any = None,
) -> Plan:
    """Check what is asked, and simulate every way of going on."""
    state, scale = analysis.state, analysis.specification.value_scale
    wanted = analysis.specification.eps if eps is None else scale.read_eps(eps)
    if wanted is None:
        raise ValueError("`eps` must be given: this study has none, and a plan needs to know what is enough.")
    count, most, seed = check_count("paths", paths, least=2), check_count("most", most), check_seed(seed)
    some_allowed(state)
    if noise is not None and menu is not None:
        raise ValueError(
            "say either `noise=` (levels with their shares) or `menu=` (levels with their costs)."
        )
    items = batch_of(state, None)
    stated = {"noise": noise, "menu": menu, "span": span, "block": block, "batch": batch}
    if items is not None:
        for name, given in stated.items():
            if given is not None:
                raise ValueError(f"`{name}` must be left out: this study is measured item by item.")
        setting = ItemSetting(state, items, wanted, most, seed)
        setting.check()
        made = [_forecast("as it was so far", _run(setting.future, count, on), count, counted=name_of(state))]
        blocks = ComingBlocks(None, 1, NO_BLOCK, 0, True, False, 0.0, 0.0)
        assumed = ["coming items are like those so far", f"policy {state.policy.name}"]
    else:
        blocks = coming_blocks(analysis, block, batch)
        span = None if span is None else scale.read_span(span)
        ways = by_share(analysis, noise) if menu is None else by_cost(menu, scale)
        worlds = np.zeros((0, analysis.n)) if analysis.once else draw_worlds(analysis, count, seed, span)
        made = []
        for name, levels in ways:
            ahead = _setting(analysis, levels, wanted, most, blocks, noise is menu is None, worlds, seed)
            outcomes = [one_look_ahead(ahead)] if analysis.once else _run(ahead.future, count, on)
            made.append(_forecast(name, outcomes, len(worlds), ahead))
        noisy = (
            "noise by the menu" if menu is not None else ways[0][1].in_words(scale, stated=noise is not None)
        )
        assumed = _assumed(analysis, blocks, noisy)
    if menu is not None:
        made.sort(key=lambda forecast: (forecast.cost, forecast.cost_high))
    reasons = tuple(dict.fromkeys([*certificate.withheld, *analysis.sigmas.waiting]))
    found = None if reasons else resolution_of(analysis, certificate.option)
    return Plan(
        eps=wanted, confidence=certificate.confidence, bound=certificate.bound,
        forecasts=tuple(made), by_cost=menu is not None,
        block=blocks.size, batch=blocks.batch, rule=state.policy.name,
        assumed=tuple(assumed), notes=tuple(_notes(analysis, reasons)), withheld=reasons,
        looks=state.looks, scale=scale, resolution=found and found.difference,
        resolution_text=found.text if found else "",
    )  # fmt: skip


def _run(future: Callable[[int], Outcome], count: int, on: Any) -> list[Outcome]:
    """All futures, in the order of the worlds."""
    done = dict(spread(future, range(count), on, label="simulating"))
    return [done[place] for place in range(count)]


def _setting(
    analysis: Analysis,
    levels: NoiseLevels,
    eps: float,
    most: int,
    blocks: ComingBlocks,
    so_far: bool,
    worlds: Floats,
    seed: int,
) -> FutureSetting:
    state = analysis.state
    # Extra scatter is in the error bars of these columns already, and put into those of the levels.
    columns, sizes = condensed(analysis), Sizes(deviation=analysis.sizes.certified[0])
    if state.policy.name != RACE:  # policies count measurements, too
        columns = analysis.columns._replace(sigma=analysis.sigmas.certified)
    sums = WhatIf(state, columns, sizes).certified_sums
    apart = not (analysis.model.shares_information or sums.has_border) and blocks.name == NO_BLOCK
    found = recommend(analysis)
    manner = expected_manner(analysis, None if so_far else levels.usual)
    return FutureSetting(
        state=state, columns=columns, sizes=sizes, centre=analysis.sums.centre,
        levels=levels.with_scatter(analysis.sizes.extra_scatter), manner=manner,
        probe=usual_probe(analysis) if state.policy.name == RACE else OPTION, blocks=blocks,
        shares=analysis.model.shares_information,
        counted=manner.kind == COUNTS and apart and state.model.extra_scatter is None,
        eps=eps, bound=math.inf if found is None or analysis.sigmas.waiting else found.bound,
        least=least_more(analysis), most=most, worlds=worlds, seed=seed,
    )  # fmt: skip


def _forecast(
    name: str,
    outcomes: list[Outcome],
    paths: int,
    setting: FutureSetting | None = None,
    counted: str = "measurement",
) -> Forecast:
    counts = np.sort([outcome.needed for outcome in outcomes])
    costs = np.sort([outcome.cost for outcome in outcomes])
    of_one = np.sort([outcome.most for outcome in outcomes])
    rest: dict[str, Any] = {"levels": (), "counted": counted}
    if setting is not None:
        used, levels, blocks = (
            np.sum([outcome.used for outcome in outcomes], axis=0),
            setting.levels,
            setting.blocks,
        )
        share = used / used.sum() if used.any() else levels.share
        costs_each = [levels.cost] * share.size
        rest = {"levels": tuple(map(Level, levels.sigma.tolist(), share.tolist(), costs_each))}
        rest |= {"counted": "comparison" if setting.probe == DIFFERENCE else "measurement"}
        rest |= _pieces(setting)
        if blocks.size is not None:
            ends = {"blocks": _middle(counts), "blocks_low": _end(counts, TAIL)}
            ends["blocks_high"] = _end(counts, 1.0 - TAIL)
            rest |= {"unit": blocks.unit, **{end: blocks.begun(count) for end, count in ends.items()}}
    return Forecast(
        name=name, median=_middle(counts), low=_end(counts, TAIL), high=_end(counts, 1.0 - TAIL),
        cost=_middle(costs), cost_low=_end(costs, TAIL), cost_high=_end(costs, 1.0 - TAIL),
        of_one=_middle(of_one), paths=paths, **rest,
    )  # fmt: skip


def _pieces(setting: FutureSetting) -> dict[str, Any]:
    """The trials or readings that one measurement is the mean of."""
    name = name_of(setting.state)
    each = float(setting.manner.amount(setting.levels.usual)) if setting.probe == OPTION else 1.0
    return {"each": float(round(each)), "piece": name} if name in ("trial", "reading") and each >= 1.5 else {}


def _end(ordered: Floats, share: float) -> float:
    """An order statistic that a further study stays below with at least, or at most, this probability."""
    place = share * (ordered.size + 1)
    rank = math.floor(place) if share < 0.5 else math.ceil(place)
    return float(ordered[min(ordered.size, max(1, rank)) - 1])


def _middle(ordered: Floats) -> float:
    return float(ordered[(ordered.size - 1) // 2])


def draw_worlds(analysis: Analysis, count: int, seed: int, span: float | None) -> Floats:
    """Values of all options in ``count`` worlds, (count, n): large is good, in the fit's own zero.

    The certificate takes options as they come. Looking ahead needs a guess of how far apart they are, or the
    best of many options that were measured once would look far better than it is: values are normal with an
    unknown spread, and the measurements say which sizes of it are likely.
    """
    rng = generator(seed, "plan", 0)
    worlds = _draw(analysis, count, rng, span)
    for _ in range(REDRAWN if span is not None else 0):
        beyond = np.flatnonzero(np.ptp(worlds, axis=1) > span)
        if not beyond.size:
            break
        worlds[beyond] = _draw(analysis, beyond.size, rng, span)
    return worlds


def _draw(analysis: Analysis, count: int, rng: np.random.Generator, span: float | None) -> Floats:
    certified = not analysis.sigmas.waiting
    fit = analysis.certified if certified else analysis.estimates
    sums = analysis.certified_sums if certified else analysis.sums
    if certified and analysis.columns.value.size and not fit.connected:
        boundary = analysis.boundary
        if isinstance(boundary, SeparateOptions):  # shares near 0 or 1 are known better than error bars say
            fit = fit._replace(own=boundary.variances())
    return analysis.model.draw_worlds(fit, sums, count, rng, span)


def least_more(analysis: Analysis) -> int:
    """Measurements until scatter, and the sizes that the model estimates, have enough degrees of freedom."""
    model = analysis.state.model
    needed = sum(max(0, LEAST_FREEDOM - int(pool.freedom)) for pool in analysis.sigmas.pools)
    if not model.estimates:
        return needed
    given = analysis.likelihood()
    if "deviation" in model.estimates:
        needed += _options_lacking(analysis, given)
    if "extra_scatter" in model.estimates:
        # With deviations only repeats tell it, and a measurement that is one is not of a further option.
        unknowns = max(analysis.model.n_unknowns(), given.rank)
        freedom = given.repeats if model.deviation is not None else given.measurements - unknowns
        needed += max(0, LEAST_FREEDOM - freedom)
    return needed


def _options_lacking(analysis: Analysis, given: Likelihood) -> int:
    """How many further options must be measured; refuses if there is nothing to go by, or too few options."""
    if not given.measurements:
        raise ValueError(
            "`deviation` is to be estimated, and nothing was measured that says how large it is: state "
            "`deviation=` to look ahead."
        )
    needed = LEAST_FREEDOM + max(analysis.model.n_unknowns(), given.rank)
    columns, reach = analysis.columns, analysis.state.allowed()
    reach[columns.plus] = True
    reach[columns.minus[columns.minus >= 0]] = True
    if needed > (there := int(np.count_nonzero(reach))):
        raise ValueError(
            f"`deviation` cannot be estimated from the {there} options that there are, which takes {needed}: "
            "state `deviation=` to look ahead."
        )
    return max(0, needed - given.options)


def _notes(analysis: Analysis, withheld: Sequence[str]) -> list[str]:
    """Say why the bound is not a certificate yet."""
    seen = "the scatter seen so far" if analysis.columns.value.size else "there is none"
    notes = []
    for reason in withheld:
        hope = seen if reason in analysis.sigmas.waiting else "that it fits"
        notes.append(f"{WITHHELD} ({reason}); the plan assumes {hope}.")
    for pool in analysis.sigmas.pools:
        if (missing := LEAST_FREEDOM - pool.freedom) > 0:
            more = counted(missing, "degree of freedom")
            notes.append(
                f"The scatter of {pool.name} lacks {more}: one for each further one, none with `se=`."
            )
    return notes


def _assumed(analysis: Analysis, blocks: ComingBlocks, noise: str) -> list[str]:
    """What the simulation goes by, in words."""
    so_far = " (as so far)" if blocks.as_so_far else ""
    named = int(np.unique(analysis.columns.block[analysis.columns.block > 0]).size)
    if usual_probe(analysis) == DIFFERENCE:
        made = ["comparisons of two options, which no block shifts"]
    elif blocks.size is not None:
        made = [f"blocks of {blocks.size}{so_far}"]
        if blocks.room:
            made.append(f"the present one filled up first ({blocks.room} more) and not counted")
    elif blocks.name:
        made = [f"all in block {blocks.name}"]
    else:
        made = [f"outside of the {counted(named, 'block')} so far" if named else "no blocks"]
    if analysis.once:
        return [*made, noise, "every option in turn, and one look at the end"]
    asked = "asked for one by one" if blocks.batch == 1 else f"{blocks.batch} asked for at once"
    return [*made, asked, noise, f"policy {analysis.state.policy.name}"]


def _finite(plain: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in plain.items()
    }
