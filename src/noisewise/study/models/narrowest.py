"""Several families of bounds on the same differences, each with its share of the error probability."""

from collections.abc import Sequence

import numpy as np

from noisewise.core.model.dense import Floats
from noisewise.study.evidence.half_widths import HalfWidths


class Narrowest(HalfWidths):
    """The smallest half-width of all families: each holds with its own share, so all hold at once."""

    def __init__(self, families: Sequence[HalfWidths]) -> None:
        self.families = tuple(families)

    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""
        return np.asarray(np.min([family.half_widths(option) for family in self.families], axis=0))

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return np.asarray(np.min([family.lead_widths(rival) for family in self.families], axis=0))
