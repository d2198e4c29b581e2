"""One possible future of a study: what is measured next, what comes out, and when the bound is small enough.

The study's own rule asks and its own certificate is looked at. To be fast, it is looked at geometrically:
after a share of what there is already has come in. What is measured between two looks is decided at the
first of them, as for workers who ask at the same time; where the bound was small enough between the last two
looks is interpolated on a log scale.

In a study that is looked at once, values must not decide how many measurements there are. So nothing is
simulated: every option is measured in turn until every difference is known well enough. Whatever the values
are, the option with the largest estimate is then within eps of the best, with the study's confidence.
"""

import copy
import math
from datetime import date
from typing import NamedTuple

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.core.checks import check_count
from noisewise.core.randomness import generator
from noisewise.study.asking.ask import Decider
from noisewise.study.asking.pending import (
    DIFFERENCE,
    OPTION,
    UNNAMED,
    AsMeasured,
    Coming,
    Manner,
    More,
    WhatIf,
    block_going_on,
    company_in,
    usual_probe,
    with_more,
)
from noisewise.study.certificates.bound import recommend
from noisewise.study.log.events import Event
from noisewise.study.log.items import next_places
from noisewise.study.log.measurements import NO_BLOCK, NOBODY, Codes, Columns
from noisewise.study.log.specification import RACE
from noisewise.study.log.state import State
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.variance_components import Sizes
from noisewise.study.planning.noise import NoiseLevels
from noisewise.study.telling.item_rows import content_of

#: By which part of what was measured a study grows between two looks: far from the end, and while the bound
#: is at most `NEAR` times eps.
GROWTH, FINE, NEAR = 0.3, 0.1, 1.5
#: The most decisions between two looks; more measurements are as many of these, repeated.
DECISIONS = 48
#: Rounds that are simulated one by one; more are as many of these whose errors are smaller.
ONE_BY_ONE = 20
#: Options that are compared with all others; of more, those that are known least.
COMPARED = 500


class Outcome(NamedTuple):
    """How one future went; infinite if the bound did not become small enough."""

    needed: float  # measurements, or answers to items
    cost: float
    most: float  # the largest number of them for one option
    used: Floats  # measurements of each level


class ComingBlocks(NamedTuple):
    """How the study goes on: blocks of a size, one after the other."""

    size: int | None  # measurements in a block; None: all that come share the block of the last one
    batch: int  # how many are asked for at once, within a block
    name: str  # the block of the last measurement
    room: int  # how many more belong there, if blocks have a size
    as_so_far: bool  # whether the size was found, and not said
    days: bool  # whether all blocks are named by dates
    centre: float  # the mean offset of blocks so far
    spread: float  # its standard deviation

    @property
    def unit(self) -> str:
        """What a block is called."""
        return "day" if self.days else "block"

    def begun(self, count: float) -> float:
        """How many new blocks so many measurements begin; one begun counts."""
        if self.size is None or not np.isfinite(count):
            return count if self.size is not None else 0.0
        return float(-(-max(0, int(count) - self.room) // self.size))


class FutureSetting(NamedTuple):
    """What all futures of measurements with error bars have in common."""

    state: State
    columns: Columns  # those so far, with the certificate's error bars
    sizes: Sizes
    centre: float
    levels: NoiseLevels
    manner: Manner
    probe: str
    blocks: ComingBlocks
    shares: bool  # whether the model lets options share information
    counted: bool  # whether they are successes out of trials, and count as such
    eps: float
    bound: float  # now, a misfit apart
    least: int  # measurements before which there is no certificate, whatever the bound
    most: int
    worlds: Floats  # (futures, n): values of all options, large is good
    seed: int

    def future(self, place: int) -> Outcome:
        """The future in one of the worlds; its noise depends on seed and place alone."""
        return _Future(self, self.worlds[place], generator(self.seed, "plan", place + 1)).go()


class _Future:
    def __init__(self, setting: FutureSetting, world: Floats, rng: np.random.Generator) -> None:
        self._setting, self._world, self._rng = setting, world, rng
        self._rows: list[tuple[int, int, float, float, str, int]] = []
        self._count, self._cost, self._asked = 0, 0.0, 0
        self._used = np.zeros(setting.levels.sigma.size)
        self._each = np.zeros(world.size)
        state, blocks = setting.state, setting.blocks
        self._allowed = state.allowed()
        self._costs = np.ones(world.size) if state.costs is None else np.array(state.costs)
        self._block, self._room, self._begun = blocks.name, blocks.room, 0
        self._study = AsMeasured(state, setting.columns, setting.sizes, imagined=True)
        self._offset = self._offset_so_far()
        sigma = setting.columns.sigma
        known = float(np.sum(sigma[np.isfinite(sigma) & (sigma > 0.0)] ** -2.0))
        self._before = min(state.measurements.n_live, known * setting.levels.usual**2)

    def _offset_so_far(self) -> float:
        """Of the block that goes on: in this world, what was measured there says what it is."""
        sums, block = self._study.certified_sums, self._setting.blocks.name
        company = company_in(sums, block) if block != NO_BLOCK or self._setting.shares else None
        if company is None:
            return 0.0
        rows = (sums.minus < 0) & (sums.block == sums.blocks.index(block))
        above = float(company.shares @ (sums.value[rows] - self._world[sums.plus[rows]]))
        return above + math.sqrt(company.variance) * self._rng.standard_normal()

    def go(self) -> Outcome:
        """Measure until the bound is small enough."""
        setting = self._setting
        count, bound = 0, math.inf
        while True:
            before, found = (count, bound), recommend(self._study)
            count, bound = self._count, math.inf if found is None else found.bound
            bound = bound if count else setting.bound
            if bound <= setting.eps:
                needed = max(
                    setting.least, reached_at(before, (count, bound), setting.eps, setting.blocks.batch)
                )
                each = self._cost / count if count else self._usual_cost()
                share = needed / count if count else 0.0
                return Outcome(needed, needed * each, float(self._each.max()) * share, self._used)
            if count >= setting.most:
                return Outcome(math.inf, math.inf, math.inf, self._used)
            self._measure(bound)
            self._study = AsMeasured(setting.state, self._columns(), setting.sizes, imagined=True)

    def _usual_cost(self) -> float:
        return self._setting.levels.cost * float(self._costs[self._allowed].mean())

    def _measure(self, bound: float) -> None:
        """What is measured until the next look."""
        setting, blocks = self._setting, self._setting.blocks
        if blocks.size is not None and self._room == 0:
            self._begun += 1
            self._block, self._room = f"{UNNAMED}{self._begun}", blocks.size
            self._offset = blocks.centre + blocks.spread * self._rng.standard_normal()
        growth = GROWTH if bound > NEAR * setting.eps else FINE
        coming = max(1, int(growth * (self._before + self._count)), self._unseen())
        coming = min(coming, setting.most - self._count)
        coming = -(-coming // blocks.batch) * blocks.batch
        if blocks.size is None:
            decisions = min(coming, max(DECISIONS, self._unseen()))
        else:  # a part of a block, or whole ones that hold the same
            decisions = min(coming, self._room)
            coming -= coming % decisions
            self._room -= decisions
        times = [coming // decisions + (k < coming % decisions) for k in range(decisions)]
        for (option, minus), often in zip(self._choose(decisions), times, strict=True):
            self._take(option, minus, often)

    def _unseen(self) -> int:
        """Options that were never measured: where they share nothing, there is no bound before."""
        if self._setting.shares or self._setting.probe != OPTION or self._setting.blocks.size is not None:
            return 0
        seen = np.zeros(self._world.size, dtype=bool)
        seen[self._study.columns.plus] = True
        return int((self._allowed & ~seen).sum())

    def _choose(self, count: int) -> list[tuple[int, int]]:
        """What the study asks for now."""
        setting = self._setting
        noise = setting.levels.of_options(self._world.size)
        costs = None if setting.state.costs is None else self._costs
        coming = Coming(noise, self._allowed, self._block, setting.probe, costs, setting.manner)
        decider = Decider(self._study, setting.state.policy, [])
        numbers = range(self._asked + 1, self._asked + count + 1)
        self._asked += count
        found = []
        if self._block not in self._study.columns.blocks:  # nothing is compared before a block is begun
            found = [decider.decide(coming, setting.levels.usual, numbers[0])]
            decider.expect(found[0], coming, setting.levels.usual)
        found += decider.decide_several(coming, setting.levels.usual, numbers[len(found) :])
        return [(one.option, one.minus) for one in found]

    def _take(self, option: int, minus: int, often: int) -> None:
        """Measure an option, or a difference, so many times."""
        setting, levels = self._setting, self._setting.levels
        used = self._rng.multinomial(often, levels.share)
        sigma = float(used @ levels.sigma**-2.0) ** -0.5
        level = minus == NOBODY
        if level and levels.times is not None:
            sigma *= float(levels.times[option])
        sign, mean = setting.state.specification.sign, float(self._world[option])
        if setting.counted:
            trials = max(1, round(float(setting.manner.amount(sigma))))
            share = min(1.0, max(0.0, sign * (mean + setting.centre)))
            value, sigma = self._rng.binomial(trials, share) / trials, 0.5 / math.sqrt(trials)
        else:
            mean += self._offset + setting.centre if level else -float(self._world[minus])
            value = sign * (mean + sigma * self._rng.standard_normal())
        self._rows.append((option, minus, value, sigma, self._block if level else NO_BLOCK, often))
        self._used += used
        self._count += often
        self._each[[option, *([] if level else [minus])]] += often
        prices = self._costs[option] + (0.0 if level else self._costs[minus])
        self._cost += often * levels.cost * float(prices)

    def _columns(self) -> Columns:
        plus, minus, value, sigma, blocks, often = (list(part) for part in zip(*self._rows, strict=True))
        manners = [self._setting.manner if other == NOBODY else Manner() for other in minus]
        more = More(np.array(plus), np.array(minus), np.array(value), np.array(sigma), blocks, manners, often)
        return with_more(self._setting.columns, more)


class ItemSetting(NamedTuple):
    """What all futures of a study of paired items have in common.

    Coming items are drawn from those that all options in the running were measured on, with weights that
    differ from future to future (the Bayesian bootstrap): options agree on them as they did so far.
    """

    state: State
    batch: int
    eps: float
    most: int
    seed: int

    def check(self) -> None:
        """Refuse a study that does not say yet how often options agree."""
        if _in_common(self.state) < 2:
            raise ValueError(
                "a plan learns from the answers so far how often options agree: measure at least 2 items of "
                "every option first."
            )

    def future(self, place: int) -> Outcome:
        """One future; chance depends on seed and place alone."""
        state, rng = copy.deepcopy(self.state), generator(self.seed, "plan", place + 1)
        rows = _in_common(state)
        weights, like = rng.dirichlet(np.ones(rows)), np.arange(rows)  # the item that each place is like
        begun = _answers(state)
        count, bound = 0, math.inf
        while True:
            before, analysis = (count, bound), Analysis(state)
            found, more = recommend(analysis), _answers(state) - begun
            count, bound = int(more.sum()), math.inf if found is None else found.bound
            if bound <= self.eps:
                needed = reached_at(before, (count, bound), self.eps, 1)
                share = needed / count if count else 0.0
                return Outcome(needed, needed, float(more.max()) * share, np.ones(1))
            if count >= self.most:
                return Outcome(math.inf, math.inf, math.inf, np.ones(1))
            growth = GROWTH if bound > NEAR * self.eps else FINE
            size = max(self.batch, int(growth * _answers(state).max()))
            for option in self._choose(analysis, size):
                places = next_places(state, option, size, [])
                if places.size:
                    wanted = max(0, int(places[-1]) + 1 - like.size)
                    like = np.concatenate([like, rng.choice(rows, wanted, p=weights)])
                    self._tell(state, option, places, like[places])

    def _choose(self, analysis: Analysis, size: int) -> list[int]:
        """The options that are asked for now: by RACE two, since the one that is behind is measured."""
        state, chosen = analysis.state, list[int]()
        decider = Decider(analysis, state.policy, [])
        decider.by_items([], size)
        coming = decider.coming(None, block=NO_BLOCK, probe=OPTION)
        while len(chosen) < (2 if state.policy.name == RACE else 1) and not decider.is_over:
            chosen.append(decider.decide(coming, None, state.n_events).option)
        return chosen

    @staticmethod
    def _tell(state: State, option: int, places: Codes, like: Codes) -> None:
        """Answer items as those were answered that they are like."""
        items = state.items
        known = items.of(option)
        values = known.at(np.minimum(like, known.prefix - 1))
        names = [items.names[at] if at < len(items.names) else f"item {at + 1}" for at in places.tolist()]
        told = content_of(state, names, [items.back(value) for value in values.tolist()], "")
        state.apply(Event(state.n_events + 1, 0.0, "tell", {"option": state.ids[option]} | told))


def _answers(state: State) -> Floats:
    """How many items each option was measured on, (n,)."""
    return np.array([float(state.items.of(option).count) for option in range(len(state.ids))])


def _in_common(state: State) -> int:
    """Items from the first on that all options in the running were measured on."""
    found = recommend(Analysis(state))
    running = np.flatnonzero(state.allowed() if found is None else found.candidates)
    return min((state.items.of(int(option)).prefix for option in running), default=0)


def reached_at(before: tuple[int, float], after: tuple[int, float], eps: float, at_once: int) -> float:
    """After how many measurements the bound was as small as eps, between two looks."""
    (start, high), (end, low) = before, after
    share = 1.0
    if math.isfinite(high) and 0.0 < low < high:
        share = min(1.0, max(0.0, math.log(high / eps) / math.log(high / low)))
    steps = math.ceil(share * (end - start) / at_once - 1e-9)
    return float(min(end, start + max(1, steps) * at_once) if end > start else end)


def coming_blocks(analysis: Analysis, block: int | None, batch: int | None) -> ComingBlocks:
    """The blocks to come, as was said, or as they were so far.

    Args:
        analysis: What was measured.
        block: How many measurements a block will hold; None: as usual so far, if the last one is in a block.
        batch: How many are asked for at once; None: one.
    """
    name, sizes = block_going_on(analysis), _sizes(analysis)
    held = sizes.get(name, 0)
    differences = usual_probe(analysis) == DIFFERENCE and analysis.state.policy.name == RACE
    if block is not None:
        size: int | None = check_count("block", block)
        if size == 1:
            raise ValueError(
                "`block` must be at least 2: a block with one measurement says nothing about differences."
            )
        if differences:
            raise ValueError(
                "`block` must be left out: this study measures differences, which no block shifts."
            )
    elif name == NO_BLOCK:
        size = None
    else:
        others = [count for other, count in sizes.items() if other != name] or [held]
        size = int(np.sort(others)[len(others) // 2])
        size = size if size > 1 else None
    at_once = 1 if batch is None else check_count("batch", batch)
    if size is not None and at_once > size:
        raise ValueError(
            f"`batch` must be at most `block`, which is {size}: what is asked for at once is in one block."
        )
    centre, spread = _offsets(analysis)
    return ComingBlocks(
        size=size,
        batch=at_once,
        name=name,
        room=0 if size is None or name == NO_BLOCK else max(0, size - held),
        as_so_far=block is None,
        days=bool(sizes) and all(map(_is_date, sizes)),
        centre=centre,
        spread=spread,
    )


def _sizes(analysis: Analysis) -> dict[str, int]:
    """How many measurements each named block holds."""
    columns = analysis.columns
    level = (columns.minus < 0) & (True if columns.arm is None else ~columns.arm)
    counts = np.bincount(columns.block[level], minlength=len(columns.blocks))
    return {
        name: int(count)
        for name, count in zip(columns.blocks, counts, strict=True)
        if count and name != NO_BLOCK
    }


def _is_date(name: str) -> bool:
    try:
        date.fromisoformat(name)
    except ValueError:
        return False
    return True


def _offsets(analysis: Analysis) -> tuple[float, float]:
    """Mean and standard deviation of the estimated offsets of named blocks."""
    if not analysis.columns.value.size:
        return 0.0, 0.0
    fit = analysis.estimates
    offsets = fit.offsets[1:][fit.offset_precision[1:] > 0.0]
    return (float(offsets.mean()), float(offsets.std())) if offsets.size else (0.0, 0.0)


def one_look_ahead(setting: FutureSetting) -> Outcome:
    """The least number of whole rounds, and what they cost."""
    options = np.flatnonzero(setting.state.allowed())
    most, rounds = setting.most // options.size, math.inf
    if _widest(setting, 0) <= setting.eps:
        rounds = 0
    elif most and _widest(setting, most) <= setting.eps:
        high = 1
        while high < most and _widest(setting, high) > setting.eps:
            high = min(most, 2 * high)
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _widest(setting, middle) <= setting.eps else (middle, high)
        rounds = high
    count = max(float(rounds * options.size), float(setting.least))
    costs = setting.state.costs
    each = setting.levels.cost * (1.0 if costs is None else float(np.array(costs)[options].mean()))
    return Outcome(count, count * each, float(rounds), setting.levels.share)


def _widest(setting: FutureSetting, rounds: int) -> float:
    """The largest half-width after so many more rounds."""
    options = np.flatnonzero(setting.state.allowed())
    foreseen = WhatIf(setting.state, with_more(setting.columns, _more(setting, rounds)), setting.sizes)
    if not foreseen.columns.value.size or foreseen.sigmas.waiting:
        return math.inf
    fit = foreseen.certified
    if (fit.group[options] != fit.group[options[0]]).any() or (fit.group[options] < 0).any():
        return math.inf
    some = options[np.argsort(-fit.variances()[options], kind="stable")[:COMPARED]]
    return max(float(foreseen.boundary.half_widths(int(option))[options].max()) for option in some)


def _more(setting: FutureSetting, rounds: int) -> More:
    """The coming measurements: their values say nothing, and are left at 0."""
    options, told = np.flatnonzero(setting.state.allowed()), min(rounds, ONE_BY_ONE)
    plus = np.tile(options, told)
    sigma = setting.levels.of_options(setting.worlds.shape[1])[plus] * math.sqrt(told / max(1, rounds))
    blocks, count = setting.blocks, plus.size
    names = [blocks.name] * count
    if blocks.size is not None:
        place = np.maximum(np.arange(count) - blocks.room, -1) // blocks.size
        names = [blocks.name if at < 0 else f"{UNNAMED}{at}" for at in place]
    return More(plus, np.full(count, NOBODY), np.zeros(count), sigma, names)
