"""The ledger: shares sum to the whole, any order gives the same total, bounds as the study saw them."""

import numpy as np
import polars as pl
import pytest

import noisewise as nw
from noisewise.study.asking.policy import unit_of
from noisewise.study.planning.worth import _Books, information

RNG = np.random.default_rng(5)
FEATURES = RNG.normal(size=(8, 3))


def rows(count=30):
    rng, made = np.random.default_rng(count), []  # of its own: tests run in any order
    for k in range(count):
        option, se = int(rng.integers(8)), float(10.0 ** rng.uniform(-3.0, 0.3))
        row = {"value": float(FEATURES[option] @ [1.0, 0.5, -0.5] + se * rng.normal()), "se": se}
        if k % 7 == 3:
            other = (option + 3) % 8
            row |= {"plus": f"o{option}", "minus": f"o{other}"}
            row["value"] -= float(FEATURES[other] @ [1.0, 0.5, -0.5])
        else:
            row |= {"option": f"o{option}"}
            row |= [{}, {"block": "Mon"}, {"block": "Tue", "instrument": "beam"}][int(rng.integers(3))]
        made.append(row)
    return made


def new_study(model, told, **question):
    table = {"id": [f"o{k}" for k in range(8)], **{f"f{j}": FEATURES[:, j] for j in range(3)}}
    study = nw.create_study(options=table, model=model, **{"eps": 0.3, **question})
    for row in told:
        study.tell(**row)
    return study


MODELS = [
    {"model": "independent"},
    {"model": "independent"},
    {"model": "linear"},
    {"model": "linear+deviation:0.4", "errors": nw.Errors(extra=0.1)},
]


@pytest.mark.parametrize("question", MODELS, ids=str)
def test_any_order_sums_to_the_same_total(question):
    told = rows()
    worth = new_study(told=told, **question).worth()
    assert worth.ledger["share"].sum() == pytest.approx(1.0)
    assert worth.ledger["precision_share"].sum() == pytest.approx(1.0)
    assert worth.ledger["information"].sum() == pytest.approx(worth.information)
    order = RNG.permutation(len(told))
    again = new_study(told=[told[k] for k in order], **question).worth()
    assert again.information == pytest.approx(worth.information, rel=1e-9)
    assert again.precision == pytest.approx(worth.precision)
    mixed = again.ledger["information"].to_numpy()[np.argsort(order)]
    assert not np.allclose(mixed, worth.ledger["information"].to_numpy())  # parts do depend on it
    for what in ("block", "instrument", "option"):
        groups = worth.by(what)
        assert groups["share"].sum() == pytest.approx(1.0)
        assert groups["measurements"].sum() == len(told)
        assert groups["information"].sum() == pytest.approx(worth.information)


def test_each_part_is_the_growth_of_the_determinant():
    """The naive twin: determinants of all unknowns, one measurement at a time."""
    told = rows(15)
    study = new_study("linear", told)
    unit, precision = unit_of(study.analysis()), np.eye(6)  # three weights, a level, two blocks
    features = study._log.state.features
    parts = []
    before = 0.0
    for row in told:
        x = np.zeros(6)
        k = int((row.get("option") or row["plus"])[1:])
        x[:3] = features[k]
        if "minus" in row:
            x[:3] -= features[int(row["minus"][1:])]
        else:
            x[3] = 1.0
            if "block" in row:
                x[4 + ["Mon", "Tue"].index(row["block"])] = 1.0
        precision += np.outer(x, x) * (unit / row["se"]) ** 2
        after = np.linalg.slogdet(precision)[1]
        parts.append(after - before)
        before = after
    np.testing.assert_allclose(study.worth().ledger["information"].to_numpy(), parts, rtol=1e-6, atol=1e-9)


def naive_information(study):
    """The naive twin: the covariance of all unknowns, with a row for every option and every block."""
    analysis = study.analysis()
    columns, n = analysis.columns, analysis.n
    alone, shared = analysis.model.prior_parts(analysis.sizes.deviation / unit_of(analysis))
    loads = np.hstack([shared, alone * np.eye(n), np.zeros((n, len(columns.blocks)))])
    covariance, parts = np.eye(loads.shape[1]), []
    for plus, minus, block, sigma in zip(
        columns.plus, columns.minus, columns.block, analysis.sigmas.estimated / unit_of(analysis), strict=True
    ):
        row = loads[plus].copy()
        if minus >= 0:
            row -= loads[minus]
        elif columns.blocks[block]:
            row[shared.shape[1] + n + block] += 1.0
        along = covariance @ row
        parts.append(np.log1p(row @ along / sigma**2))
        covariance -= np.outer(along, along) / (row @ along + sigma**2)
    return np.array(parts)


@pytest.mark.parametrize("question", MODELS, ids=str)
@pytest.mark.parametrize(("n_blocks", "in_turn"), [(0, True), (2, True), (5, False), (30, True), (30, False)])
@pytest.mark.parametrize("differences", [False, True])
def test_information_is_that_of_the_naive_twin(question, n_blocks, in_turn, differences):
    rng, told = np.random.default_rng(n_blocks), []
    for k in range(90):
        one, other = rng.choice(8, 2, replace=False)
        row = {"option": f"o{one}", "value": float(rng.normal()), "se": float(rng.choice([0.1, 0.5, 2.0]))}
        if differences and k % 7 == 0 and one < 6 and other < 6:
            row = {"plus": f"o{one}", "minus": f"o{other}", "value": row["value"], "se": row["se"]}
        elif n_blocks and k % 5:
            row["block"] = f"day {k * n_blocks // 90 if in_turn else rng.integers(n_blocks)}"
        told.append(row)
    study = new_study(told=told, **question)
    np.testing.assert_allclose(information(study.analysis()), naive_information(study), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("question", MODELS, ids=str)
@pytest.mark.parametrize("in_turn", [True, False])
def test_a_measurement_costs_no_more_the_more_blocks_there_are(question, in_turn):
    sizes = []
    for n_blocks in (20, 80):
        told = [
            {
                "option": f"o{k % 8}",
                "value": 0.0,
                "se": 0.5,
                "block": f"day {k // 2 if in_turn else k % n_blocks}",
            }
            for k in range(2 * n_blocks)
        ]
        sizes.append(_Books(new_study(told=told, **question).analysis()).root.size)
    assert sizes[0] == sizes[1] <= 13**2  # options, weights and a level: what each measurement updates


def test_a_measurement_costs_no_more_the_more_options_there_are():
    sizes = []
    for n in (20, 80):
        names = [f"o{k}" for k in range(n)]
        study = nw.create_study(options=names, eps=0.3)
        study.tell_many(
            [{"option": o, "value": 0.0, "se": 0.5, "block": "ab"[k % 2]} for k, o in enumerate(names)]
        )
        sizes.append(_Books(study.analysis()).root.size)
    assert sizes == [4, 4]


def test_bounds_are_those_that_the_study_saw():
    told = [row for row in rows(12) if "block" not in row and "minus" not in row]
    study = new_study("independent", [])
    seen = []
    for row in told:
        study.tell(**row)
        seen.append(study.certificate().bound)
    ledger, seen = study.worth().ledger, np.where(np.isfinite(seen), seen, np.nan)
    np.testing.assert_allclose(ledger["bound_after"].to_numpy(), seen)
    np.testing.assert_allclose(ledger["bound_before"].to_numpy()[1:], seen[:-1])
    assert ledger["bound_before"][0] is None


def test_the_harmonic_mean_sentence():
    study = nw.create_study(options=["A", "B"], eps=0.3)
    assert study.worth().sentence == "Nothing was measured yet."
    for value, se in ((1.0, 1.0), (1.1, 1.0), (0.9, 0.1), (1.0, 1.0)):
        study.tell(option="A", value=value, se=se)
    worth = study.worth()
    assert worth.equivalent == pytest.approx((3.01 / 4) * 103.0)
    assert worth.sentence == (
        "Your 4 measurements carry as much information as 77.5 at the average noise; "
        "the quietest holds 97.1 % of all precision."
    )
    assert worth.ledger["quiet"].to_list() == [False, False, True, False]


def test_it_counts_in_units_that_a_person_orders():
    study = nw.create_study(options=["A", "B"], eps=0.05, measure=nw.Items(200), seed=1)
    for option, share in (("A", 0.4), ("B", 0.6)):
        items = study.next_items(option, 50)
        study.tell(option=option, items={item: float(k < 50 * share) for k, item in enumerate(items)})
    assert (
        study.worth().sentence == "Your 100 answers, in 2 measurements, carry about the same precision each."
    )
    assert ", first bound " in str(study.worth())
    study = nw.create_study(options=["A", "B", "C"], eps=0.3)
    for plus, minus in ("AB", "BC", "AC"):
        study.tell(plus=plus, minus=minus, value=0.1, se=0.2)
    assert study.worth().sentence == "Your 3 differences carry about the same precision each."


def test_voided_measurements_are_worth_nothing():
    study = new_study("independent", rows(10))
    study.void("m-3", "wrong sample")
    ledger = study.worth().ledger
    assert "m-3" not in ledger["id"]
    assert len(ledger) == 9


def test_with_many_measurements_only_some_bounds_are_looked_at():
    study = new_study("independent", rows(40))
    worth = study.worth(looks=16)
    known = worth.ledger["bound_after"].is_not_null().sum()
    assert known <= worth.looks <= 16 + 8
    assert worth.ledger["bound_after"][-1] == pytest.approx(study.certificate().bound)
    full = study.worth().ledger
    both = worth.ledger.filter(pl.col("bound_after").is_not_null())
    assert (
        both["bound_after"].to_list()
        == full.filter(pl.col("id").is_in(both["id"].implode()))["bound_after"].to_list()
    )


def test_words_and_refusals():
    study = new_study("independent", rows(20))
    worth = study.worth()
    assert "By instrument:" in str(worth)
    assert "By block:" in str(worth)
    assert "Worth most" in worth._repr_html_()
    with pytest.raises(ValueError, match="`what` must be"):
        worth.by("colour")
    with pytest.raises(ValueError, match="`looks` must be"):
        study.worth(looks=2)
