"""VOFUL2: what it refuses. What it shares with VOFUL is in test_voful.py."""

import re

import numpy as np
import pytest

import noisewise as nw


def test_too_many_features_are_refused_in_one_sentence():
    sentence = (
        "`actions` must have at most 4 features for 'voful2', whose set is a net that grows exponentially "
        "with them; got 5. (nw.rules.save has a like guarantee.)"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        nw.rules.voful2(np.eye(5), horizon=100)
