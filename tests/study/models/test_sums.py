"""Pooled sums that reuse an earlier order are those of a study that was just opened, to the last bit."""

from dataclasses import asdict

import numpy as np
import pytest
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.asking.pending import DIFFERENCE, OPTION, expected_manner, expected_noise
from noisewise.study.log.state import replay
from noisewise.study.models.analysis import Analysis
from noisewise.study.models.fit import inverse_squares, pool
from noisewise.study.models.scatter import own_readings

NAMES = [f"o{k}" for k in range(12)]
KINDS = ("known", "counts", "single", "readings", "blocks", "differences", "everything")


def told(kind, rng):
    """The arguments of `tell` for a measurement of this kind; values are often equal."""
    value = float(np.round(rng.normal(), int(rng.choice([0, 1, 9]))))
    if kind == "everything":
        kind = str(rng.choice(KINDS[:-1]))
    which = {"option": str(rng.choice(NAMES))}
    if kind == "differences":
        plus, minus = rng.choice(NAMES, 2, replace=False)
        return {"plus": str(plus), "minus": str(minus), "value": value, "se": float(rng.choice([0.3, 0.5]))}
    if kind == "counts":
        return which | {"successes": int(rng.integers(0, 21)), "trials": 20}
    if kind == "single":
        return which | {"value": value}
    if kind == "readings":
        return which | {"values": [value, value + 0.1, value + float(rng.random())]}
    block = {"block": str(rng.choice(["", "b", "a"]))} if kind == "blocks" else {}
    return (
        which
        | {"value": value, "se": float(rng.choice([0.3, 0.3, 0.7]))}
        | {k: v for k, v in block.items() if v}
    )


def bits(sums):
    """Everything of pooled sums, comparable."""
    return [part.tobytes() if isinstance(part, np.ndarray) else part for part in sums]


def same_as_opened_anew(study):
    """Whether everything that is kept from question to question is what a new state finds."""
    warm = study.analysis()
    cold = Analysis(replay(study.specification, study.events()))
    assert cold.columns.orders is not warm.columns.orders
    assert bits(warm.sums) == bits(cold.sums)
    if not warm.sigmas.waiting:
        assert bits(warm.certified_sums) == bits(cold.certified_sums)
    naive = warm.columns._replace(orders=None)
    sign = study.specification.sign
    assert bits(warm.sums) == bits(pool(naive, warm.sigmas.estimated, sign))
    for probe in (OPTION, DIFFERENCE):
        assert expected_noise(warm, None, probe).tobytes() == expected_noise(cold, None, probe).tobytes()
    assert expected_manner(warm, None) == expected_manner(cold, None)
    some = naive.minus < 0
    for one, other in zip(
        own_readings(warm.columns.select(some), len(NAMES)), own_readings(naive.select(some), len(NAMES)),
        strict=True,
    ):  # fmt: skip
        assert one.tobytes() == other.tobytes()
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_that_went_on_is_one_that_was_opened_anew(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    study = nw.create_study(options=NAMES, eps=0.1, goal="min")
    for step in range(effort(16, 40)):
        study.tell_all([told(kind, rng) for _ in range(int(rng.integers(1, 9)))])
        number = int(rng.integers(1, study.n_measurements + 1))
        if step % 7 == 3 and number not in study._log.state.voided:
            study.void(number, "a test")
        if step % 7 == 5 and number not in study._log.state.voided:
            study.amend(number, "a test", float(rng.standard_normal()), se=0.2)
        if step == 12:
            study.exclude(NAMES[3], "a test")
        assert same_as_opened_anew(study)
        if step % 13 == 12:
            opened = type(study)(study._log.storage, study.name)
            assert repr(asdict(opened.certificate())) == repr(asdict(study.certificate()))


def test_inverse_squares_are_those_of_every_number_by_itself():
    rng = np.random.default_rng(0)
    for count in (0, 1, 2, 3, 1000):
        for different in (1, 3, 1000):
            sigma = rng.choice(10.0 ** rng.uniform(-9, 9, different), count)
            assert inverse_squares(sigma).tobytes() == (sigma**-2.0).tobytes()
            assert inverse_squares(np.sort(sigma)).tobytes() == (np.sort(sigma) ** -2.0).tobytes()
