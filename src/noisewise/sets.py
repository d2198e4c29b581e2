"""What can be chosen: a list of actions, or all vectors of a ball, a box, a polytope and other sets."""

from noisewise.actions import (
    ActionSet,
    Answer,
    Ball,
    Box,
    Ellipsoid,
    Hypercube,
    OracleSet,
    Polytope,
    Product,
    Simplex,
)

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
]
