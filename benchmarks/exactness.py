"""Estimates and standard errors beside rational arithmetic: ``python -m benchmarks exactness``.

For every kind of model 500 random problems whose error bars differ by six, and by eight decades
(``EXACTNESS_PROBLEMS=50`` fewer); the largest error of an estimate, in standard errors of its difference, and
of a standard error, relatively. A half-width is at least one standard error, so that both stay below 1e-6 of
it.
"""

import os

from tests.study.models.test_solver import KINDS, errors

from benchmarks.timing import Row

PROBLEMS = int(os.environ.get("EXACTNESS_PROBLEMS", "500"))


def rows() -> list[Row]:
    """The largest errors of each kind, over both ranges."""
    made = []
    for kind in KINDS:
        for decades in (6, 8):
            found = [errors(kind, 10_000 + seed, decades) for seed in range(PROBLEMS)]
            estimate, width = (max(column) for column in zip(*found, strict=True))
            detail = f"{PROBLEMS} problems; standard errors within {width:.1g}"
            name = f"{kind}, {decades} decades"
            made.append(Row(name, max(estimate, width), "of the half-width", 1e-6, False, detail))
            print(made[-1].name, f"{made[-1].figure:.2g}", flush=True)
    return made
