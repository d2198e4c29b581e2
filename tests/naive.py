"""Textbook versions of everything fast: full inverses, exact fractions of 60 digits, no updates."""

import math
from typing import Any

import mpmath
import numpy as np

DIGITS = 60


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
    dim = vectors.shape[1]
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
    assert dim == vectors.shape[1]
    return pulled, candidates, advice


def exact_posterior(vectors, history, ridge) -> tuple[list[Any], list[Any]]:
    """Means and squared widths in 60-digit arithmetic."""
    with mpmath.workdps(DIGITS):
        weights: dict[int, Any] = {}
        weighted: dict[int, Any] = {}
        for action, reward, sigma in history:
            weight = 1 / mpmath.mpf(float(sigma)) ** 2
            weights[action] = weights.get(action, 0) + weight
            weighted[action] = weighted.get(action, 0) + weight * mpmath.mpf(float(reward))
        dim = vectors.shape[1]
        precision, total = mpmath.mpf(ridge) * mpmath.eye(dim), mpmath.zeros(dim, 1)
        rows = [mpmath.matrix([float(entry) for entry in vector]) for vector in vectors]
        for action, weight in weights.items():
            precision += weight * rows[action] * rows[action].T
            total += weighted[action] * rows[action]
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
