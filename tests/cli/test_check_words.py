"""``noisewise check``: rows, keys and remedies, in the words of the command line and as JSON."""

import json

import numpy as np
import pytest
from tests.support.commands import run

import noisewise as nw

NAMES = [f"o{k}" for k in range(6)]


@pytest.fixture
def told(tmp_path):
    """A study in a file whose error bars lack scatter, and one row in per cent."""
    place = tmp_path / "study.db"

    def made(wrong=None):
        rng = np.random.default_rng(0)
        k = np.arange(60) % 6
        value = 5.0 + k + 0.5 * rng.standard_normal(60)
        if wrong is not None:
            value = 5.0 + k + 0.1 * rng.standard_normal(60)
            value[wrong] *= 100.0
        study = nw.create_study(place, options=NAMES, eps=0.5)
        keys = [f"run-{i}" for i in range(60)]
        study.tell_many({"option": [NAMES[i] for i in k], "value": value, "se": [0.1] * 60, "key": keys})
        return place

    return made


def test_it_speaks_of_options_of_commands(told):
    place = told()
    done = run("check", place)
    said = " ".join(done.stdout.split())
    assert done.exit_code == 1
    assert "switch to --extra-scatter estimate" in said
    assert "give --block if days, plates or judges differ" in said
    assert "=" not in said
    assert run("switch", place, "--extra-scatter", "estimate").exit_code == 0
    assert run("check", place).exit_code == 0


def test_the_same_stands_in_its_json(told):
    done = run("check", told(wrong=14), "--json")
    content = json.loads(done.stdout)
    (cause,) = content["causes"]
    assert cause["cause"] == "unit"
    assert cause["rows"][0] | {"measurement": "m-15", "key": "run-14", "option": "o2"} == cause["rows"][0]
    assert cause["words"] == content["remedies"][0]
    assert cause["remedy"]["amend"][0]["value"] == pytest.approx(7.0, abs=0.5)
    assert cause["fit"]["reduced_chi_square"] < 1.6 < content["reduced_chi_square"]
    (left,) = content["left_out"]
    assert left["key"] == "run-14"
    assert left["reduced_chi_square"] < 1.6
