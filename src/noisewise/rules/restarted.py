"""Any rule with ``radius="restarted"``: the rule itself, and restarts that watch what it learns.

What to measure and what to recommend stays the rule's own matter, with the radius of the likelihood ratio
from the start; candidates, the regret bound and stopping rules use the restarts as well.
"""

import copy
from typing import Any

import numpy as np

from noisewise.core.blocks import Mask
from noisewise.core.model import CANCELLED
from noisewise.core.restarts import Restarts
from noisewise.rules.rule import Rule


class Restarted:
    """A rule around a rule: whatever is not here is as in the one within."""

    pools = False  # restarts happen at moments: the order of measurements matters

    def __init__(self, inner: Rule) -> None:
        self.inner = inner
        self.restarts = Restarts(inner.limits, inner.model.arrays)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":  # while a copy is made
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("inner", "restarts"):
            object.__setattr__(self, name, value)
        else:
            setattr(self.inner, name, value)

    def learn(self, action: int, reward: float, sigma: float) -> None:
        """Learn, and begin a new likelihood ratio if it is time to."""
        self.inner.learn(action, reward, sigma)
        self.restarts.begin_if_due(self.inner.model.arrays)

    def candidates(self) -> Mask:
        """What the rule itself has left, less what the restarts put below its leader."""
        leader, arrays, left = self.inner.recommend(), self.inner.model.arrays, self.inner.candidates()
        self.restarts.look(arrays, leader)
        upper = self.restarts.limits_above(arrays, leader, left)
        upper[leader] = 0.0
        return np.asarray(left & ~(upper < 0.0))  # in this order: NaN rules nothing out

    def bound(self, action: int, candidates: Any = None) -> float:
        """The smaller of the rule's own bound and that of the restarts."""
        arrays, among = self.inner.model.arrays, self.candidates() if candidates is None else candidates
        usual = self.inner.bound(action, among)
        self.restarts.look(arrays, self.inner.recommend())
        return min(usual, max(0.0, self.restarts.largest_above(arrays, action, among)))

    def certain(self, action: int, eps: float) -> bool:
        """Whether no other action is better by eps or more."""
        if self.inner.certain(action, eps):
            return True
        model = self.inner.model
        self.restarts.look(model.arrays, action)
        widths = model.contrast_widths(action)
        # A copy of the action is as good as it.
        others = widths * widths > 2.0 * CANCELLED * (model.squared_widths + model.squared_widths[action])
        return self.restarts.largest_above(model.arrays, action, others) < eps

    def again(self) -> "Restarted":
        """A copy of the rule before any measurement."""
        return Restarted(self.inner.again())

    def copy(self) -> "Restarted":
        """An independent copy."""
        twin = object.__new__(Restarted)
        twin.inner, twin.restarts = self.inner.copy(), copy.deepcopy(self.restarts)
        return twin
