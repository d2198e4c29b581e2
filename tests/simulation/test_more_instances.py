"""The instances of the arena: polytopes, real features, many rivals, lengths that shrink."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.data import load_table


def test_a_polytope_has_vertices_only():
    from scipy.optimize import linprog

    instance = nw.instances.polytope(30, 3, shape=4)
    vectors = instance.actions.vectors
    assert np.linalg.norm(vectors, axis=1).max() == pytest.approx(1.0)
    for k in range(len(vectors)):
        others = np.delete(vectors, k, axis=0)
        equalities = np.vstack([others.T, np.ones(len(others))])
        inside = linprog(np.zeros(len(others)), A_eq=equalities, b_eq=[*vectors[k], 1.0])
        assert inside.status == 2, "a vertex is no mixture of the others"
    again = nw.instances.polytope(30, 3, shape=4).actions.vectors
    np.testing.assert_array_equal(vectors, again)


def test_the_leaderboard_is_the_published_table_without_the_reference():
    table = load_table("alpaca_eval")
    assert table.shape == (223, 8)
    assert (table["standard_error"] == 0).sum() == 1
    instance = nw.instances.leaderboard(length=0.5)
    vectors, theta = instance.draw(np.random.default_rng(0), np.ones(1))
    assert vectors.shape == (222, 4)
    assert np.linalg.norm(theta) == pytest.approx(0.5)
    # What is fitted goes with what was measured.
    measured = table.filter(table["standard_error"] > 0)["win_rate"].to_numpy()
    assert np.corrcoef(vectors @ theta, measured)[0, 1] > 0.5
    with pytest.raises(
        ValueError, match=r"`name` must be one of 'alpaca_eval', 'bangertdrowns2004', .*; got 'alpaca'"
    ):
        load_table("alpaca")


@pytest.mark.parametrize("make", [nw.instances.sphere, nw.instances.soare, nw.instances.clustered])
def test_theta_reaches_as_far_as_the_noise(make):
    rng, sigma = np.random.default_rng(0), np.full(100, 0.1)
    assert np.linalg.norm(make(reach=20.0).draw(rng, sigma)[1]) == pytest.approx(20.0 / 100.0)
    assert np.linalg.norm(make(reach=200.0).draw(rng, sigma)[1]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="`reach` must be a finite number above 0; got 0"):
        make(reach=0)
    with pytest.raises(ValueError, match="`dim` must lie between 2 and 8"):
        nw.instances.polytope(dim=9)


def test_the_instance_of_many_rivals_is_as_published():
    instance = nw.instances.tirinzoni_degenne(shape=3)
    vectors, theta = instance.draw(np.random.default_rng(0), np.ones(1))
    assert vectors.shape == (50, 20)
    np.testing.assert_array_equal(vectors[:10], np.eye(20)[:10])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    values = vectors @ theta
    assert values[:10].tolist() == [1.0] + [0.9] * 4 + [0.8] * 5
    assert values[10:].max() <= 0.5
    assert theta[10:].max() <= 0.0
    assert theta[10:].min() >= -1.0
    other = nw.instances.tirinzoni_degenne(shape=4).actions.vectors
    assert not np.array_equal(vectors, other)
    with pytest.raises(ValueError, match="`n_actions` must be"):
        nw.instances.tirinzoni_degenne(n_actions=5)


def test_the_published_draw_of_the_instance_of_many_rivals():
    """Its first numbers are those of the published generator and seed."""
    first = [0.7684476751965699, 0.940515000715187, 0.6739586945680673, 0.3954531123351086]
    vectors, theta = nw.instances.tirinzoni_degenne().draw(np.random.default_rng(0), np.ones(1))
    assert (theta[10:14] + 1.0).tolist() == pytest.approx(first, rel=1e-15)
    # The first 10 numbers are the parameter's; every 20 more an action, unless it is too good.
    rows = 2.0 * load_table("tirinzoni_degenne")["number"].to_numpy()[10:1610].reshape(-1, 20) - 1.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors[10:], rows[rows @ theta <= 0.5][:40], rtol=1e-14)
    with pytest.raises(ValueError, match="`shape` must be given for more than 1000 numbers"):
        nw.instances.tirinzoni_degenne(n_actions=51)
