"""What RACE asks for follows from what was measured, and from nothing else."""

import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.effort import effort
from tests.support.racing import DAYS, MODELS, random_row
from tests.support.studies_in_time import study_at

import noisewise as nw
from noisewise.study.asking.ask import Asking
from noisewise.study.log.state import replay
from noisewise.study.models.analysis import Analysis

WAYS = ({"block": "mo"}, {"block": "fresh"}, {"probe": "difference"}, {})


class Case:
    """A random study that can be made again in another guise."""

    def __init__(self, seed, model):
        self.rng = rng = np.random.default_rng(seed)
        self.model, self.n = model, int(rng.integers(2, 8))
        self.names = [f"o{k}" for k in rng.permutation(self.n)]
        self.features = rng.normal(size=(self.n, 2))
        kinds = ({"blocks": True}, {"blocks": True, "differences": True}, {"pairs_only": True}, {})
        kind = kinds[int(rng.integers(4))]
        self.rows = [random_row(rng, self.names, **kind) for _ in range(int(rng.integers(0, 20)))]
        if rng.random() < 0.5:  # many ties
            self.rows = [row | {"value": round(row["value"]), "se": 0.5} for row in self.rows]
        self.way = dict(WAYS[int(rng.integers(len(WAYS)))])
        if rng.random() < 0.5:
            self.way["sigma"] = 0.7
        self.count = int(rng.integers(1, 5))

    def study(self, rows=None, *, order=None, unit=1.0, goal="max", together=False):
        """The study, with other measurements, another order of the options, another unit or goal.

        What is told ``together`` has no order in time; models with features look at that of the rest.
        """
        order = np.arange(self.n) if order is None else order
        table = {"id": [self.names[k] for k in order]}
        more = {}
        if self.model != "independent":
            table |= {f"x{j}": self.features[order, j] for j in range(2)}
        model = f"{self.model}:{0.3 * unit}" if self.model == "linear+deviation" else self.model
        clock = (lambda: 1.7e9) if together else time.time
        study = study_at(clock, options=table, model=model, eps=0.05 * unit, goal=goal, **more)
        for row in self.rows if rows is None else rows:
            study.tell(**row)
        return study

    def changed(self, value, **more):
        """The measurements with other values."""
        return [
            row | {"value": value(row)} | {key: one(row) for key, one in more.items()} for row in self.rows
        ]

    def asked(self, study, **other):
        """What it asks for."""
        return asked_for(study.ask(self.count, **(self.way | other)))


def asked_for(jobs):
    return [(job.option, job.minus, job.block) for job in jobs]


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=effort(2, 7))
@given(seed=st.integers(0, 2**32))
def test_neither_order_nor_level_nor_unit_nor_direction_matters(model, seed):
    case = Case(seed, model)
    rng, expected = case.rng, case.asked(case.study())
    assert case.asked(case.study(order=rng.permutation(case.n))) == expected
    # Which block goes on is what was told last: there it must stay.
    last = max((at for at, row in enumerate(case.rows) if "option" in row), default=-1)
    order = [at for at in rng.permutation(len(case.rows)).tolist() if at != last] + [last] * (last >= 0)
    shuffled = case.study([case.rows[at] for at in order], together=True)
    assert case.asked(shuffled) == case.asked(case.study(together=True))
    shift = {day: float(100.0 * rng.normal()) for day in DAYS}
    moved = case.changed(lambda row: row["value"] + shift.get(row.get("block"), 0.0))
    assert case.asked(case.study(moved)) == expected
    higher = case.changed(lambda row: row["value"] + (1234.5 if "option" in row else 0.0))
    assert case.asked(case.study(higher)) == expected
    negated = case.changed(lambda row: -row["value"])
    assert case.asked(case.study(negated, goal="min")) == expected
    larger = case.changed(lambda row: 1000.0 * row["value"], se=lambda row: 1000.0 * row["se"])
    sigma = {"sigma": 700.0} if "sigma" in case.way else {}
    assert case.asked(case.study(larger, unit=1000.0), **sigma) == expected


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=effort(2, 6))
@given(seed=st.integers(0, 2**32))
def test_looking_first_asking_at_once_and_one_by_one_are_the_same(model, seed):
    case = Case(seed, model)
    study = case.study()
    looked = study.ask(case.count, **case.way, dry_run=True)
    assert len(study.events()) == len(case.rows)
    jobs = study.ask(case.count, **case.way)
    assert [(job.id, job.why) for job in looked] == [(job.id, job.why) for job in jobs]
    assert asked_for(looked) == asked_for(jobs)
    if "block" in case.way or "probe" in case.way:
        slowly = case.study()
        one_by_one = [slowly.ask(1, **case.way)[0] for _ in range(case.count)]
        assert asked_for(one_by_one) == asked_for(jobs)
    replayed = Analysis(replay(study.specification, study.events()))
    bodies = Asking(replayed, 0.0).suggest(
        **({"n": 2, "sigma": None, "now": 0.0, "lease": 1.0, "by": None} | case.way)
    )
    jobs = study.ask(2, **case.way, dry_run=True)
    assert [(body["option"], body["why"]) for body in bodies] == [(job.option, job.why) for job in jobs]


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=effort(2, 6))
@given(seed=st.integers(0, 2**32))
def test_the_order_of_what_is_under_way_does_not_matter(model, seed):
    """The same suggestions, entered in another order, by others, at another time."""
    case = Case(seed, model)
    study = case.study()
    jobs = study.ask(2, **case.way) + study.ask(1, block="tu") + study.ask(1)
    expected = asked_for(study.ask(2, block="mo", dry_run=True))
    bodies = [event.body for event in study.events() if event.kind == "ask"]
    for _ in range(2):
        other = case.study()
        for body in case.rng.permutation(bodies):
            enter(other, body)
        assert sorted(asked_for(other.pending), key=str) == sorted(asked_for(jobs), key=str)
        assert asked_for(other.ask(2, block="mo", dry_run=True)) == expected


def enter(study, body):
    """An event "ask" as somebody else wrote it."""
    study._log.change(lambda news: [("ask", json.loads(json.dumps(body)))], ("ask", body["id"]), lambda: None)


def test_suggestions_for_one_new_block_follow_it_when_it_gets_its_name():
    def begun():
        study = nw.create_study(options=list("ABCDE"), eps=0.05)
        for at, name in enumerate("ABCDE"):
            study.tell(option=name, value=float(at), se=0.5, block="Mon")
        return study

    study = begun()
    jobs = study.ask(3)
    assert {job.together for job in jobs} == {jobs[0].id}
    assert {job.block for job in jobs} == {None}
    study.tell(jobs[0], 7.0, se=0.5, block="Tue")
    twin = begun()
    named = twin.ask(3, block="Tue")
    assert [job.option for job in named] == [job.option for job in jobs]
    twin.tell(named[0], 7.0, se=0.5)
    for block in ("Mon", "Tue", "Wed"):
        assert asked_for(study.ask(2, block=block, dry_run=True)) == asked_for(
            twin.ask(2, block=block, dry_run=True)
        )
    # And a day that somebody else began is not theirs.
    third = begun()
    third.ask(3)
    third.tell(option="E", value=7.0, se=0.5, block="Tue")
    assert all(job.together for job in third.pending)


def test_a_difference_under_way_has_the_noise_of_differences():
    study = nw.create_study(options={"id": list("ABCD"), "x": [0.0, 1.0, 2.0, 3.5]}, model="linear", eps=0.2)
    for at, name in enumerate("ABCD"):
        study.tell(option=name, value=0.3 * at, se=5.0)
    study.tell(plus="A", minus="B", value=0.1, se=0.1)
    at_once = asked_for(study.ask(4, probe="difference", dry_run=True))
    assert [asked_for(study.ask(1, probe="difference"))[0] for _ in range(4)] == at_once
