"""Every way of saying an error bar, and what it enters as."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from uncertainties import ufloat

from noisewise.study.models.scatter import upper_limit
from noisewise.study.telling.error_bars import power_of_sizes, read_measured
from noisewise.study.telling.numbers import read_value


def read(noise_floor=None, **given):
    return read_measured(given, noise_floor=noise_floor, where="")


@pytest.mark.parametrize(
    ("given", "sigma"),
    [
        ({"se": 0.4}, 0.4),
        ({"var": 0.16}, 0.4),
        ({"ci": (2.0 - 0.784, 2.0 + 0.784)}, 0.4),
        ({"ci": (2.0 - 0.4, 2.0 + 0.4), "level": 0.6827}, 0.4),
        ({"se": (0.3, 0.4)}, 0.4),
    ],
)
def test_the_same_error_said_in_different_ways(given, sigma):
    assert read(value=2.0, **given).sigma == pytest.approx(sigma, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "value", "se"),
    [
        ("12.34(5)", 12.34, 0.05),
        ("12.34(56)e-2", 0.1234, 0.0056),
        ("-12(3)", -12.0, 3.0),
        ("12.34 ± 0.05", 12.34, 0.05),
        ("12.34+/-0.05", 12.34, 0.05),
        ("1e3", 1000.0, None),
    ],
)
def test_numbers_as_people_write_them(text, value, se):
    written = read_value(text)
    assert written.value == pytest.approx(value)
    assert written.se == (None if se is None else pytest.approx(se))


def test_an_object_brings_its_own_error():
    measured = read(value=SimpleNamespace(nominal_value=3.0, std_dev=0.2))
    assert (measured.value, measured.sigma, measured.kind) == (3.0, 0.2, "known")
    with pytest.raises(ValueError, match=r"give exactly one of .* \(got se, the value's own error\)"):
        read(value="3.0(2)", se=0.1)


def test_an_uncertainties_object_is_taken():
    assert read(value=ufloat(3.0, 0.2)).sigma == 0.2


def test_asymmetric_errors_take_the_larger_with_a_note():
    assert read(value=2.0, se=(0.3, 0.5)).notes == ("asymmetric error (-0.3, +0.5): the larger was used.",)
    measured = read(value=2.0, ci=(1.0, 5.0))
    assert measured.sigma == pytest.approx(3.0 / 1.959964)
    assert measured.notes == ("asymmetric interval (-1, +3): the larger side was used.",)


def test_shares_enter_with_their_largest_error_and_show_the_usual_one():
    measured = read(successes=2, trials=100)
    assert measured.value == 0.02
    assert measured.sigma == 0.05
    assert measured.shown == pytest.approx(math.sqrt(0.02 * 0.98 / 100))
    assert read(successes=0, trials=4).sigma == 0.25


def test_readings_and_their_standard_deviation_say_the_same():
    readings = [1.0, 2.0, 4.0]
    one = read(values=readings)
    other = read(value=np.mean(readings), sd=np.std(readings, ddof=1), n=3)
    assert one.kind == other.kind == "readings"
    assert one.sigma is other.sigma is None
    assert one.scatter == pytest.approx(other.scatter)
    assert one.shown == pytest.approx(np.std(readings, ddof=1) / math.sqrt(3))


def test_a_noise_floor_raises_what_is_below_it():
    assert read(noise_floor=0.01, value=1.0, se=0.0).sigma == 0.01
    assert read(noise_floor=0.01, value=1.0, se=0.002).notes == (
        "se 0.002 was raised to the noise floor 0.01.",
    )
    assert read(noise_floor=0.01, value=1.0, se=0.2).notes == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"value": 1, "se": -0.3}, "`se` must be a finite number above 0; got -0.3."),
        ({"value": 1, "se": math.nan}, "`se` must be a finite number"),
        ({"value": 1, "se": math.inf}, "`se` must be a finite number"),
        ({"value": 1, "se": "0.3"}, "`se` must be a number; got '0.3'"),
        ({"value": 1, "var": -1.0}, "`var=-1.0` is not a variance"),
        (
            {"value": 1, "sd": 1.2},
            "`sd=1.2` is the scatter of single readings; I need the error of the reported",
        ),
        ({"value": 1, "n": 3}, "`n=` goes with `sd="),
        ({"value": 1, "sd": 1.0, "n": 1}, "`n` must be at least 2; got 1"),
        ({"value": 1, "se": 1, "level": 0.9}, "`level=` goes with `ci="),
        ({"value": 1, "ci": (2, 3)}, r"`ci=\(2, 3\)` must contain the value 1"),
        ({"value": 1, "se": 0.1, "var": 0.01}, r"give exactly one of se, var.* \(got se, var\)"),
        ({"values": [1.0, math.nan]}, "`value` must be a finite number; got nan"),
        ({"value": 1, "values": [1.0, 2.0]}, "brings its own value"),
        ({"successes": 3}, "`successes=` and `trials=` go together"),
        ({"successes": 5, "trials": 4}, "`successes=5` cannot exceed `trials=4`"),
        ({"value": 0.5, "successes": 2, "trials": 4}, "bring their own value"),
        ({"value": math.inf, "se": 1}, "`value` must be a finite number; got inf"),
    ],
)
def test_nonsense_is_refused_in_a_sentence(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        read(**given)


def test_the_upper_limit_of_a_scatter_holds_at_every_moment():
    """1000 runs of 500 degrees of freedom at 5 %: at most 86 misses, with a false alarm below 1e-6."""
    rng = np.random.default_rng(0)
    squares = np.cumsum(rng.standard_normal((1000, 500)) ** 2, axis=1)
    freedom = np.arange(1, 501)
    limits = np.array([[upper_limit(s, f, 0.05) for s, f in zip(run[19::20], freedom[19::20], strict=True)]
                       for run in squares])  # fmt: skip
    assert (limits < 1.0).any(axis=1).sum() <= 86
    # It is of use: within a factor of two of the truth from 30 degrees of freedom, 1.2 at 500.
    assert np.median(limits[:, 2]) < 1.6
    assert np.median(limits[:, -1]) < 1.2
    assert upper_limit(1.0, 1, 0.05) == math.inf


@pytest.mark.parametrize(("power", "said"), [(-1.0, ("var",)), (-0.5, None), (0.0, ("sd",)), (-0.75, None)])
def test_error_bars_beside_numbers_of_readings_say_what_they_are(power, said):
    rng = np.random.default_rng(8)
    n = rng.integers(3, 40, 24).astype(float)
    found = power_of_sizes(2.0 * n**power * np.exp(rng.normal(0.0, 0.1, 24)), n)
    assert (None if found is None else found[1:2]) == said
