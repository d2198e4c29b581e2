"""``noisewise check``: remedies in the words of the command line."""

import numpy as np
import pytest
from tests.support.commands import run

import noisewise as nw


@pytest.fixture
def place(tmp_path):
    """A study in a file whose error bars lack scatter."""
    rng = np.random.default_rng(0)
    study = nw.create_study(tmp_path / "study.db", options=list("ABCDEF"), eps=0.5)
    k = np.arange(60) % 6
    value = 5.0 + k + 0.5 * rng.standard_normal(60)
    study.tell_many({"option": ["ABCDEF"[i] for i in k], "value": value, "se": [0.1] * 60})
    return tmp_path / "study.db"


def test_it_speaks_of_options_of_commands(place):
    done = run("check", place)
    said = " ".join(done.stdout.split())
    assert done.exit_code == 1
    assert "switch to --extra-scatter estimate" in said
    assert "give --block if days, plates or judges differ" in said
    assert "=" not in said
    assert run("switch", place, "--extra-scatter", "estimate").exit_code == 0
    assert run("check", place).exit_code == 0
