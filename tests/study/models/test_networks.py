"""Networks of differences and small blocks: what cannot matter changes no answer."""

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
    model = f"{model}:0.3" if "deviation" in model else model
    return nw.create_study(options=table, model=model, eps=0.5)


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
        told(nw.create_study(options=order, goal="min", eps=0.3, errors=nw.Errors(extra=scatter)), rows)
        for order in orders(DRUGS)
    ]
    for study in studies[1:]:
        assert_same(studies[0], study)


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
