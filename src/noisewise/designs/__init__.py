"""Optimal designs on a finite set of actions, with a certificate."""

from typing import TYPE_CHECKING

from noisewise.core.lazy import lazy_names

if TYPE_CHECKING:
    from noisewise.designs.optimal import Design as Design
    from noisewise.designs.optimal import optimal_design as optimal_design
    from noisewise.designs.transductive import Pairs as Pairs
    from noisewise.designs.transductive import TransductiveDesign as TransductiveDesign
    from noisewise.designs.transductive import transductive_design as transductive_design

__all__ = ["Design", "Pairs", "TransductiveDesign", "optimal_design", "transductive_design"]

# The solver needs scipy.linalg, which takes a while to import.
__getattr__ = lazy_names(
    __name__,
    {
        "Design": "noisewise.designs.optimal",
        "Pairs": "noisewise.designs.transductive",
        "TransductiveDesign": "noisewise.designs.transductive",
        "optimal_design": "noisewise.designs.optimal",
        "transductive_design": "noisewise.designs.transductive",
    },
)
