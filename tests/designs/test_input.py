"""Bad input gets one clear sentence."""

import numpy as np
import pytest
from tests.support import design_twins as twins

from noisewise.designs import optimal_design


def sentence(vectors, **options):
    with pytest.raises(ValueError, match="must") as caught:
        optimal_design(vectors, **options)
    text = str(caught.value)
    assert text.startswith("`")
    assert "; got " in text
    assert text.endswith(".")
    return text


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 70_000])
def test_a_row_that_is_not_finite_is_named(bad, place):
    vectors = twins.instance("gaussian", 100_000, 3)
    vectors[place, 1] = bad
    text = sentence(vectors)
    assert "`vectors` must be finite" in text
    assert f"row {place}" in text


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,), (2, 3, 4), ()])
def test_an_empty_set_or_a_wrong_shape_is_refused(shape):
    assert str(shape) in sentence(np.ones(shape))


def test_only_real_numbers_are_vectors():
    assert "real numbers" in sentence(np.ones((4, 2), dtype=complex))
    assert "real numbers" in sentence([["a", "b"]])


def test_a_set_of_zeros_has_no_design():
    assert "not zero" in sentence(np.zeros((5, 2)))


def test_rows_beyond_float64_are_refused():
    vectors = twins.instance("gaussian", 50_000, 3)
    vectors[33_333] *= 1e200
    assert "row 33333" in sentence(vectors)


@pytest.mark.parametrize("gap", [0.0, -1e-3, np.nan, np.inf, "small"])
def test_a_gap_must_be_positive(gap):
    assert repr(gap) in sentence(np.eye(2), gap=gap)


def test_an_unknown_support_is_refused():
    assert "'sparse'" in sentence(np.eye(2), support="sparse")


def test_fewer_actions_than_the_rank_are_refused():
    assert "the rank of the vectors, 5; got 4" in sentence(np.eye(5), max_support=4)


def test_a_fraction_of_an_action_is_refused():
    assert "`max_support` must be a whole number" in sentence(np.eye(5), max_support=5.5)


def test_two_limits_at_once_are_refused():
    assert "`max_support` must be None" in sentence(np.eye(5), support="core", max_support=5)


@pytest.mark.parametrize(
    "warm_start",
    [
        optimal_design(np.eye(3)),
        ([0, 9], [0.5, 0.5]),
        ([0, -1], [0.5, 0.5]),
        ([0, 1], [1.0]),
        ([0, 1], [1.0, -1.0]),
        ([0, 1], [0.0, 0.0]),
        ([0, 0], [0.5, 0.5]),
        ([0.5, 1.0], [0.5, 0.5]),
        ([], []),
        7,
    ],
)
def test_a_warm_start_of_another_set_is_refused(warm_start):
    assert "`warm_start` must" in sentence(np.eye(4), warm_start=warm_start)
