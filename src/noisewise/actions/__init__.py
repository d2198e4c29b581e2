"""What can be chosen: finite sets of actions with feature vectors, and sets known through oracles."""

from noisewise.actions.ball import Ball
from noisewise.actions.box import Box
from noisewise.actions.ellipsoid import Ellipsoid
from noisewise.actions.finite import ActionSet
from noisewise.actions.hypercube import Hypercube
from noisewise.actions.oracle_set import Answer, OracleSet, set_from
from noisewise.actions.polytope import Polytope
from noisewise.actions.product import Product
from noisewise.actions.simplex import Simplex

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
