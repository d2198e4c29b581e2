"""Textbook versions of everything fast: full inverses, exact fractions of 60 digits, no updates."""

import math
from collections import defaultdict
from typing import Any

import mpmath
import numpy as np

DIGITS = 60
BITS = 400


def posterior(vectors, history, ridge):
    """Means, squared widths and log det V - dim·log ridge after (action, reward, sigma) triples."""
    dim = vectors.shape[1]
    precision, weighted = ridge * np.eye(dim), np.zeros(dim)
    for action, reward, sigma in history:
        precision += np.outer(vectors[action], vectors[action]) / sigma**2
        weighted += vectors[action] * reward / sigma**2
    covariance = np.linalg.inv(precision)
    means = vectors @ covariance @ weighted
    squared_widths = np.array([vector @ covariance @ vector for vector in vectors])
    return means, squared_widths, np.linalg.slogdet(precision)[1] - dim * math.log(ridge)


def vaee(vectors, theta, sigmas, noise, *, ridge, delta, norm_bound, explore):
    """Algorithm 1 with the mixture radius, every matrix inverted afresh: actions, candidates, advice."""
    candidates = set(range(len(vectors)))
    history, pulled = [], []
    means, squared_widths = np.zeros(len(vectors)), (vectors**2).sum(axis=1) / ridge
    for sigma, unit in zip(sigmas, noise, strict=True):
        pool = sorted(candidates) if explore == "candidates" else range(len(vectors))
        top = max(squared_widths[k] for k in pool)
        action = next(k for k in pool if squared_widths[k] >= top * (1 - 1e-9))
        pulled.append(action)
        history.append((action, vectors[action] @ theta + sigma * unit, sigma))
        means, squared_widths, information = posterior(vectors, history, ridge)
        radius = math.sqrt(information + 2 * math.log(1 / delta) + ridge * norm_bound**2)
        slack = radius * np.sqrt(squared_widths)
        floor = max(means[k] - slack[k] for k in candidates)
        candidates = {k for k in candidates if means[k] + slack[k] >= floor}
    advice = max(sorted(candidates), key=lambda k: means[k])
    return pulled, candidates, advice


def exact_posterior(vectors, history, ridge) -> tuple[list[Any], list[Any]]:
    """Means and squared widths in 60-digit arithmetic."""
    # Sums of whole multiples of 2^-400, which are quicker than sums of 60 digits and more exact.
    weights, weighted = defaultdict(int), defaultdict(int)
    for action, reward, sigma in history:
        top, bottom = float(sigma).as_integer_ratio()
        weight = (bottom**2 << BITS) // top**2
        top, bottom = float(reward).as_integer_ratio()
        weights[action] += weight
        weighted[action] += weight * top // bottom
    with mpmath.workdps(DIGITS):
        dim = vectors.shape[1]
        precision, total = mpmath.mpf(ridge) * mpmath.eye(dim), mpmath.zeros(dim, 1)
        rows = [mpmath.matrix([float(entry) for entry in vector]) for vector in vectors]
        for action, weight in weights.items():
            precision += mpmath.ldexp(weight, -BITS) * rows[action] * rows[action].T
            total += mpmath.ldexp(weighted[action], -BITS) * rows[action]
        covariance = precision**-1
        theta = covariance * total
        means = [(row.T * theta)[0] for row in rows]
        return means, [(row.T * covariance * row)[0] for row in rows]


def largest_errors(model, vectors, history, ridge):
    """Relative error of the squared widths, and error of the means in widths."""
    means, squared_widths = exact_posterior(vectors, history, ridge)
    with mpmath.workdps(DIGITS):
        wide = max(
            abs(mpmath.mpf(float(got)) / want - 1)
            for got, want in zip(model.squared_widths, squared_widths, strict=True)
            if want > 0
        )
        off = max(
            abs(mpmath.mpf(float(got)) - want) / mpmath.sqrt(width)
            for got, want, width in zip(model.means, means, squared_widths, strict=True)
            if width > 0
        )
        return float(wide), float(off)


def vage(vectors, measure, rounds, *, ridge, delta, norm_bound, share, challenge, announced=None):
    """VAGE with every matrix inverted afresh, for noise that belongs to the rounds: the actions it measures.

    ``measure(action, t)`` gives reward and sigma; ``announced`` the sigmas told before the choice.
    """
    n, dim = vectors.shape
    largest = np.linalg.norm(vectors, axis=1).max()
    candidates, history, pulled = set(range(n)), [], []
    precision, credit = [0.0, 0.0], [0.0, 0.0]  # all, and to the widest
    for t in range(rounds):
        matrix = ridge * np.eye(dim)
        for action, _, sigma in history:
            matrix += np.outer(vectors[action], vectors[action]) / sigma**2
        inverse = np.linalg.inv(matrix)
        means, squared_widths, information = posterior(vectors, history, ridge)
        if history:
            radius = math.sqrt(information + 2 * math.log(1 / delta) + ridge * norm_bound**2)
            slack = radius * np.sqrt(squared_widths)
            floor = max(means[k] - slack[k] for k in candidates)
            candidates = {k for k in candidates if means[k] + slack[k] >= floor}
        widest = first_largest(squared_widths, range(n))
        effective = precision[0] ** 2 / max(1e-300, sum(sigma**-4.0 for _, _, sigma in history))
        more = max(share, min(0.2, dim / (2 * effective))) if history else share
        due = any(
            to_widest <= part * whole * (1 + 1e-9)
            for part, (whole, to_widest) in ((more, precision), (share, credit))
        )
        leader = first_largest(means, sorted(candidates))
        rivals = [k for k in sorted(candidates) if not np.allclose(vectors[k], vectors[leader], atol=1e-5)]
        if due or not rivals:
            action = widest
        else:
            told = max(1.0, (norm_bound * largest) ** 2 * precision[0])
            reach = challenge * math.sqrt(2.0 * math.log((1.0 + math.log(told)) / delta))
            apart = vectors - vectors[leader]
            widths = np.sqrt(np.einsum("ij,jk,ik->i", apart, inverse, apart))
            reach = max(reach, min((means[leader] - means[k]) / widths[k] for k in rivals))
            upper = means - means[leader] + reach * widths
            first, squares = first_largest(upper, rivals), np.zeros(n)
            for _ in range(min(4, len(rivals))):
                rival = first_largest(upper, rivals)
                rivals.remove(rival)
                weight = math.exp((upper[rival] - upper[first]) / (0.25 * reach * widths[first]))
                if weight < 0.01:
                    break
                squares += weight * (vectors @ inverse @ apart[rival]) ** 2
            variance = t / precision[0] if announced is None else announced[t] ** 2
            action = first_largest(squares / (variance + squared_widths), range(n))
        pulled.append(action)
        reward, sigma = measure(action, t)
        top = squared_widths.max()
        for ledger, amount in ((precision, sigma**-2.0), (credit, min(1.0, top / sigma**2))):
            ledger[0] += amount
            ledger[1] += amount if squared_widths[action] >= top * (1 - 1e-9) else 0.0
        history.append((action, reward, sigma))
    return pulled


def first_largest(values, among=None, scale=None):
    """The first of the largest values (of those at ``among``), with the house's tolerance for ties."""
    among = range(len(values)) if among is None else among
    scale = max(abs(values[k]) for k in among) if scale is None else scale
    top = max(values[k] for k in among)
    return int(next(k for k in among if values[k] >= top - 1e-9 * scale))


def options_of_weighted_oful_plus(seed, scale, horizon):
    """Nothing is 1, so that no factor can be forgotten."""
    return {
        "ridge": [0.3, 2.5][seed % 2],
        "norm_bound": [0.9, 1.7][seed // 2 % 2],
        "noise_bound": [0.2, 1.5][seed // 4 % 2],
        "delta": 0.1,
        "scale": scale,
        "horizon": horizon,
    }


class WeightedOfulPlus:
    """Weighted OFUL+ with every matrix inverted afresh."""

    def __init__(self, vectors, *, ridge, norm_bound, noise_bound, delta, scale, horizon):
        self.vectors, self.ridge, self.norm_bound, self.bound = vectors, ridge, norm_bound, noise_bound
        self.delta, self.scale, self.horizon = delta, scale, horizon
        self.dim = vectors.shape[1]
        self.longest = max(np.linalg.norm(vector) for vector in vectors)
        self.alpha, self.gamma = 1 / math.sqrt(horizon), math.sqrt(noise_bound) / self.dim**0.25
        self.precision, self.weighted, self.told = ridge * np.eye(self.dim), np.zeros(self.dim), 0

    def means(self):
        return self.vectors @ np.linalg.solve(self.precision, self.weighted)

    def widths(self):
        covariance = np.linalg.inv(self.precision)
        return np.array([math.sqrt(vector @ covariance @ vector) for vector in self.vectors])

    def radius(self):
        bias, k, d = math.sqrt(self.ridge) * self.norm_bound, self.told, self.dim
        if k == 0:
            return bias
        z = math.log(32 * (max(0, math.log(self.gamma**2 / self.alpha)) + 1) * k**2 / self.delta)
        spread = math.log(1 + k * self.longest**2 / (self.alpha**2 * d * self.ridge))
        return bias + self.scale * (12 * math.sqrt(d * spread * z) + 30 * z * self.bound / self.gamma**2)

    def learn(self, action, reward, sigma):
        variance = max(sigma**2, self.alpha**2, self.gamma**2 * self.widths()[action])
        self.precision += np.outer(self.vectors[action], self.vectors[action]) / variance
        self.weighted += reward * self.vectors[action] / variance
        self.told += 1
