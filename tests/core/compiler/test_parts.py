"""Kernels compiled as parts of a loop do what they do when compiled by Numba's own means."""

import re
from pathlib import Path

import numpy as np
import pytest

from noisewise.core.compiler import kernels


def make_kernels():
    """Two new kernels, the one within the other, and a loop that calls them."""

    @kernels.kernel
    def inner(values, k):
        if k >= values.size:
            raise ValueError("no such value")
        if values[k] < 0.0:
            print(values[k])  # noqa: T201 (kernels may print)
        return values[k] * 2.0

    @kernels.kernel
    def outer(values, k):
        return inner(values, k) + np.sum(values)

    def loop(values, k):
        return outer(values, k)

    return loop


@pytest.mark.parametrize("tried", [kernels.PARTS_TRIED_WITH, frozenset()], ids=["parts", "functions"])
def test_kernels_compile_either_way(tried, monkeypatch, capfd):
    import numba

    monkeypatch.setattr(kernels, "PARTS_TRIED_WITH", tried)
    loop = make_kernels()
    kernels.register_kernels()
    compiled = numba.njit(**kernels.compiler_option("WholeCompiler"))(loop)
    values = np.array([1.0, 2.0, 4.0])
    assert [compiled(values, k) for k in range(3)] == [loop(values, k) for k in range(3)]
    with pytest.raises(ValueError, match="no such value"):
        compiled(values, 3)
    compiled(np.array([-1.5]), 0)
    assert "-1.5" in capfd.readouterr().out


def test_parts_are_used_with_the_version_that_a_release_is_tested_with():
    """Otherwise compiling takes longer, and nobody notices."""
    tested = (Path(__file__).parents[3] / "constraints.txt").read_text("utf-8")
    major, minor = re.search(r"^numba==(\d+)\.(\d+)", tested, re.MULTILINE).groups()
    assert (int(major), int(minor)) in kernels.PARTS_TRIED_WITH
