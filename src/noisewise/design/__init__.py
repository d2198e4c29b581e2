"""Optimal designs on a finite set of actions, with a certificate."""

from typing import TYPE_CHECKING

from noisewise.core.lazy import lazy_names

if TYPE_CHECKING:
    from noisewise.design.directions import Pairs as Pairs
    from noisewise.design.optimal import optimal_design as optimal_design
    from noisewise.design.result import Design as Design
    from noisewise.design.transductive import TransductiveDesign as TransductiveDesign
    from noisewise.design.transductive import transductive_design as transductive_design

__all__ = ["Design", "Pairs", "TransductiveDesign", "optimal_design", "transductive_design"]

# The solver stands on scipy.linalg, which takes a while to import.
__getattr__ = lazy_names(
    __name__,
    {
        "Design": "noisewise.design.result",
        "Pairs": "noisewise.design.directions",
        "TransductiveDesign": "noisewise.design.transductive",
        "optimal_design": "noisewise.design.optimal",
        "transductive_design": "noisewise.design.transductive",
    },
)
