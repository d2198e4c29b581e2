"""Measurements for studies: told in any unit, or as the columns that a model is fitted to."""

import numpy as np
import polars as pl

from noisewise.study.log.measurements import Columns

BLOCKS = ["", "b2", "b1", "b3"]


def tell_all(study, rows, scale=1.0, shift=0.0):
    """Tell rows in other units: values times ``scale`` and, unless they are differences, shifted."""
    table = [
        row | {"value": scale * row["value"] + (0.0 if "plus" in row else shift), "se": scale * row["se"]}
        for row in rows
    ]
    study.tell_many(pl.DataFrame(table, infer_schema_length=None), repeat=True)
    return study


def random_columns(rng, *, rows, options, blocks, differences, share, steps, among):
    """Measurements of options, in blocks or not; a ``share`` of them compares an option with another."""
    plus, minus = rng.integers(options, size=rows), np.full(rows, -1)
    block = rng.integers(len(BLOCKS), size=rows) if blocks else np.zeros(rows, int)
    if differences:
        compared = rng.random(rows) < share
        minus[compared] = (plus[compared] + rng.integers(1, steps, compared.sum())) % among
        minus[minus == plus] = -1
    sigma = 10.0 ** rng.uniform(-1.5, 0.5, rows)
    value = np.where(minus < 0, 50.0, 0.0) + rng.normal(size=rows)
    ones, zeros = np.ones(rows), np.zeros(rows, int)
    return Columns(
        np.arange(rows) + 1, plus, minus, block, value, zeros, sigma, ones, ones, zeros, BLOCKS, [""]
    )


def seven_options(rng, *, rows=50, blocks=True, differences=True):
    """Random columns of seven options, each compared with any other."""
    return random_columns(
        rng, rows=rows, options=7, blocks=blocks, differences=differences, share=0.2, steps=7, among=7
    )


def plain_design(told, unknowns):
    """One row per measurement: option, less the other one, and the block's offset."""
    rows = np.zeros((told.value.size, unknowns + len(BLOCKS)))
    at = np.arange(told.value.size)
    rows[at, told.plus] = 1.0
    difference = told.minus >= 0
    rows[at[difference], told.minus[difference]] = -1.0
    rows[at[~difference], unknowns + told.block[~difference]] = 1.0
    return rows
