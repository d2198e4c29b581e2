"""What can be chosen: finite sets of actions with feature vectors, and sets known through oracles."""

from noisewise.actions.box import Box, Hypercube
from noisewise.actions.ellipsoid import Ball, Ellipsoid
from noisewise.actions.finite import ActionSet
from noisewise.actions.oracle_set import Answer, OracleSet, set_from
from noisewise.actions.polytope import Polytope, Simplex
from noisewise.actions.product import Product

__all__ = [
    "ActionSet",
    "Answer",
    "Ball",
    "Box",
    "Ellipsoid",
    "Hypercube",
    "OracleSet",
    "Polytope",
    "Product",
    "Simplex",
    "set_from",
]
