"""Measurements that equal others in everything: told twice by mistake, more often than not."""

from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise.core.blocks import Floats
from noisewise.study.intake.answers import took_its_block
from noisewise.study.intake.known_rows import signature
from noisewise.study.log.state import State


def find_copies(state: State, values: Floats, body: Callable[[int], dict[str, Any]]) -> dict[int, int]:
    """Which new measurements equal one that was told without a key and from no table, with its number.

    Args:
        state: What was told.
        values: The values of the new measurements, (N,). Where a value is new, nothing else is looked at.
        body: The body of the new measurement at a place.
    """
    earlier: dict[tuple[Any, ...], int] = {}
    same = state.measurements.with_values(values).tolist()
    for number in same:
        content = state.told[number - 1]
        if "key" not in content and "row" not in content:
            earlier.setdefault(signature(content), number)
            if "block" in content and took_its_block(state, content):
                earlier.setdefault(signature(content | {"block": None}), number)
    if not earlier:
        return {}
    shared = np.isin(values, [state.told[number - 1]["value"] for number in same])
    found = {place: earlier.get(signature(body(place))) for place in np.flatnonzero(shared).tolist()}
    return {place: number for place, number in found.items() if number is not None}
