"""How many measurements until one look will do, whatever comes out: found from error bars alone.

In a study that is looked at once, values must not decide how many measurements there are. So nothing is
simulated: every option is measured in turn until every difference is known well enough. Whatever the values
are, the option with the largest estimate is then within eps of the best, with the study's confidence.
"""

import math

import numpy as np

from noisewise.study.asking.pending import UNNAMED, More, WhatIf, with_more
from noisewise.study.log.measurements import NOBODY
from noisewise.study.planning.future import FutureSetting, Outcome

#: Rounds that are simulated one by one; more are as many of these whose errors are smaller.
ONE_BY_ONE = 20
#: Options that are compared with all others; of more, those that are known least.
COMPARED = 500


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
