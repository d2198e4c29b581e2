"""Random numbers of live rounds are those of the generator that belongs to them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from noisewise.core.randomness import PURPOSES, generator, stream


@pytest.mark.parametrize("purpose", PURPOSES)
def test_draws_are_the_first_of_their_generator(purpose):
    rng = np.random.default_rng(1)
    seeds = [0, 1, 7, 2**32 - 1, 2**32, 2**80, *rng.integers(0, 2**40, 5).tolist()]
    for seed in seeds:
        for index in (0, 1, 1000, 2**31, 2**33):
            for n in (1, 2, 13):
                wanted = generator(seed, purpose, index).standard_normal(n)
                assert_array_equal(stream(seed, purpose, index).standard_normal(n), wanted)
