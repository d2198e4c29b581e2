"""Certificates that were once false, or depended on what cannot matter: each reproduction, kept."""

import itertools
import math

import numpy as np
import pytest
from tests.support.effort import effort, long_beyond
from tests.support.exact_differences import exact_differences

import noisewise as nw

TIGHT = 1e-6


def told(study, rows):
    for row in rows:
        study.tell(**row)
    return study


def largest_disadvantage(study, rows):
    """In exact arithmetic: how far the recommended option lies below the others, plus one standard error.

    A bound that holds with 95 % confidence, or even 50 %, at every moment is larger.
    """
    names, recommended = study.options, study.certificate().option
    found = exact_differences(names, rows, recommended)
    return max(float(one.estimate) + math.sqrt(one.variance) for one in found.values())


def assert_no_smaller_than_exact(study, rows):
    certificate = study.certificate()
    assert not math.isnan(certificate.bound)
    if certificate.option is not None and math.isfinite(certificate.bound):
        assert certificate.bound >= largest_disadvantage(study, rows) * (1.0 - TIGHT)


def assert_estimates_are_exact(study, rows):
    frame = study.frame("options")
    estimates = dict(zip(frame["option"], frame["estimate"], strict=True))
    reference = study.options[0]
    exact = exact_differences(study.options, rows, reference)
    rounding = 8.0 * np.finfo(float).eps * max(map(abs, estimates.values()))
    for name, one in exact.items():
        off = abs(estimates[name] - estimates[reference] - float(one.estimate))
        assert off <= 2.0 * TIGHT * math.sqrt(one.variance) + rounding, name


# Precise and rough error bars.


def test_three_measurements_of_which_two_are_precise_do_not_decide():
    rows = [
        {"option": "A", "block": "Mon", "value": 10.0, "se": 1e-9},
        {"option": "B", "block": "Tue", "value": 16.0, "se": 1.3e-9},
        {"option": "A", "block": "Tue", "value": 15.0, "se": 1.0},
    ]
    for order in itertools.permutations(rows):  # all that is known: B - A = 1 ± 1
        study = told(nw.create_study(options=["A", "B"], eps=0.2), order)
        certificate = study.certificate()
        assert not certificate.reached
        assert certificate.candidates == ("A", "B")
        assert_no_smaller_than_exact(study, rows)
        assert_estimates_are_exact(study, rows)


def lines(seed, *, ratio, blocks, n=12):
    """Options on a plane of two features; two of them are measured so much more precisely."""
    rng = np.random.default_rng(seed)
    features, offsets = rng.normal(size=(n, 2)), rng.normal(0.0, 20.0, 6)
    values = features @ rng.normal(size=2)
    table = {"id": [f"o{k}" for k in range(n)], "a": features[:, 0], "b": features[:, 1]}
    rows = []
    for at in range(36):
        k, se = at % n, float(10.0 ** rng.uniform(-0.9, 0.1)) / (ratio if at % n < 2 else 1.0)
        value = float(values[k] + se * rng.standard_normal())
        rows.append({"option": f"o{k}", "value": value, "se": se})
        if blocks:
            rows[-1] |= {"block": f"day {at // 6}", "value": value + float(offsets[at // 6])}
    return table, rows


@pytest.mark.parametrize("model", ["independent", "linear", "linear+deviation"])
@pytest.mark.parametrize("ratio", long_beyond(1, [1e9, 1e6, 1e12], "statistics"))
@pytest.mark.parametrize("blocks", [False, True])
def test_no_error_of_the_linear_algebra_reaches_a_person(model, ratio, blocks):
    for seed in range(effort(1, 3)):
        table, rows = lines(seed, ratio=ratio, blocks=blocks)
        sized = f"{model}:0.3" if "deviation" in model else model
        study = nw.create_study(options=table, model=sized, eps=0.5)
        for first in range(0, len(rows), 12):
            told(study, rows[first : first + 12])
            assert not math.isnan(study.certificate().bound)
            assert len(study.ask()) == 1
            assert study.frame("options").height == 12


# Numbers at the end of what a computer has.


# A tie is no difference.
