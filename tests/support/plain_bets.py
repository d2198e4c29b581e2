"""Bets on items, one by one as the formula says it: a twin of the quick sums."""

import math

from noisewise.study.evidence.items import complete, cuts, stakes

BETS = stakes(0.05)


def plain_log_evidence(values, pool, mean):
    """log E item by item, as the docstring says it."""
    logs = []
    for stake in BETS:
        log, left = 0.0, mean
        for t, value in enumerate(values):
            if pool is not None:
                if t in cuts(pool):
                    left = (pool * mean - sum(values[:t])) / (pool - t)
                if complete(pool, len(values)) <= t:
                    break
                if left <= 0.0:
                    return math.inf
            log += math.log(1.0 + stake * (value - left) / left)
        logs.append(log)
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs) / len(logs))


def plain_limit(values, pool, level):
    """The largest mean with that much evidence against it, by halving."""
    least = 0.0 if pool is None else sum(values) / pool
    most = 1.0 if pool is None else (sum(values) + pool - len(values)) / pool
    low, high = max(least, 1e-12), 1.0
    if plain_log_evidence(values, pool, low) < level:
        return least
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if plain_log_evidence(values, pool, middle) >= level else (low, middle)
    return min(low, most)
