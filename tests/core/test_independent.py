"""The model of independent options against plain matrices, and rules on it."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.actions.finite import IndependentOptions
from noisewise.core.independent import Separate

DENSE_ONLY = ("vagd", "static_design")
SERVED = ("vaee", "vaee_as_printed", "widest", "uniform", "round_robin", "greedy", "linear_thompson", "oful",
          "weighted_oful")  # fmt: skip
WITH_OPTIONS = {"vaee_as_printed": {"sigma_min": 0.1}}


@pytest.mark.parametrize("name", SERVED)
def test_rules_choose_on_independent_options_as_on_unit_vectors(name):
    """The same rule, once on the diagonal model and once on the dense one of unit vectors."""
    rng = np.random.default_rng(1)
    options = WITH_OPTIONS.get(name, {})
    diagonal = nw.make_policy(name, IndependentOptions(5), **options)
    dense = nw.make_policy(name, np.eye(5), **options)
    for _ in range(25):
        action = diagonal.ask(pending=[2])
        assert action == dense.ask(pending=[2])
        sigma, noise = float(10.0 ** rng.uniform(-1.0, 0.5)), rng.normal()
        for policy in (diagonal, dense):
            policy.tell(action, 0.2 * action + sigma * noise, sigma)
    assert diagonal.recommend() == dense.recommend()
    assert diagonal.estimate().regret_bound == pytest.approx(dense.estimate().regret_bound)


@pytest.mark.parametrize("name", DENSE_ONLY)
def test_a_rule_that_needs_vectors_is_refused(name):
    with pytest.raises(ValueError, match="looks at the options' feature vectors"):
        nw.make_policy(name, IndependentOptions(5))
    with pytest.raises(ValueError, match="looks at the options' feature vectors"):
        np.einsum("ij,ij->j", Separate(3), Separate(3))
