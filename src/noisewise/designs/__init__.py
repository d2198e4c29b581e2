"""Optimal designs on a finite set of actions, with a certificate."""

from typing import TYPE_CHECKING

from noisewise.core.support.lazy import lazy_names

if TYPE_CHECKING:
    from noisewise.designs.optimal.optimal_design import optimal_design as optimal_design
    from noisewise.designs.optimal.result import Design as Design
    from noisewise.designs.transductive.directions import Pairs as Pairs
    from noisewise.designs.transductive.transductive_design import TransductiveDesign as TransductiveDesign
    from noisewise.designs.transductive.transductive_design import transductive_design as transductive_design

__all__ = ["Design", "Pairs", "TransductiveDesign", "optimal_design", "transductive_design"]

# The solver stands on scipy.linalg, which takes a while to import.
__getattr__ = lazy_names(
    __name__,
    {
        "Design": "noisewise.designs.optimal.result",
        "Pairs": "noisewise.designs.transductive.directions",
        "TransductiveDesign": "noisewise.designs.transductive.transductive_design",
        "optimal_design": "noisewise.designs.optimal.optimal_design",
        "transductive_design": "noisewise.designs.transductive.transductive_design",
    },
)
