"""Plans in blocks and batches: as the study itself goes on, in days, with what is assumed said."""

import math
from datetime import date, timedelta

import numpy as np
import pytest
from tests.support.effort import effort, long_beyond

import noisewise as nw
from noisewise.core.support.randomness import generator
from noisewise.study.certificate.bound import recommend
from noisewise.study.planning import race_path
from noisewise.study.planning.coming_blocks import coming_blocks
from noisewise.study.planning.many_paths import path_of
from noisewise.study.planning.paths import NoiseMenu, ask_ahead
from noisewise.study.planning.worlds import draw_worlds

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
    sizes = {"deviation": 0.3} if model == "linear+deviation" else {}
    study = nw.create_study(options=table, model=model, **{"eps": 0.8, "span": 6.0, **sizes, **question})
    for place in range(days * size):
        k = place % n
        value = features[k] @ [0.4, -0.2] + 0.3 * (place // size) + SIGMA * rng.normal()
        study.tell(option=f"o{k}", value=float(value), se=SIGMA, block=name(place // size))
    return study


def future_of(study, seed=1, eps=0.8, block=None, batch=None):
    analysis = study._now()
    menu = NoiseMenu(np.array([SIGMA]), np.ones(1), np.ones(1))
    question = ask_ahead(analysis, menu, eps, 400, coming_blocks(analysis, block, batch))
    (world,) = draw_worlds(analysis, 1, generator(seed, "plan", 0), 6.0)
    path = path_of(question, world, generator(seed, "plan", 1))
    return path, path.go()


def really(study, path, eps, batch=1):
    """The study goes on and is told what came out in the path, until it may stop.

    Returns how many measurements that took, and how many of them it asked for.
    """
    rows = list(zip(path._plus, path._minus, path._value, path._blocks, strict=True))
    told = asked = 0
    while told < len(rows) and not (recommend(study._now()).bound <= eps):
        block = rows[told][3]
        coming = [row for row in rows[told : told + batch] if row[3] == block]
        name = f"new {ord(block[0])}{block[1:]}" if block.startswith("\0") else block or None
        jobs = study.ask(len(coming), sigma=SIGMA, block=name)
        for job, (plus, minus, value, _) in zip(jobs, coming, strict=True):
            other = None if minus < 0 else study.options[minus]
            asked += (job.option, job.minus) == (study.options[plus], other)
            study.release(job)
            what = (
                {"option": study.options[plus]}
                if minus < 0
                else {"plus": study.options[plus], "minus": other}
            )
            study.tell(value=value, se=SIGMA, block=name, **what)
        told += len(coming)
    return told, asked


@pytest.mark.parametrize("seed", long_beyond(1, [1, 2], "simulations"))
@pytest.mark.parametrize(
    ("model", "n"),
    [
        ("independent", 5),
        ("independent", 11),  # of which three were never measured
        ("linear", 8),
        ("linear+deviation", 8),
    ],
)
def test_a_path_is_the_study_driven_step_by_step(model, n, seed, monkeypatch):
    """The twin: with a look after every measurement, each choice is the one that `ask` makes."""
    monkeypatch.setattr(race_path, "LOOKED", -1.0)
    study = daily_study(model, n)
    path, outcome = future_of(study, seed, EPS[model])
    assert outcome.needed > 4
    told, asked = really(study, path, EPS[model])
    assert told == outcome.needed == asked


def test_a_path_of_differences_is_the_study_driven_step_by_step(monkeypatch):
    monkeypatch.setattr(race_path, "LOOKED", -1.0)
    study = nw.create_study(options=list("ABCDE"), eps=0.8, span=6.0)
    for one, other, value in (("A", "B", 0.5), ("B", "C", 0.4), ("C", "D", 0.3), ("E", "A", 0.6)):
        study.tell(plus=one, minus=other, value=value, se=SIGMA)
    path, outcome = future_of(study)
    assert min(path._minus) >= 0
    told, asked = really(study, path, 0.8)
    assert told == outcome.needed == asked


@pytest.mark.parametrize("model", ["independent", "linear", "linear+deviation"])
@pytest.mark.parametrize("batch", long_beyond(1, [4, 2], "simulations"))
def test_a_batch_is_asked_for_as_the_study_does(model, batch):
    study = daily_study(model, 6)
    path, outcome = future_of(study, 3, EPS[model], batch=batch)
    told, asked = really(study, path, EPS[model], batch)
    assert told == outcome.needed
    assert outcome.needed % batch == 0
    # Within a batch radii are those of the last look: now and then that tips a choice.
    assert asked >= 0.75 * told


@pytest.mark.long("simulations")
@pytest.mark.parametrize("model", ["independent", "linear", "linear+deviation"])
def test_seldom_looks_take_as_many_measurements_as_steps(model, monkeypatch):
    study, paths = daily_study(model, 8), effort(6, 12)
    fast = [future_of(study, seed, EPS[model])[1] for seed in range(paths)]
    monkeypatch.setattr(race_path, "LOOKED", -1.0)
    slow = [future_of(study, seed, EPS[model])[1] for seed in range(paths)]
    assert sum(one.looks for one in fast) < 0.7 * sum(one.looks for one in slow)
    counts = [np.log([one.needed for one in some]) for some in (fast, slow)]
    # The same chance in both, until a choice differs: such means of six or twelve are far below 0.1.
    assert abs(np.mean(counts[0] - counts[1])) < 0.2


def test_the_present_block_is_filled_first_and_then_blocks_are_new():
    study = daily_study(size=4)
    study.tell(option="o1", value=0.1, se=SIGMA, block="2026-12-24")
    path, outcome = future_of(study, eps=0.6)
    assert path._blocks[:3] == ["2026-12-24"] * 3
    names, sizes = np.unique(path._blocks[3:], return_counts=True)
    assert names.size == path._question.blocks.begun(outcome.needed)
    assert (np.sort(sizes)[1:] == 4).all()
    plan = study.plan(eps=0.6, paths=4)
    assert "blocks of 4 (as so far), the present one filled up first (3 more) and not counted" in str(plan)


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
        "the rule race."
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
    assert str(plan).endswith(f"the rule {policy}.")
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
    study = nw.create_study(options=list("ABC"), eps=0.8, span=6.0)
    study.tell(plus="A", minus="B", value=0.3, se=0.3)
    study.tell(plus="A", minus="C", value=0.5, se=0.3)
    with pytest.raises(ValueError, match="`block` must be left out: this study measures differences"):
        study.plan(block=3)
    assert "differences, which no block shifts" in str(study.plan(paths=3))
