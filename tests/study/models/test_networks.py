"""Networks of differences and small blocks: what cannot matter changes no answer."""

import itertools
import math

import numpy as np
import pytest

import noisewise as nw

TIGHT = 1e-6


def told(study, rows):
    for row in rows:
        study.tell(**row)
    return study


DRUGS = {
    "acarbose": -0.8, "benfluorex": -0.9, "metformin": -1.1, "miglitol": -0.95, "pioglitazone": -1.1,
    "placebo": 0.0, "rosiglitazone": -1.25, "sitagliptin": -0.6, "sulfonylurea": -0.4, "vildagliptin": -0.7,
}  # fmt: skip


def network():
    """Two-arm studies: nearly all against the first treatments, a few loops, one option seen once."""
    rng = np.random.default_rng(7)
    against = {"placebo": 13, "metformin": 4, "sulfonylurea": 3}
    rows = []
    for middle, studies in against.items():
        others = [name for name in DRUGS if name != middle and name != "vildagliptin"]
        for at in range(studies):
            other = others[(3 * at) % len(others)] if middle != "placebo" else others[at % len(others)]
            se = float(rng.uniform(0.08, 0.3))
            value = DRUGS[other] - DRUGS[middle] + math.hypot(se, 0.2) * rng.standard_normal()
            rows.append({"plus": other, "minus": middle, "value": float(value), "se": se})
    rows.append({"plus": "vildagliptin", "minus": "placebo", "value": -0.7, "se": 0.13})
    return rows


def random_network(seed):
    """Differences, blocks of two and three, and readings without a block; everything is linked."""
    rng = np.random.default_rng(seed)
    names, values = [f"o{k}" for k in range(6)], rng.normal(size=6)
    rows = []
    for k in range(5):
        value = float(values[k] - values[k + 1] + 0.3 * rng.standard_normal())
        rows.append({"plus": names[k], "minus": names[k + 1], "value": value, "se": 0.3})
    for day in range(8):
        offset = rng.normal(0.0, 10.0)
        for k in rng.permutation(6)[: rng.integers(2, 4)]:
            se = float(rng.uniform(0.1, 0.6))
            value = float(values[k] + offset + se * rng.standard_normal())
            rows.append({"option": names[k], "block": f"day {day}", "value": value, "se": se})
    for k in rng.permutation(6)[:3]:
        value = float(values[k] + 0.5 * rng.standard_normal())
        rows.append({"option": names[k], "value": value, "se": 0.5})
    return names, rows


def plane(seed):
    """Twelve options on a plane of two features, measured three times in blocks of six."""
    rng = np.random.default_rng(seed)
    features, offsets = rng.normal(size=(12, 2)), rng.normal(0.0, 20.0, 6)
    values = features @ rng.normal(size=2)
    table = {"id": [f"o{k}" for k in range(12)], "a": features[:, 0], "b": features[:, 1]}
    rows = []
    for at in range(36):
        se = float(10.0 ** rng.uniform(-0.9, 0.1))
        value = float(values[at % 12] + offsets[at // 6] + se * rng.standard_normal())
        rows.append({"option": f"o{at % 12}", "value": value, "se": se, "block": f"day {at // 6}"})
    return table, rows


def with_features(model, table):
    stated = {"deviation": 0.3} if "deviation" in model else {}
    return nw.create_study(options=table, model=model, eps=0.5, span=9.0, **stated)


def assert_same(one, other):
    one, other = one.certificate(), other.certificate()
    assert one.option == other.option
    assert one.bound == pytest.approx(other.bound, rel=TIGHT)
    assert set(one.candidates) == set(other.candidates)


def orders(names, count=6):
    rng = np.random.default_rng(0)
    return [
        sorted(names),
        sorted(names)[::-1],
        *([str(n) for n in rng.permutation(sorted(names))] for _ in range(count)),
    ]


@pytest.mark.parametrize("scatter", [None, 0.2])
def test_a_network_of_differences_gives_the_same_answer_in_every_order_of_the_list(scatter):
    rows = network()
    studies = [
        told(nw.create_study(options=order, goal="min", eps=0.3, extra_scatter=scatter), rows)
        for order in orders(DRUGS)
    ]
    for study in studies[1:]:
        assert_same(studies[0], study)


@pytest.mark.parametrize("scatter", [None, 0.2])
def test_a_network_of_differences_recommends_one_of_its_three_best_estimates(scatter):
    for order in orders(DRUGS):
        study = told(nw.create_study(options=order, goal="min", eps=0.3, extra_scatter=scatter), network())
        best = study.frame("options").sort("estimate")["option"].to_list()[:3]
        assert study.certificate().option in best


ANCHORS = {
    "a reading": [{"option": "metformin", "value": 7.0, "se": 0.1}],
    "a reading of the worst": [{"option": "placebo", "value": 7.0, "se": 0.1}],
    "a reading in a block": [{"option": "placebo", "value": -3.0, "se": 0.01, "block": "Monday"}],
    "readings in blocks of their own": [
        {"option": name, "value": 5.0 * k, "se": 0.1, "block": f"day {k}"} for k, name in enumerate(DRUGS)
    ],
}


@pytest.mark.parametrize("anchor", ANCHORS.values(), ids=ANCHORS)
@pytest.mark.parametrize("first", ["acarbose", "placebo"])
def test_a_measurement_without_information_changes_nothing_in_a_network(anchor, first):
    names = sorted(DRUGS, key=lambda name: (name != first, name))
    with_it, without = (nw.create_study(options=names, goal="min", eps=0.3) for _ in range(2))
    assert_same(told(with_it, [*network(), *anchor]), told(without, network()))


def test_both_sides_of_a_difference_are_counted_as_measured():
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    study.tell(plus="A", minus="B", value=1.0, se=0.1)
    study.tell(plus="C", minus="B", value=1.0, se=0.1)
    frame = study.frame("options")
    assert dict(zip(frame["option"], frame["measurements"], strict=True)) == {"A": 1, "B": 2, "C": 1}


@pytest.mark.parametrize("repeats", [1, 3, 20])
def test_blocks_of_two_say_what_differences_say(repeats):
    rng = np.random.default_rng(0)
    names, values = ["A", "B", "C", "D", "E"], np.array([0.0, -0.2, -0.4, -0.6, -0.3])
    blocks, compared = (nw.create_study(options=names, eps=0.1) for _ in range(2))
    for at, (one, other) in enumerate(list(itertools.combinations(range(5), 2)) * repeats):
        first, second = values[[one, other]] + rng.normal(0.0, 20.0) + 0.2 * rng.standard_normal(2)
        blocks.tell(option=names[one], value=float(first), se=0.2, block=f"pair {at}")
        blocks.tell(option=names[other], value=float(second), se=0.2, block=f"pair {at}")
        se = 0.2 * math.sqrt(2.0)
        compared.tell(plus=names[one], minus=names[other], value=float(first - second), se=se)
    assert_same(blocks, compared)


@pytest.mark.parametrize("seed", range(6))
def test_a_mixed_network_does_not_depend_on_the_order_of_the_options(seed):
    names, rows = random_network(seed)
    first, *others = [told(nw.create_study(options=order, eps=0.3), rows) for order in orders(names, 3)]
    for other in others:
        assert_same(first, other)


@pytest.mark.parametrize("seed", range(6))
def test_a_mixed_network_does_not_depend_on_the_level_of_any_block(seed):
    names, rows = random_network(seed)
    shifted = [
        row if "plus" in row else row | {"value": row["value"] + 100.0 * len(row.get("block", ""))}
        for row in rows
    ]
    shifted = [
        row | {"value": row["value"] + 50.0} if row.get("block") == "day 3" else row for row in shifted
    ]
    one, other = (nw.create_study(options=names, eps=0.3) for _ in range(2))
    assert_same(told(one, rows), told(other, shifted))


@pytest.mark.parametrize("model", ["linear", "linear+deviation"])
@pytest.mark.parametrize("seed", range(3))
def test_models_with_features_do_not_depend_on_the_order_of_the_list(model, seed):
    table, rows = plane(seed)
    order = np.random.default_rng(seed).permutation(12)
    turned = {name: [column[k] for k in order] for name, column in table.items()}
    assert_same(told(with_features(model, table), rows), told(with_features(model, turned), rows))


@pytest.mark.parametrize("model", ["linear", "linear+deviation"])
@pytest.mark.parametrize("seed", range(3))
def test_models_with_features_ignore_readings_that_are_alone_in_their_block(model, seed):
    table, rows = plane(seed)
    alone = [{"option": f"o{k}", "value": 3.0 * k, "se": 0.1, "block": f"alone {k}"} for k in range(4)]
    plain, more = (with_features(model, table) for _ in range(2))
    assert_same(told(plain, rows), told(more, [*rows, *alone]))
