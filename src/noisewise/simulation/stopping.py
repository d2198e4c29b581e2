"""Stopping rules for simulations: when to stop, whatever rule chooses what to measure.

Each compares the recommended action ``a`` with every other ``x`` through the likelihood ratio
``Z = min over x of (eps + <θ̂, a - x>)₊²/(2‖a - x‖²)``, or through the certified bound. With an eps above 0 an
action that is at most eps worse than the best is good enough (Jourdan and Degenne 2022). The heuristic
thresholds are those of most published tables; they promise nothing, and serve to compare with those tables.
"""

import math
from collections.abc import Callable

from noisewise.core.checks import check_choice, check_positive
from noisewise.rules.rule import Action, Rule

#: By name: what must hold to stop.
STOPS = {
    "glr": "Z exceeds radius²/2: the best action, or one within eps, is known, with the certificate's "
    "confidence",
    "gap": "the certified regret bound is at most eps",
    "glr-log-log": "Z exceeds log((1 + log P)/delta), P the total precision in units of the longest vector "
    "(a heuristic: Garivier and Kaufmann's usual choice)",
    "glr-log": "Z exceeds log((1 + P)/delta) (a heuristic)",
}
#: Those that rest on the certificate, which must then be true at every moment.
CERTIFIED = ("glr", "gap")


#: Whether a rule stops now and recommends this action, after this total precision.
Stop = Callable[[Rule, Action, float], bool]


def make_stop(name: str | None, eps: float | None, delta: float, max_norm: float) -> Stop | None:
    """The stopping rule of this name; None for None."""
    if name is None:
        if eps is not None:
            raise ValueError(f"`eps` must go with `stop`; got {eps!r} without it.")
        return None
    check_choice("stop", name, tuple(STOPS))
    if name == "gap" and eps is None:
        raise ValueError("`eps` must be given with stop='gap': the bound to reach; got None.")
    within = 0.0 if eps is None else check_positive("eps", eps)
    if name == "gap":
        return lambda rule, advised, precision: rule.bound(advised) <= within
    if name == "glr":
        return lambda rule, advised, precision: rule.certain(advised, within)

    def exceeds(rule: Rule, advised: Action, precision: float) -> bool:
        """Whether the likelihood ratio exceeds a heuristic threshold."""
        information = precision * max_norm**2
        if name == "glr-log-log":
            # log P is at least 0, also while the precision is small.
            information = math.log(max(1.0, information))
        threshold = math.log((1.0 + information) / delta)
        return bool(rule.model.likelihood_ratio(advised, within) > threshold)

    return exceeds
