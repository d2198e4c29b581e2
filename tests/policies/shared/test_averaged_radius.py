"""The averaged radius in policies: refused where it means nothing, in a file."""

import numpy as np
import pytest

import noisewise as nw
from noisewise.actions.independent import IndependentOptions


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
