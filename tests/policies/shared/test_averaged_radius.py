"""The averaged radius in policies: compiled as interpreted, refused where it means nothing, in a file."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.actions.independent import IndependentOptions


@pytest.mark.long("compiled loops")
@pytest.mark.parametrize("name", ["vaee", "vage", "oful", "widest"])
def test_compiled_code_finds_the_same_bounds(name):
    pytest.importorskip("numba")
    instance = nw.instances.sphere(15, 3)
    env = instance.environment(nw.schedules.log_uniform)
    policy = getattr(nw.rules, name)(instance.actions, radius="averaged", norm_bound=2.0)
    arguments = {"horizon": 30, "replications": 3, "checkpoints": np.arange(1, 31)}
    slow, fast = (nw.simulate(policy, env, compiled=compiled, **arguments) for compiled in (False, True))
    np.testing.assert_array_equal(slow.pulled, fast.pulled)
    np.testing.assert_allclose(slow.radius, fast.radius, rtol=1e-9)
    np.testing.assert_allclose(slow.bound, fast.bound, rtol=1e-9)
    assert np.isfinite(fast.radius).all()


def test_options_without_features_are_refused():
    with pytest.raises(ValueError, match="`radius` must not be 'averaged' for options without features"):
        nw.vage(IndependentOptions(5), radius="averaged")


def test_theory_knows_no_averaged_radius_beforehand():
    with pytest.raises(ValueError, match="`radius` must not be 'averaged' here"):
        nw.theory.vaee_bound(np.ones(10), 3, radius="averaged")


def test_it_is_kept_in_a_file(tmp_path):
    policy = nw.vaee(np.eye(4), radius="averaged", norm_bound=3.0)
    policy.tell(0, 1.0, sigma=0.1)
    policy.save(tmp_path / "policy.npz")
    assert nw.load_policy(tmp_path / "policy.npz").estimate().radius == policy.estimate().radius
