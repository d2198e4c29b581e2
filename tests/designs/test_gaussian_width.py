"""The design of least Gaussian width is optimal."""

import numpy as np
import pytest

from noisewise.designs.transductive import gaussian_width


def test_the_width_design_is_optimal_and_its_slopes_are_derivatives():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((12, 3))
    normals = rng.standard_normal((60_000, 3))
    shares = rng.dirichlet(np.ones(12))
    width, slopes = gaussian_width._width_and_slopes(vectors, vectors, shares, normals)
    assert shares @ slopes == pytest.approx(1.0)
    for k in range(12):
        moved = [shares + step * np.eye(12)[k] for step in (1e-4, -1e-4)]
        up, down = (gaussian_width._width_and_slopes(vectors, vectors, s, normals)[0] for s in moved)
        assert (up - down) / 2e-4 == pytest.approx(-0.5 * width * slopes[k], rel=0.005)
    found = gaussian_width.width_design(vectors, vectors)
    at_the_end, slopes = gaussian_width._width_and_slopes(vectors, vectors, found.shares, normals)
    assert slopes.max() < 1.1  # convex: no shares are better by more than half of that
    assert found.width == pytest.approx(at_the_end**2, rel=0.03)
