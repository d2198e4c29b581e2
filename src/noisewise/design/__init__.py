"""Optimal designs on a finite set of actions, with a certificate."""

from typing import TYPE_CHECKING

from noisewise.core.lazy import lazy_names

if TYPE_CHECKING:
    from noisewise.design.optimal import optimal_design as optimal_design
    from noisewise.design.result import Design as Design

__all__ = ["Design", "optimal_design"]

# The solver stands on scipy.linalg, which takes a while to import.
__getattr__ = lazy_names(
    __name__, {"Design": "noisewise.design.result", "optimal_design": "noisewise.design.optimal"}
)
