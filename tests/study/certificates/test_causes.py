"""Causes of a misfit: each is fitted before it is named, and following what is advised leads somewhere."""

import numpy as np
import polars as pl
import pytest
from tests.support import simulated_defects as simulated
from tests.support.effort import effort
from tests.support.followed_advice import follow_all

import noisewise as nw

SMALL = 90


def small(defect, seed):
    with simulated.at_most(SMALL):
        return simulated.simulate(defect, seed)


@pytest.mark.parametrize("defect", simulated.DEFECTS)
def test_the_first_advice_names_the_defect(defect):
    """Of a few small tables each, on seeds of their own; `python -m benchmarks advice` takes hundreds."""
    tables = effort(2, 6)
    named = [simulated.names_it(small(defect, seed)) for seed in range(500, 500 + tables)]
    assert sum(named) >= tables - 1


@pytest.mark.parametrize("defect", simulated.DEFECTS)
def test_following_the_advice_ends_and_never_goes_in_circles(defect):
    for seed in effort((600,), (600, 601)):
        study = small(defect, seed).study
        followed = follow_all(study)
        assert 1 <= len(followed) <= 4
        assert len(set(followed)) == len(followed)
        assert study.check().ok
        assert not study.check().causes


def test_tables_without_a_defect_get_no_advice():
    """15 or 60 tables at a rate below 1 %; more than 3 have a probability below 1e-3."""
    spoken = []
    with simulated.at_most(300):
        for seed in range(effort(15, 60)):
            check = simulated.clean(seed).check()
            spoken += [cause.kind for cause in check.causes]
    assert len(spoken) <= 3


def told(rows, **study):
    made = nw.create_study(options=sorted({row["option"] for row in rows}), eps=0.5, **study)
    made.tell_many(pl.DataFrame(rows))
    return made


@pytest.mark.parametrize("count", [2, 3, 4])
def test_of_very_few_measurements_only_those_that_disagree_are_named(count):
    rows = [{"option": "A", "value": 1.0 + 0.05 * k, "se": 0.1} for k in range(count)]
    assert not told(rows).check().causes
    rows[-1]["value"] = 3.0
    check = told(rows).check()
    assert [cause.kind for cause in check.causes] == ["row"]
    assert f"m-{count} (row {count}) of A" in check.remedies[0]
    assert ("m-1 (row 1) of A and m-2 (row 2) of A" in check.remedies[0]) == (count == 2)
    assert "extra_scatter" not in " ".join(check.remedies)


def test_runs_in_the_order_of_telling_are_named_by_where_they_begin():
    rng = np.random.default_rng(0)
    k = rng.permutation(np.arange(60) % 6)
    value = k + np.repeat([0.0, 2.0, -1.0], 20) + 0.1 * rng.standard_normal(60)
    rows = [
        {"option": f"o{i}", "value": v, "se": 0.1, "key": f"r{j}"}
        for j, (i, v) in enumerate(zip(k, value, strict=True))
    ]
    check = told(rows).check()
    assert check.causes[0].kind == "order"
    assert check.causes[0].remedy == {"block": "runs", "from": [21, 41]}
    assert "from m-21 (key r20), m-41 (key r40) on" in check.remedies[0]
    assert "give block=" not in " ".join(check.remedies[1:])


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("instrument", ["left", "right", "old"]),
        ("by", ["Ada", "Bo", "Cy"]),
        ("note", ["rain", "sun", "snow"]),
        ("key", ["mon/{}", "tue/{}", "wed/{}"]),
    ],
)
def test_what_was_told_with_measurements_may_be_the_missing_block(name, labels):
    rng = np.random.default_rng(1)
    which = rng.integers(3, size=60)
    rows = [
        {
            "option": f"o{j % 6}",
            "value": j % 6 + 2.0 * g + 0.1 * rng.standard_normal(),
            "se": 0.1,
            name: labels[g].format(j),
        }
        for j, g in enumerate(which)
    ]
    check = told(rows).check()
    assert check.causes[0].kind == "offsets"
    assert check.causes[0].remedy == {"block": name}
    assert check.causes[0].reduced < 1.6


def test_a_cause_for_programs_says_what_its_words_say():
    made = small("per cent row", 503)
    cause = made.study.check().causes[0]
    plain = cause.as_dict()
    assert plain["cause"] == "unit"
    assert plain["rows"][0]["measurement"] == f"m-{made.wrong}"
    assert plain["remedy"]["amend"][0]["measurement"] == f"m-{made.wrong}"
    assert plain["fit"]["reduced_chi_square"] == cause.reduced
    assert f"{cause.reduced:.3g}" in plain["words"]


def test_a_wrong_row_is_named_where_there_are_no_error_bars():
    rng = np.random.default_rng(0)
    for model in ({}, {"blocks": True}):
        rows = [
            {"option": f"o{k % 6}", "value": 5.0 + k % 6 + 0.1 * rng.standard_normal()} for k in range(36)
        ]
        if model:
            rows = [row | {"block": f"day {k // 6}"} for k, row in enumerate(rows)]
        assert not told(rows).check().causes
        rows[14]["value"] *= 100.0
        study = told(rows)
        (cause,) = study.check().causes
        assert cause.kind == "unit"
        assert [row["measurement"] for row in cause.rows] == ["m-15"]
        assert "measurements that came without error bars scatter by 0." in cause.words
        assert len(follow_all(study)) == 1


def test_a_row_that_is_precise_and_wrong_is_found_although_it_draws_the_fit_to_itself():
    rng = np.random.default_rng(4)
    rows = [
        {"option": f"o{k % 4}", "value": 1.0 + k % 4 + 0.1 * rng.standard_normal(), "se": 0.1}
        for k in range(40)
    ]
    rows[17] |= {"value": rows[17]["value"] / 100.0, "se": 0.001}
    cause = told(rows).check().causes[0]
    assert cause.kind == "unit"
    assert cause.remedy["amend"][0]["measurement"] == "m-18"
    assert cause.remedy["amend"][0]["se"] == pytest.approx(0.1)
