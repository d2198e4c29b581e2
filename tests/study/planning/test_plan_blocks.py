"""Plans in blocks and batches: as the study itself goes on, in days, with what is assumed said."""

import math
from datetime import date, timedelta

import numpy as np
import pytest

import noisewise as nw
from noisewise.study.planning.plan import draw_worlds

SIGMA = 0.4
#: What each model is to reach.
EPS = {"independent": 0.8, "linear": 0.25, "linear+deviation": 0.4}


def day(number):
    return str(date(2026, 11, 16) + timedelta(number))


def daily_study(model="independent", n=5, days=2, size=4, name=day, **question):
    rng = np.random.default_rng(4)
    days = 1 if model == "linear" else days  # which is soon done
    features = rng.normal(size=(n, 2))
    table = {"id": [f"o{k}" for k in range(n)], "a": features[:, 0], "b": features[:, 1]}
    model = f"{model}:0.3" if model == "linear+deviation" else model
    study = nw.create_study(options=table, model=model, **{"eps": 0.8, **question})
    for place in range(days * size):
        k = place % n
        value = features[k] @ [0.4, -0.2] + 0.3 * (place // size) + SIGMA * rng.normal()
        study.tell(option=f"o{k}", value=float(value), se=SIGMA, block=name(place // size))
    return study


def test_the_present_block_is_filled_first_and_then_blocks_are_new():
    study = daily_study(size=4)
    study.tell(option="o1", value=0.1, se=SIGMA, block="2026-12-24")
    plan = study.plan(eps=0.6, paths=4)
    assert "blocks of 4 (as so far), the present one filled up first (3 more) and not counted" in str(plan)
    assert plan.blocks == max(0, math.ceil((plan.median - 3) / 4))


@pytest.mark.long("simulations")
@pytest.mark.parametrize("model", ["independent", "linear", "linear+deviation"])
@pytest.mark.parametrize("batch", [1, 4])
def test_plans_in_blocks_come_true(model, batch):
    """The study driven day by day in the worlds of its plan."""
    study, rng, counts = daily_study(model, 6), np.random.default_rng(1), []
    plan = study.plan(eps=EPS[model], paths=59, on=1, batch=batch)
    for world in draw_worlds(study.analysis(), 10, 3, 6.0):
        again = daily_study(model, 6)
        before = again.n_measurements
        offset, left, block = 0.0, 0, ""
        while again.certificate().bound > EPS[model]:
            if not left:
                left, block, offset = 4, day(100 + again.n_measurements), rng.standard_normal()
            for job in again.ask(min(batch, left), sigma=SIGMA, block=block):
                value = world[again.options.index(job.option)] + offset + SIGMA * rng.standard_normal()
                again.tell(job, float(value), se=SIGMA, block=block)
                left -= 1
        counts.append(again.n_measurements - before)
    # Logs of counts scatter by less than 1: the median of 10 by 0.4.
    assert abs(np.median(np.log1p(counts)) - math.log1p(plan.median)) < 1.3


def test_blocks_named_by_dates_are_days():
    plan = daily_study().plan(paths=9)
    assert plan.block == 4
    assert plan.batch == 1
    first, *others = str(plan).splitlines()
    assert first.startswith("Until the bound is at most 0.8: about ")
    assert f"about {plan.blocks:g} more day" in first
    assert f"measurements (80 %: {plan.low:g} to {plan.high:g})." in first
    assert others == [
        "Assumed: blocks of 4 (as so far), asked for one by one, noise as it was so far (sigma 0.4), "
        "policy race.",
        plan.resolution_text,
    ]
    forecast = plan.forecasts[0]
    assert forecast.blocks_low == math.ceil(plan.low / 4)
    assert forecast.blocks_high == math.ceil(plan.high / 4)


def test_a_study_without_blocks_has_none_unless_they_are_said():
    study = nw.create_study(options=["A", "B", "C"], eps=0.6)
    for option, value in zip("ABC", (1.0, 0.2, 0.4), strict=True):
        study.tell(option=option, value=value, se=0.3)
    plan = study.plan(paths=4)
    assert plan.block is None
    assert plan.blocks is None
    assert "Assumed: no blocks, asked for one by one" in str(plan)
    assert study.plan(paths=4, block=3).blocks > 0


@pytest.mark.parametrize("policy", ["vage", "uniform"])
def test_other_policies_go_on_in_blocks(policy):
    plan = daily_study(policy=policy).plan(eps=1.2, paths=3)
    assert plan.rule == policy
    assert 0 < plan.blocks < math.inf
    assert f", policy {policy}.\n" in str(plan)
    assert daily_study(policy=policy).plan(eps=1.2, paths=3, batch=2).median >= 1


def test_the_order_of_telling_within_days_changes_nothing():
    rows = [(k, value, day(k // 4)) for k, value in enumerate(np.random.default_rng(1).normal(size=12))]
    plans = []
    for order in (rows, [*rows[7::-1], *rows[:7:-1]]):
        study = nw.create_study(options=list("ABCD"), eps=0.7)
        for k, value, block in order:
            study.tell(option="ABCD"[k % 4], value=float(value), se=SIGMA, block=block)
        plan = study.plan(paths=6).to_plain()
        plans.append({name: plan[name] for name in ("bound", "forecasts", "assumed", "sentence")})
    assert plans[0] == plans[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"block": 1}, "`block` must be at least 2: a block with one measurement says nothing"),
        ({"block": 0}, "`block` must be"),
        ({"batch": 0}, "`batch` must be"),
        ({"batch": 5}, "`batch` must be at most `block`, which is 4"),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        daily_study().plan(**arguments)


def test_differences_have_no_blocks():
    study = nw.create_study(options=list("ABC"), eps=0.8)
    study.tell(plus="A", minus="B", value=0.3, se=0.3)
    study.tell(plus="A", minus="C", value=0.5, se=0.3)
    with pytest.raises(ValueError, match="`block` must be left out: this study measures differences"):
        study.plan(block=3)
    assert "comparisons of two options, which no block shifts" in str(study.plan(paths=3))
