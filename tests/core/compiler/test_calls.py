"""Verbs called from machine code give what they give from Python, to the last bit."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from noisewise.core.choice import selection
from noisewise.core.compiler import kernels
from noisewise.core.compiler.machine_code import MachineLoop
from noisewise.core.model import covariances, dense, vectors
from noisewise.core.model.dense import fold, new_dense

N, DIM = 70, 6


class Given(NamedTuple):
    """What a verb may be handed."""

    model: dense.DenseModel
    values: np.ndarray
    squares: np.ndarray
    allowed: np.ndarray
    candidates: np.ndarray
    rivals: np.ndarray
    weights: np.ndarray
    vector: np.ndarray
    out: np.ndarray


def given():
    rng = np.random.default_rng(5)
    model = new_dense(np.ascontiguousarray(rng.standard_normal((DIM, N))), 0.7)
    for _ in range(60):
        fold(model, int(rng.integers(N)), float(rng.standard_normal()), float(rng.uniform(0.1, 2.0)))
    return Given(
        model,
        rng.standard_normal(N),
        rng.random(N),
        rng.random(N) < 0.7,
        rng.random(N) < 0.5,
        np.array([3, 9, 11]),
        rng.random(3),
        rng.standard_normal(DIM),
        np.zeros(N),
    )


# Each takes what is given and returns a number or an array.
CALLS = {
    "fold": lambda g: dense.fold(g.model, 4, 0.5, 0.2),
    "recentre": lambda g: dense.recentre(g.model),
    "set_theta": lambda g: dense.set_theta(g.model, g.vector),
    "theta": lambda g: dense.theta(g.model),
    "squared_norm": lambda g: dense.squared_norm(g.model),
    "distance_to": lambda g: covariances.distance_to(g.model, g.vector),
    "covariance_with": lambda g: covariances.covariance_with(g.model, 3),
    "contrast_widths": lambda g: covariances.contrast_widths(g.model, 3),
    "squared_covariances": lambda g: covariances.squared_covariances(g.model, g.rivals, 5, g.weights),
    "perturbed_means": lambda g: covariances.perturbed_means(g.model, g.vector, 1.5),
    "spread": lambda g: vectors.spread(g.model).ravel(),
    "covariance": lambda g: vectors.covariance(g.model).ravel(),
    "first_largest": lambda g: selection.first_largest(g.values, g.allowed),
    "first_largest_candidate": lambda g: selection.first_largest_candidate(g.values, g.allowed, g.candidates),
    "first_best": lambda g: selection.first_best(g.values, g.squares, g.allowed),
    "masked_argmax": lambda g: selection.masked_argmax(g.values, g.allowed),
    "first_near": lambda g: selection.first_near(g.values, g.allowed, 20, 3.5),
    "most_optimistic": lambda g: selection.most_optimistic(g.model, g.allowed, 1.5),
    "drop_ruled_out": lambda g: selection.drop_ruled_out(g.model, g.candidates, 0.2),
    "keep_near_best": lambda g: selection.keep_near_best(g.values, g.candidates, 0.5),
    "strongest_rival": lambda g: selection.strongest_rival(g.model, 4, 1.5),
    "most_telling": lambda g: selection.most_telling(g.model, 4, 8, 0.3, g.allowed),
    "regret_bound": lambda g: selection.regret_bound(g.model, g.candidates, 2, 1.5),
    "smallest_bound": lambda g: selection.smallest_bound(g.model, g.candidates, 2, 1.5),
}
ARRAYS = {
    "theta",
    "covariance_with",
    "contrast_widths",
    "squared_covariances",
    "perturbed_means",
    "spread",
    "covariance",
}
NOTHING = {"fold", "recentre", "set_theta", "drop_ruled_out", "keep_near_best"}


def compiled(name):
    import numba

    kernels.register_kernels()
    call = numba.njit(CALLS[name])
    if name in NOTHING:

        def run(g):
            call(g)
            return 0

    elif name in ARRAYS:

        def run(g):
            found = call(g)
            for k in range(found.size):
                g.out[k] = found[k]
            return found.size

    else:

        def run(g):
            g.out[0] = call(g)
            return 1

    return MachineLoop(run, None)


@pytest.mark.parametrize("name", CALLS)
def test_a_verb_is_the_same_from_machine_code(name):
    ours, plain = given(), given()
    size = compiled(name)(ours)
    wanted = CALLS[name](plain)
    if name not in NOTHING:
        assert_array_equal(ours.out[:size], np.ravel(wanted))
    assert_array_equal(ours.candidates, plain.candidates)
    for one, other in zip(ours.model[1:9], plain.model[1:9], strict=True):
        assert_array_equal(one, other)


def test_every_verb_of_the_core_is_called_here():
    kernels.register_kernels()
    from noisewise.core.choice import calls as of_choice
    from noisewise.core.model import calls as of_models

    declared = {
        name
        for module in (of_choice, of_models)
        for name, value in vars(module).items()
        if callable(value) and name != "calls_verb"
    }
    assert declared == CALLS.keys()


def test_arrays_of_another_type_are_refused():
    from numba.core.errors import TypingError

    def run(g):
        return selection.first_largest(g.rivals, g.allowed)

    with pytest.raises(TypingError, match="`values` of `first_largest` must be an array of float64"):
        MachineLoop(run, None)(given())
