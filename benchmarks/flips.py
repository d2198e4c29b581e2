"""A thousand bits of a store's file turned over, one at a time: none may change an answer in silence."""

import tempfile
from pathlib import Path

from tests.support.flips import flip_bits

from benchmarks.timing import Row

FLIPS = 1000


def rows() -> list[Row]:
    """A thousand bits."""
    with tempfile.TemporaryDirectory() as folder:
        outcomes = flip_bits(FLIPS, 0, Path(folder))
    wrong = {name: count for name, count in outcomes.items() if name not in ("refused", "without effect")}
    for name in wrong:
        print(name)
    detail = f"{outcomes['refused']} refused, {outcomes['without effect']} without effect"
    return [Row(f"{FLIPS} bits turned over: answers changed in silence", len(wrong), "", 0, False, detail)]
