"""Networks of studies with several arms: in whatever shape, they give exact generalised least squares."""

import csv
import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort, long_beyond
from tests.support.network_twin import Network, Trial, assert_same, studied

import noisewise as nw

SAMPLES = Path(__file__).parents[2] / "support" / "data"


def read(name):
    with (SAMPLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


def glucose_trials():
    """Effects and variances of all pairs of every study, from its rows."""
    by_study = {}
    for row in read("glucose.csv"):
        by_study.setdefault(row["studlab"], []).append(row)
    trials = []
    for rows in by_study.values():
        effects, variances = {}, {}
        for row in rows:
            one, other = row["treat1"], row["treat2"]
            effect, variance = Fraction(row["TE"]), Fraction(row["seTE"]) ** 2
            effects |= {(one, other): effect, (other, one): -effect}
            variances |= {(one, other): variance, (other, one): variance}
        trials.append(Trial(dict.fromkeys(name for pair in effects for name in pair), effects, variances))
    return trials


def log_odds(arms):
    """Arms as log odds with their variances; ½ added to all cells where one is empty."""
    added = 0.5 if any(0 in (events, n - events) for events, n in arms.values()) else 0.0
    return {
        option: (math.log((e + added) / (n - e + added)), 1 / (e + added) + 1 / (n - e + added))
        for option, (e, n) in arms.items()
    }


def smoking_trials():
    by_study = {}
    for row in read("smoking.csv"):
        by_study.setdefault(row["study"], {})[row["treatment"]] = int(row["r"]), int(row["n"])
    return [Trial.of_arms(log_odds(arms)) for arms in by_study.values()]


def wide_arms(name, *cells):
    for row in read(name):
        numbers = [k for k in "1234" if row.get(f"{cells[0]}{k}")]
        yield {row[f"{cells[0]}{k}"]: [float(row[f"{cell}{k}"]) for cell in cells[1:]] for k in numbers}


def depression_trials():
    return [Trial.of_arms(log_odds(arms)) for arms in wide_arms("depression.csv", "treatment", "resp", "n")]


def off_time_trials():
    return [
        Trial.of_arms({option: (mean, sd**2 / n) for option, (mean, sd, n) in arms.items()})
        for arms in wide_arms("off_time.csv", "Treatment", "y", "sd", "n")
    ]


PUBLISHED = {
    "glucose.csv": (glucose_trials, "network"),
    "depression.csv": (depression_trials, "arms"),
    "smoking.csv": (smoking_trials, "arms"),
    "off_time.csv": (off_time_trials, "arms"),
}

SOME = long_beyond(2, PUBLISHED, "networks")


def options_of(name):
    return list(dict.fromkeys(option for trial in PUBLISHED[name][0]() for option in trial.options))


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("turn", [1, -1])
def test_a_network_gives_exact_generalised_least_squares_whatever_the_order(name, turn):
    trials, layout = PUBLISHED[name]
    options = options_of(name)[::turn]
    study = nw.create_study(options=options, eps=0.1, goal="min")
    study.tell_many(columns(read(name)[::turn]), layout=layout)
    network = Network(options, trials())
    assert_same(study, network)
    check = study.check()
    assert check.freedom == network.freedom
    assert math.isclose(check.reduced * check.freedom, network.squares, rel_tol=1e-9)


@pytest.mark.parametrize("name", SOME)
def test_a_network_told_again_changes_nothing(name):
    _, layout = PUBLISHED[name]
    study = nw.create_study(options=options_of(name), eps=0.1)
    first = study.tell_many(SAMPLES / name, layout=layout)
    again = study.tell_many(columns(read(name)[::-1]), layout=layout)
    assert len(first) > 10
    assert len(again) == 0
    assert again.known == len(first)


@pytest.mark.parametrize("tau", [0.1, 0.4])
@pytest.mark.parametrize("name", SOME)
def test_extra_scatter_is_that_of_a_difference_with_or_without_arms(name, tau):
    trials, layout = PUBLISHED[name]
    options = options_of(name)
    study = nw.create_study(options=options, eps=0.1, errors=nw.Errors(extra=tau))
    study.tell_many(SAMPLES / name, layout=layout)
    assert_same(study, Network(options, trials(), tau2=Fraction(tau) ** 2))


@pytest.mark.parametrize("name", long_beyond(1, ["smoking.csv", "glucose.csv"], "networks"))
def test_the_estimated_extra_scatter_has_the_largest_restricted_likelihood(name):
    trials, layout = PUBLISHED[name]
    options, told = options_of(name), trials()
    study = nw.create_study(options=options, eps=0.1, errors=nw.Errors(extra="estimate"))
    study.tell_many(SAMPLES / name, layout=layout)
    found = study.extra_scatter
    assert found > 0.05

    def minus_log(tau):
        return Network(options, told, tau2=Fraction(tau) ** 2).minus_log

    here = minus_log(found)
    assert here <= min(minus_log(found * (1.0 + step)) for step in (-0.01, 0.01))
    likelihood = study.analysis().likelihood()
    assert math.isclose(
        likelihood(0.0, 0.3) - likelihood(0.0, 0.1), minus_log(0.3) - minus_log(0.1), rel_tol=1e-9
    )


arm = st.tuples(st.floats(-5, 5), st.floats(0.01, 4))
NAMES = ["A", "B", "C", "D", "E"]


@st.composite
def networks(draw):
    """Studies of two to four arms that connect all options."""
    studies = [{NAMES[0]: draw(arm), name: draw(arm)} for name in NAMES[1:]]
    for _ in range(draw(st.integers(1, 3))):
        chosen = draw(st.lists(st.sampled_from(NAMES), min_size=3, max_size=4, unique=True))
        studies.append({name: draw(arm) for name in chosen})
    return studies


def contrast_rows(study, arms, pairs):
    return [
        {
            "studlab": study, "treat1": one, "treat2": other, "TE": arms[one][0] - arms[other][0],
            "seTE": math.sqrt(arms[one][1] + arms[other][1]),
        }
        for one, other in pairs
    ]  # fmt: skip


@settings(max_examples=effort(12, 60))
@given(networks(), st.randoms(use_true_random=False))
def test_any_network_gives_exact_least_squares_whatever_the_reference_and_the_order(studies, random):
    trials = [Trial.of_arms(arms) for arms in studies]
    exact = Network(NAMES, trials, references=[random.choice(trial.options) for trial in trials])
    rows = []
    for at, arms in enumerate(studies):
        pairs = [random.sample(pair, 2) for pair in itertools.combinations(arms, 2)]
        rows += contrast_rows(f"study {at}", arms, pairs)
    random.shuffle(rows)
    names = random.sample(NAMES, len(NAMES))
    study = nw.create_study(options=names, eps=0.1)
    study.tell_many(columns(rows), layout="network")
    assert_same(study, exact)


@settings(max_examples=effort(12, 60))
@given(networks(), st.randoms(use_true_random=False))
def test_rows_that_say_nothing_new_may_be_left_out(studies, random):
    exact = Network(NAMES, [Trial.of_arms(arms) for arms in studies])
    rows = []
    for at, arms in enumerate(studies):
        reference, *others = random.sample(list(arms), len(arms))
        pairs = [(other, reference) for other in others]
        shared = math.sqrt(arms[reference][1]) if len(arms) > 2 else None
        rows += [row | {"shared_se": shared} for row in contrast_rows(f"study {at}", arms, pairs)]
    study = nw.create_study(options=NAMES, eps=0.1)
    study.tell_many(columns(rows), layout="network")
    assert_same(study, exact)


@settings(max_examples=effort(5, 25))
@given(networks())
def test_arms_and_their_differences_are_the_same_study(studies):
    arms = [
        {"study": f"study {at}", "treatment": option, "mean": mean + 7.0 * at, "se": math.sqrt(variance)}
        for at, trial in enumerate(studies)
        for option, (mean, variance) in trial.items()
    ]
    rows = [
        row
        for at, trial in enumerate(studies)
        for row in contrast_rows(f"study {at}", trial, itertools.combinations(trial, 2))
    ]
    by_arms, by_rows = (
        nw.create_study(options=NAMES, eps=0.1, errors=nw.Errors(extra=0.2)) for _ in range(2)
    )
    by_arms.tell_many(columns(arms), layout="arms")
    by_rows.tell_many(columns(rows), layout="network")
    for one, other in zip(studied(by_arms), studied(by_rows), strict=True):
        assert np.allclose(one, other, rtol=1e-8, atol=1e-9)
    assert by_arms.certificate().option == by_rows.certificate().option
    assert math.isclose(by_arms.certificate().bound, by_rows.certificate().bound, rel_tol=1e-6)


@pytest.mark.parametrize("looks", ["any time", "once"])
@pytest.mark.parametrize("name", SOME)
def test_neither_recommendation_nor_bound_depends_on_the_order_of_options_and_rows(name, looks):
    options, layout = options_of(name), PUBLISHED[name][1]
    found = []
    for turn in (1, -1):
        study = nw.create_study(
            options=options[::turn], eps=0.1, final=looks == "once", errors=nw.Errors(extra=0.3)
        )
        study.tell_many(columns(read(name)[::turn]), layout=layout)
        found.append(study.certificate())
    first, second = found
    assert first.option == second.option
    assert math.isclose(first.bound, second.bound, rel_tol=1e-6)
    assert first.bound < 3.5
