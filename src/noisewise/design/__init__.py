"""Optimal designs on a finite set of actions, with a certificate."""

from typing import TYPE_CHECKING

from noisewise.core.support.lazy import lazy_names

if TYPE_CHECKING:
    from noisewise.design.optimal.optimal_design import optimal_design as optimal_design
    from noisewise.design.optimal.result import Design as Design
    from noisewise.design.transductive.directions import Pairs as Pairs
    from noisewise.design.transductive.transductive_design import TransductiveDesign as TransductiveDesign
    from noisewise.design.transductive.transductive_design import transductive_design as transductive_design

__all__ = ["Design", "Pairs", "TransductiveDesign", "optimal_design", "transductive_design"]

# The solver stands on scipy.linalg, which takes a while to import.
__getattr__ = lazy_names(
    __name__,
    {
        "Design": "noisewise.design.optimal.result",
        "Pairs": "noisewise.design.transductive.directions",
        "TransductiveDesign": "noisewise.design.transductive.transductive_design",
        "optimal_design": "noisewise.design.optimal.optimal_design",
        "transductive_design": "noisewise.design.transductive.transductive_design",
    },
)
