"""Bounds on differences between options: the form that every family of bounds has."""

from abc import ABC, abstractmethod

from noisewise.core.blocks import Floats


class HalfWidths(ABC):
    """By how much estimated differences may be too small; j over i need not be as wide as i over j."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """The kinds of evidence that it rests on, as a certificate names them."""
        return ()

    @abstractmethod
    def half_widths(self, option: int) -> Floats:
        """By how much "j minus option" may be larger than estimated, for every j, (n,)."""

    def lead_widths(self, rival: int) -> Floats:
        """By how much "rival minus i" may be larger than estimated, for every i, (n,)."""
        return self.half_widths(rival)
