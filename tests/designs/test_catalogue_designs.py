"""Designs on catalogues: the same support as on an array, whatever the shards."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.actions.catalogue import files


@pytest.fixture
def catalogue_of(tmp_path, monkeypatch):
    def make(vectors, per_shard):
        monkeypatch.setattr(files, "ROWS_PER_SHARD", per_shard)
        np.save(tmp_path / "rows.npy", vectors)
        return nw.Catalogue.from_memmap(tmp_path / "rows.npy")

    return make


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"gap": 1e-8}, {"support": "core"}, {"support": "caratheodory"},
                                     {"max_support": 30}, {"verify": True}], ids=str)  # fmt: skip
def test_the_same_design_as_on_an_array(catalogue_of, kind, options):
    rng = np.random.default_rng(1)
    vectors = (rng.standard_normal((30_000, 8)) @ rng.standard_normal((8, 8))).astype(kind)
    alone, spread = (
        nw.optimal_design(vectors, **options),
        nw.optimal_design(catalogue_of(vectors, 7000), **options),
    )
    assert spread.indices.tolist() == alone.indices.tolist()
    assert spread.weights == pytest.approx(alone.weights)
    assert spread.g_value == pytest.approx(alone.g_value)
    assert spread.reads == pytest.approx(alone.reads, rel=0.5)


def test_a_span_that_no_sample_shows_is_found_in_the_shards(catalogue_of):
    vectors = np.zeros((5000, 6))
    vectors[:, :3] = np.random.default_rng(2).standard_normal((5000, 3))
    vectors[4990, 3], vectors[17, 4] = 1.0, 1e-3
    alone, spread = nw.optimal_design(vectors), nw.optimal_design(catalogue_of(vectors, 900))
    assert spread.rank == alone.rank == 5
    assert spread.indices.tolist() == alone.indices.tolist()
