"""What a certificate is about: what was counted, on which items, and wider claims with their bounds."""

import numpy as np
import polars as pl
import pytest
from tests.support.effort import effort

import noisewise as nw

OPTIONS = [f"p{k}" for k in range(6)]


def answered(answers, seed=1):
    """A study of all options on all items of a pool; answers are 0 or 1, (options, items)."""
    items = [f"q{k}" for k in range(answers.shape[1])]
    study = nw.create_study(options=OPTIONS, measure=nw.Items(items), eps=0.05, seed=seed)
    names = np.repeat(OPTIONS, len(items))
    study.tell_many(pl.DataFrame({"option": names, "item": items * len(OPTIONS), "value": answers.ravel()}))
    return study


def test_a_pool_of_items_is_named_and_the_wider_claim_has_its_own_bound():
    rng = np.random.default_rng(1)
    shares = np.linspace(0.5, 0.8, 6)[:, None]
    study = answered((rng.random((6, 200)) < shares).astype(int))
    found = study.certificate()
    assert found.pool == 200
    assert "on these 200 items" in found.sentence
    assert found.bound < found.wider < 0.2
    assert any("population" in line for line in found.sentences)
    assert found.amount == "1,200 answers"
    assert "1,200 answers" in repr(study)
    nw.verify_certificate(found.to_json(), study)


def test_the_claim_for_the_population_is_wrong_less_often_than_it_says():
    # The wider claim may be wrong in 5 % of pools. Of 24 at that rate, 6 or more have a probability of
    # 0.1 %, and of 240, 24 or more of 0.06 %.
    rng = np.random.default_rng(7)
    worlds, narrow, wide = effort(1, 10), 0, 0
    for world in range(worlds):
        ability, difficulty = rng.normal(0.8, 0.25, 6), rng.normal(0.0, 1.5, 24 * 200)
        right = rng.random((6, difficulty.size)) < 1.0 / (1.0 + np.exp(difficulty - ability[:, None]))
        truth = right.mean(axis=1)
        for part in np.split(rng.permutation(difficulty.size), 24):
            found = answered(right[:, part].astype(int), seed=world).certificate()
            missed = truth.max() - truth[OPTIONS.index(found.option)]
            narrow += missed > found.bound + 1e-9
            wide += missed > found.wider + 1e-9
    assert narrow > worlds  # on these items it is right; for the population it would often be wrong
    assert wide < effort(6, 24)


def test_one_measurement_is_said_to_be_one():
    study = nw.create_study(options=["A", "B"], eps=1.0)
    study.tell(option="A", value=9.0, se=0.1)
    study.tell(option="B", value=1.0, se=0.1)
    found = study.certificate()
    assert found.rests_on == 1
    assert "It rests on 1 measurement of A." in found.sentences


@pytest.mark.parametrize("looks", ["any time", "once"])
def test_a_network_shows_the_bound_with_estimated_heterogeneity(looks):
    rng = np.random.default_rng(3)
    names, values = [f"t{k}" for k in range(6)], np.linspace(0.0, 0.2, 6)
    study = nw.create_study(options=names, eps=0.3, final=looks == "once")
    rows = []
    for trial in range(40):
        one, other = rng.choice(6, 2, replace=False)
        value = values[one] - values[other] + rng.normal(0.0, 0.1)
        rows.append(
            {"plus": names[one], "minus": names[other], "value": value, "se": 0.1, "block": f"s{trial}"}
        )
    study.tell_many(pl.DataFrame(rows))
    found = study.certificate()
    assert found.heterogeneous > found.bound
    assert found.amount == "40 differences in 40 blocks"
    study.switch(extra_scatter="estimate")
    assert study.certificate().heterogeneous is None
    assert study.certificate().bound == pytest.approx(found.heterogeneous)


@pytest.mark.parametrize(
    ("told", "amount"),
    [
        ({"successes": 30, "trials": 1500}, "3,000 trials"),
        ({"values": [1.0, 1.1, 1.3]}, "6 readings"),
        ({"value": 1.0}, "2 readings"),
        ({"value": 1.0, "se": 0.1}, "2 measurements"),
    ],
)
def test_measurements_are_called_what_they_are(told, amount):
    study = nw.create_study(options=["A", "B"], eps=1.0)
    for option in ("A", "B"):
        study.tell(option=option, **told)
    assert study.certificate().amount == amount
    assert amount in repr(study)


def disagreeing(options=9, repeats=3, scatter=0.3):
    rng = np.random.default_rng(2)
    study = nw.create_study(options=[f"o{k}" for k in range(options)], eps=0.5)
    for _ in range(repeats):
        for k in range(options):
            study.tell(option=f"o{k}", value=k + rng.normal(0.0, scatter), se=0.1)
    return study


def test_a_number_that_is_stated_after_looking_makes_the_confidence_approximate():
    study = disagreeing()
    study.switch(extra_scatter=0.3)
    found = study.certificate()
    assert found.approximate == ("the extra scatter was stated after 27 measurements had been seen",)
    assert "with about 95 % confidence" in found.sentence
    before = nw.create_study(options=["A", "B"], eps=0.5, errors=nw.Errors(extra=0.3))
    for option in ("A", "B"):
        before.tell(option=option, value=1.0, se=0.1)
    assert not before.certificate().approximate


def test_error_bars_that_were_all_multiplied_make_the_confidence_approximate():
    study = disagreeing()
    for number in range(1, 28):
        study.amend(f"m-{number}", "too small", se=0.27)
    assert study.certificate().approximate == ("error bars were multiplied by 2.7 after they had been seen",)
    study = disagreeing(scatter=0.1)
    study.amend("m-1", "a slip", se=0.2)
    assert not study.certificate().approximate


@pytest.mark.parametrize("repeats", [3, 6])
def test_what_the_check_advises_is_not_withheld_afterwards(repeats):
    study = disagreeing(repeats=repeats, scatter=0.5)
    (found,) = [cause for cause in study.check().causes if cause.kind == "scatter"]
    if found.switch:
        study.switch(**found.switch)
    else:
        assert "needs 20" in found.words
        study.switch(**found.remedy["state"])
    assert not study.certificate().withheld
    assert study.certificate().approximate
