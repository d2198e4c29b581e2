"""Plain samplers that decide what is measured, with estimates of their own: no certificate has a say.

All measure the leader, or the rival that is hardest to tell from it. Each of them goes on without end (items:
until there are none left), and gives the option and what came out.
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Rng = np.random.Generator
#: Questions that there are.
ITEMS = 60_000


class Wanted(NamedTuple):
    """What a sampler is to find out."""

    eps: float
    first: int = 1  # measurements of each option before any choice
    evenly: bool = False  # all options in turn: nothing is chosen


def leader_or_rival(wanted: Wanted, means: Floats, errors: Floats, effort: Floats) -> int:
    """The leader as long as its effort is less than the root of the sum of squares of all others'.

    Args:
        wanted: Gaps count with eps on top.
        means: Estimates of the options.
        errors: Their variances.
        effort: What was done for each, in squares.
    """
    leader = int(np.argmax(means))
    if 2.0 * effort[leader] < effort.sum():
        return leader
    hard = (means[leader] - means + wanted.eps) ** 2 / (errors[leader] + errors)
    hard[leader] = np.inf
    return int(np.argmin(hard))


def known_rows(truth: Floats, noise: Floats, wanted: Wanted, rng: Rng) -> Iterator[tuple[int, float, float]]:
    """Readings whose standard errors ``noise`` has, by the number of the measurement and by option."""
    n, typical = truth.size, noise.mean(axis=0)
    precision, total, number = np.zeros(n), np.zeros(n), np.zeros(n)
    for step in itertools.count():
        if step < wanted.first * n or wanted.evenly:
            option = step % n
        else:
            option = leader_or_rival(wanted, total / precision, 1.0 / precision, (number / typical) ** 2)
        se = float(noise[step % len(noise), option])
        value = float(truth[option] + se * rng.standard_normal())
        yield option, value, se
        precision[option] += se**-2
        total[option] += value * se**-2
        number[option] += 1.0


def scatter_rows(truth: Floats, sizes: Floats, wanted: Wanted, rng: Rng) -> Iterator[tuple[int, float]]:
    """Readings whose scatter nobody knows: it is estimated, and a rival with few readings is harder to tell.

    How hard a rival is to tell from the leader is what Student's likelihood ratio of their difference says,
    ``ν·log(1 + t²/ν)`` with Welch's degrees of freedom ν.
    """
    n = truth.size
    number, mean, squares = np.zeros(n), np.zeros(n), np.zeros(n)
    for step in itertools.count():
        if step < wanted.first * n:
            option = step % n
        else:
            variance = squares / (number - 1.0)
            leader = int(np.argmax(mean))
            effort = number**2 / variance
            if 2.0 * effort[leader] < effort.sum():
                option = leader
            else:
                part = variance / number
                whole = part + part[leader]
                freedom = whole**2 / (part**2 / (number - 1.0) + part[leader] ** 2 / (number[leader] - 1.0))
                hard = freedom * np.log1p((mean[leader] - mean + wanted.eps) ** 2 / whole / freedom)
                hard[leader] = np.inf
                option = int(np.argmin(hard))
        value = float(truth[option] + sizes[option] * rng.standard_normal())
        yield option, value
        number[option] += 1.0
        away = value - mean[option]
        mean[option] += away / number[option]
        squares[option] += away * (value - mean[option])


def count_rows(
    shares: Floats, sign: float, batch: int, wanted: Wanted, rng: Rng
) -> Iterator[tuple[int, int]]:
    """Batches of trials; shares times the sign are to be large."""
    n = shares.size
    successes, trials = np.zeros(n), np.zeros(n)
    for step in itertools.count():
        if step < wanted.first * n or wanted.evenly:
            option = step % n
        else:
            means = successes / trials
            scatter = means * (1.0 - means) + 1.0 / trials
            option = leader_or_rival(wanted, sign * means, scatter / trials, trials**2 / scatter)
        came = int(rng.binomial(batch, shares[option]))
        yield option, came
        successes[option] += came
        trials[option] += batch


def linear_rows(
    x: Floats, truth: Floats, se: float, wanted: Wanted, rng: Rng
) -> Iterator[tuple[int, float, float]]:
    """What lowers most the variances of differences to the leader, weighted by how near each rival is."""
    covariance, total = np.eye(x.shape[1]), np.zeros(x.shape[1])
    while True:
        means, known = x @ (covariance @ total), x @ covariance
        leader = int(np.argmax(means))
        away = known[leader] - known
        size = np.sqrt(np.maximum(np.einsum("kj,kj->k", away, x[leader] - x), 1e-20))
        weight = -0.5 * ((means[leader] - means + wanted.eps) / (1.5 * size)) ** 2 - np.log(size)
        weight[leader] = -np.inf
        matters = (away.T * np.exp(weight - weight.max())) @ away
        gain = np.einsum("kj,kj->k", x @ matters, x) / (se**2 + np.einsum("kj,kj->k", known, x))
        option = int(np.argmax(gain))
        value = float(truth[option] + se * rng.standard_normal())
        yield option, value, se
        row = known[option]
        covariance = covariance - np.outer(row, row) / (se**2 + float(row @ x[option]))
        total = total + x[option] * value / se**2


def answered_share(skill: Floats, difficulty: float) -> Floats:
    """The share of all items that each option answers: logistic in its skill, less the item's difficulty."""
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    chance = 1.0 / (1.0 + np.exp(-(skill[:, None] + difficulty * points[None, :])))
    return np.asarray(chance @ weights / weights.sum())


def item_rows(
    skill: Floats, difficulty: float, batch: int, wanted: Wanted, rng: Rng
) -> Iterator[tuple[int, dict[str, int]]]:
    """All options answer the items in one order: the leader goes ahead, its hardest rival follows."""
    n = skill.size
    ease = difficulty * rng.standard_normal(ITEMS)
    chance = 1.0 / (1.0 + np.exp(-(skill[:, None] + ease[None, :])))
    answers = (rng.random((n, ITEMS)) < chance).astype(np.int8)
    sums = np.concatenate([np.zeros((n, 1)), answers.cumsum(axis=1, dtype=float)], axis=1)
    done, everybody = np.zeros(n, dtype=int), np.arange(n)
    for step in itertools.count():
        if step < n or wanted.evenly:
            option = step % n
        else:
            leader = int(np.argmax(sums[everybody, done] / done))
            common = np.minimum(done, done[leader])
            apart = [np.mean(answers[leader, :m] != answers[k, :m]) for k, m in enumerate(common.tolist())]
            gap = (sums[leader, common] - sums[everybody, common]) / common
            hard = (gap + wanted.eps) ** 2 * common / (np.array(apart) + 1.0 / common)
            hard[leader] = np.inf
            rival = int(np.argmin(hard))
            option = leader if done[leader] <= done[rival] else rival
        first = int(done[option])
        if first + batch > ITEMS:
            return
        done[option] += batch
        yield option, {f"q{k}": int(answers[option, k]) for k in range(first, first + batch)}
