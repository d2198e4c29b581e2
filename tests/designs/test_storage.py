"""Memory maps, float32, whole numbers and other layouts give the same answers."""

import tracemalloc

import numpy as np
import pytest
from tests.support import design_twins as twins

from noisewise.designs import optimal_design


@pytest.mark.parametrize("kind", twins.KINDS)
def test_float32_storage_is_certified_in_float64(kind):
    vectors = twins.instance(kind, 30_000, 10).astype(np.float32)
    design = optimal_design(vectors, gap=1e-6)
    assert design.gap <= 1e-6
    assert abs(design.gap - twins.textbook_gap(vectors, design)) <= 1e-8 + 1e-3 * design.gap


@pytest.mark.parametrize("layout", ["fortran", "strided", "reversed"])
def test_the_layout_in_memory_does_not_matter(layout):
    vectors = twins.instance("heavy", 6000, 7)
    other = {
        "fortran": np.asfortranarray(vectors),
        "strided": np.repeat(vectors, 2, axis=1)[:, ::2],
        "reversed": vectors[::-1].copy()[::-1],
    }[layout]
    one, two = optimal_design(vectors, gap=1e-6), optimal_design(other, gap=1e-6)
    assert np.allclose(one.dense(), two.dense(), atol=1e-6)


def test_a_memory_map_is_never_copied(tmp_path):
    path = tmp_path / "vectors.f32"
    twins.instance("gaussian", 200_000, 16).astype(np.float32).tofile(path)
    vectors = np.memmap(path, dtype=np.float32, mode="r", shape=(200_000, 16))
    optimal_design(vectors[:2000])
    tracemalloc.start()
    design = optimal_design(vectors, gap=1e-2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The matrix has 12.8 MB in float32; g and masks have 9 bytes a row, 1.8 MB.
    assert peak < 10e6
    assert design.gap <= 1e-2
    assert design.reads <= 4
