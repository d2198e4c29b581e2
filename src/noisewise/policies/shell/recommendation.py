"""What is recommended: the rule's own answer, or one picked among the actions that were measured."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noisewise.core.choice.selection import Mask, smallest_bound
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_choice

#: By name; each works for every rule.
RECOMMENDATIONS = ("best", "smallest-bound", "last", "most-played", "uniform-played")
BEST, SMALLEST_BOUND, LAST, MOST_PLAYED, UNIFORM_PLAYED = range(len(RECOMMENDATIONS))


class Advice(NamedTuple):
    """A way to recommend, and what it keeps outside the rule's own state."""

    kind: int
    chance: float  # uniform on [0, 1): which of the measurements "uniform-played" points at
    played: NDArray[np.int64]  # (n,): how often each action was measured, in the first `counted` rounds
    counted: NDArray[np.int64]  # (1,)


def make_advice(options: dict[str, Any], n_actions: int, rng: np.random.Generator) -> Advice:
    """Check the option; chance is drawn once, so that it cannot be drawn again until the advice is good."""
    name = check_choice("recommendation", options.get("recommendation", "best"), RECOMMENDATIONS)
    counts = np.zeros(n_actions if name.endswith("-played") else 0, dtype=np.int64)
    return Advice(RECOMMENDATIONS.index(name), float(rng.random()), counts, np.zeros(1, dtype=np.int64))


def recommended(
    advice: Advice,
    pulled: NDArray[np.integer[Any]],
    best: int,
    model: Model,
    candidates: Mask,
    radius: float,
) -> int:
    """What to recommend after measuring ``pulled`` (in order), if the rule itself says ``best``.

    The last and the most played action are recommended while they may still be the best. One drawn from
    all measurements stays what it is: only then is its expected regret the mean of the measured ones.
    """
    if advice.kind == SMALLEST_BOUND:
        return smallest_bound(model, candidates, best, radius)
    if advice.kind == BEST or pulled.size == 0:
        return best
    if advice.kind == LAST:
        action = int(pulled[-1])
        return action if candidates[action] else best
    # Loops, because `np.bincount` and its like take seconds to compile.
    played = advice.played
    for t in range(advice.counted[0], pulled.size):
        played[pulled[t]] += 1
    advice.counted[0] = pulled.size
    if advice.kind == MOST_PLAYED:
        action = 0
        for k in range(played.size):
            if played[k] > played[action]:
                action = k
        return action if candidates[action] else best
    action, reached = 0, played[0]
    while reached <= advice.chance * pulled.size:
        action += 1
        reached += played[action]
    return action
