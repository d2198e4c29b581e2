"""Stopping rules for simulations: when to stop, whatever rule chooses what to measure.

Each compares the recommended action ``a`` with every other ``x`` through the likelihood ratio
``Z = min over x of (eps + <θ̂, a - x>)₊²/(2‖a - x‖²)``, or through the certified bound. With an eps above 0 an
action that is at most eps worse than the best is good enough (Jourdan and Degenne 2022). The heuristic
thresholds stand in most published tables; they promise nothing, and are here to compare with those tables.
"""

import math
from typing import NamedTuple

from noisewise.core.choice.selection import likelihood_ratio
from noisewise.core.model.model import Model
from noisewise.core.support.checks import check_choice, check_positive

#: By name: what must hold to stop.
STOPS = {
    "glr": "Z exceeds radius²/2: the best action, or one within eps, is known, with the certificate's "
    "confidence",
    "gap": "the certified regret bound is at most eps",
    "glr-log-log": "Z exceeds log((1 + log P)/delta), P the total precision in units of the longest vector "
    "(a heuristic: Garivier and Kaufmann's usual choice)",
    "glr-log": "Z exceeds log((1 + P)/delta) (a heuristic)",
}
NEVER, GLR, GAP, LOG_LOG, LOG = range(5)
#: Those that rest on the certificate, which must then be true at every moment.
CERTIFIED = ("glr", "gap")


class Stop(NamedTuple):
    """A stopping rule with its numbers."""

    kind: int
    eps: float
    delta: float
    longest: float  # squared norm of the longest vector: makes precision free of units


def make_stop(name: str | None, eps: float | None, delta: float, max_norm: float) -> Stop:
    """Check the options of a stopping rule."""
    if name is None:
        if eps is not None:
            raise ValueError(f"`eps` must go with `stop`; got {eps!r} without it.")
        return Stop(NEVER, 0.0, delta, 1.0)
    kind = 1 + list(STOPS).index(check_choice("stop", name, tuple(STOPS)))
    if kind == GAP and eps is None:
        raise ValueError("`eps` must be given with stop='gap': the bound to reach; got None.")
    return Stop(kind, 0.0 if eps is None else check_positive("eps", eps), delta, max_norm**2)


def has_won(stop: Stop, model: Model, action: int, precision: float) -> bool:
    """Whether a heuristic threshold says to stop now and recommend ``action``; False where nothing asks.

    What the certificate says is the rule's own matter (`Rule.certain`).
    """
    if stop.kind == LOG_LOG:
        # log P is at least 0, also while the precision is small.
        threshold = math.log((1.0 + math.log(max(1.0, precision * stop.longest))) / stop.delta)
    elif stop.kind == LOG:
        threshold = math.log((1.0 + precision * stop.longest) / stop.delta)
    else:
        return False
    return likelihood_ratio(model, action, stop.eps) > threshold
