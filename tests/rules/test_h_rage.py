"""H-RAGE: noisy actions are measured more. What it shares with RAGE is in test_rage.py."""

import math

import numpy as np
import pytest
from tests.support.soare import SOARE

import noisewise as nw


def test_h_rage_measures_noisy_actions_more_and_knows_all_differences_equally_well():
    sigmas = np.array([1.0, 4.0, 1.0, 1.0, 0.5])
    policy = nw.rules.h_rage(SOARE, action_sigma=sigmas, delta=0.1)
    wanted = policy.rule.first
    precision = (SOARE * wanted[:, None]).T @ SOARE
    apart = (SOARE[:, None] - SOARE[None]).reshape(-1, 4)
    worst = max(float(y @ np.linalg.pinv(precision) @ y) for y in apart)
    assert worst == pytest.approx(0.25 / (3 * math.log(8 * 5 / 0.05)), rel=1e-6)
    # Fewer measurements than by a design that takes all actions for equally noisy, scaled to the same worst.
    blind = nw.rules.h_rage(SOARE, delta=0.1).rule.first
    assert (wanted * sigmas**2).sum() < 0.9 * (blind * sigmas**2).sum()
    with pytest.raises(ValueError, match="`action_sigma` must be 5 finite numbers above 0"):
        nw.rules.h_rage(SOARE, action_sigma=[1.0, 2.0])
