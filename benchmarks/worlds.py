"""What several benchmarks measure on: random unit vectors, and tables of many options."""

from typing import Any

import numpy as np
import polars as pl

import noisewise as nw


def sphere(n_actions: int, dim: int, horizon: int, **options: Any) -> nw.Environment:
    """Unit vectors, theta of length 1, and sigmas over two decades."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n_actions, dim))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    theta = rng.standard_normal(dim)
    theta /= np.linalg.norm(theta)
    sigmas = nw.schedules.log_uniform(horizon, rng, low=1e-2, high=1.0)
    return nw.Environment(vectors, theta, sigmas, **options)


def many_options(rng: np.random.Generator, n: int, dim: int = 10) -> tuple[pl.DataFrame, np.ndarray]:
    """A table of options with random features, and what a linear model says of each."""
    features = rng.normal(size=(n, dim))
    names = {"id": [f"o{k}" for k in range(n)]}
    table = pl.DataFrame(names | {f"f{j}": features[:, j] for j in range(dim)})
    return table, features @ np.linspace(1.0, 1.0 / dim, dim)
