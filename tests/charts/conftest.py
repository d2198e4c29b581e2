"""Small tables to draw."""

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def regret() -> pl.DataFrame:
    """Three policies, with the columns of both regret charts."""
    rounds = np.unique(np.geomspace(1, 1000, 20).astype(int))
    frames = []
    for k in range(3):
        mean = (0.5 + 0.1 * k) * rounds ** (-0.3 - 0.05 * k)
        columns = {"policy": [f"policy-{k}"] * rounds.size, "rounds": rounds, "precision": 4.0 * rounds}
        frames.append(pl.DataFrame(columns | {"mean": mean, "low": 0.8 * mean, "high": 1.2 * mean}))
    return pl.concat(frames)


@pytest.fixture
def options() -> pl.DataFrame:
    """Fifty options; A-49 is the best, and the last eleven are candidates."""
    mean = np.linspace(0.0, 1.0, 50)
    return pl.DataFrame(
        {
            "option": [f"A-{k}" for k in range(50)],
            "mean": mean,
            "low": mean - 0.1,
            "high": mean + 0.1,
            "candidate": np.arange(50) >= 39,
            "width": np.linspace(0.1, 0.2, 50),
        }
    ).sample(fraction=1.0, shuffle=True, seed=1)
