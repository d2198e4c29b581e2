"""A loaded study has the same measurements, suggestions and certificates as the live one, bit by bit."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.studies_in_time import study_at

import noisewise as nw

NAMES = ["A", "B", "C", "D"]
FEATURES = {"id": NAMES, "x": [0.0, 1.0, 2.0, 3.5]}
POOL = [f"q{k}" for k in range(200)]
REFUSED = (ValueError, KeyError, TypeError)
QUESTIONS = {
    "error bars": {"options": NAMES},
    "bounds": {"options": NAMES, "measure": nw.Ratings(0.0, 1.0)},
    "own scatter": {"options": NAMES, "errors": nw.Errors(scatter="own")},
    "pooled": {"options": NAMES, "errors": nw.Errors(scatter="pooled")},
    "heavy": {"options": NAMES, "errors": nw.Errors(tails="heavy")},
    "log": {"options": NAMES, "scale": "log"},
    "extra scatter": {"options": NAMES, "errors": nw.Errors(extra="estimate")},
    "linear": {"options": FEATURES, "model": "linear"},
    "deviation": {"options": FEATURES, "model": "linear+deviation"},
    "budget": {"options": NAMES, "budget": 50},
    "items": {"options": NAMES},
    "scores": {"options": NAMES, "measure": nw.Ratings(0.0, 1.0)},
    "pool": {"options": NAMES, "measure": nw.Items(POOL)},
    "scored pool": {"options": NAMES, "measure": nw.Items(POOL, 0.0, 1.0)},
    "rounds": {"options": NAMES, "measure": "rounds", "scale": "log"},
}
WITH_ITEMS = ("items", "scores", "pool", "scored pool", "rounds")


class Player:
    """Random events in one study; what is refused does not happen."""

    def __init__(self, kind, seed):
        self.kind, self.random, self.now = kind, np.random.default_rng(seed), 1.8e9
        self.study = study_at(self.clock, eps=0.1, seed=seed, **QUESTIONS[kind])
        self.fresh = 0

    def clock(self):
        return self.now

    def value(self):
        value = float(self.random.uniform(0.05, 0.95))
        return float(self.random.random() < 0.7) if self.kind in ("items", "pool") else value

    def items(self, job=None):
        option = self.pick(self.study.options) if job is None else job.option
        if job is None:
            names = self.study.next_items(option, int(self.random.integers(1, 9)))
            fresh = 0 if self.kind.endswith("pool") else int(self.random.integers(0, 4))
        else:
            names, fresh = list(job.items), job.fresh
        self.fresh += fresh
        names += [f"new {self.fresh - k}" for k in range(fresh)]
        return {"option": option} | {"items": {name: self.value() for name in names}}

    def pick(self, some):
        return some[int(self.random.integers(len(some)))]

    def told(self):
        if self.kind in WITH_ITEMS:
            return self.items()
        value = self.value()
        told = self.pick([
            {"value": value, "se": 0.1}, {"value": value}, {"values": [value, self.value(), self.value()]},
            {"successes": 3, "trials": 7}, {"value": value, "sd": 0.2, "n": 4},
        ])  # fmt: skip
        one, two = self.random.permutation(self.study.options)[:2].tolist()
        probe = {"plus": one, "minus": two} if self.random.random() < 0.15 else {"option": one}
        block = {"block": self.pick(["x", "y"])} if self.random.random() < 0.2 else {}
        return probe | told | block

    def answer(self, job):
        if self.kind in WITH_ITEMS:
            said = self.items(job)
            return {name: part for name, part in said.items() if name != "option"}
        return {"value": self.value(), "se": 0.1}

    def step(self):
        study, numbers = self.study, max(1, self.study.n_measurements)
        number = f"m-{int(self.random.integers(1, numbers + 1))}"
        pending = study.pending
        acts = [
            lambda: study.ask(int(self.random.integers(1, 4))),
            lambda: study.tell(**self.told()),
            lambda: study.tell(**self.told()),
            lambda: study.tell(self.pick(pending), **self.answer(self.pick(pending))) if pending else None,
            lambda: study.tell(pending[0], **self.answer(pending[0])) if pending else None,
            lambda: study.tell(pending[-1], **self.answer(pending[-1])) if pending else None,
            lambda: study.release(pending[0]) if pending else None,
            lambda: study.amend(number, "typo", self.value()),
            lambda: study.amend(number, "typo", note=f"seen {study.n_events}"),
            lambda: study.amend(number, "typo", items=self.some_items(number)),
            lambda: study.void(number, "wrong"),
            lambda: study.tell_all([self.told() for _ in range(3)]),
            lambda: study.tell_many({"option": ["A", "B"], "value": [self.value(), self.value()], "se": 0.1}),
            lambda: study.exclude("D", "broken"),
            lambda: study.include("D"),
            lambda: study.add_options(["E"]),
            lambda: study.certificate(),
        ]  # fmt: skip
        self.now += 1.0
        with contextlib.suppress(REFUSED):
            self.pick(acts)()

    def some_items(self, number):
        if int(number[2:]) > len(self.study._log.state.told):
            raise KeyError(number)
        content = self.study._log.state.told[int(number[2:]) - 1]
        place = self.study._log.state.items.read(content).places[0]
        return {self.study._log.state.items.names[int(place)]: self.value()}


def asked(study):
    try:
        return study.ask(2, dry_run=True)
    except REFUSED as problem:  # all is measured, or under way
        return str(problem)


def answers(study):
    state = study._log.state
    return {
        "pending": study.pending,
        "jobs": dict(state.jobs),
        "told": list(state.told),
        "voided": dict(state.voided),
        "certificate": study.certificate().to_json(),
        "estimates": study.frame("options").to_dicts(),
        "next": asked(study),
    }


@pytest.mark.parametrize("kind", QUESTIONS)
@settings(max_examples=5)
@given(seed=st.integers(0, 10_000), steps=st.integers(12, 25))
def test_a_loaded_study_answers_like_the_one_that_was_told(kind, seed, steps):
    player = Player(kind, seed)
    for _ in range(steps):
        player.step()
    live = player.study
    loaded = nw.load_study(live._log.storage, live.name, clock=player.clock)
    loaded._log.catch_up()
    before, after = answers(live), answers(loaded)
    assert [name for name in before if repr(before[name]) != repr(after[name])] == []


def test_suggestions_of_items_that_are_not_known_yet_stay_pending_after_loading():
    study = nw.create_study(options=NAMES, eps=0.1)
    study.tell(option="A", items={"p": 1, "q": 0})
    study.ask(2)
    loaded = nw.load_study(study._log.storage, study.name)
    assert loaded.pending == study.pending
    assert len(study.pending) == 2
    assert [job.id for job in loaded.ask(1)] == ["ask-3"]


@pytest.mark.parametrize(
    ("measure", "seed"),
    [(nw.Ratings(0.0, 1.0), 0), (nw.Items(POOL, 0.0, 1.0), 3), (nw.Items(POOL, 0.0, 1.0), 10)],
)
def test_scores_have_the_same_bound_however_often_it_was_looked_at(measure, seed):
    study = nw.create_study(options=["A", "B", "C"], measure=measure, eps=0.1, seed=4)
    chance = np.random.default_rng(seed)
    for _ in range(9):
        for option in study.options:
            some = study.next_items(option, 4) or []
            if not isinstance(measure, nw.Items):
                some += [f"{study.n_events} {k}" for k in range(4 - len(some))]
            study.tell(option=option, items={name: float(chance.random()) for name in some})
            study.certificate()
    loaded = nw.load_study(study._log.storage, study.name)
    assert loaded.certificate().to_json() == study.certificate().to_json()


@pytest.mark.parametrize("seed", [3, 6])
def test_rounds_have_the_same_bound_however_often_it_was_looked_at(seed):
    chance = np.random.default_rng(seed)
    n = int(chance.integers(2, 6))
    study = nw.create_study(options=list("ABCDEF")[:n], measure="rounds", scale="log", eps="1%", goal="min")
    times = 1.0 + 0.05 * chance.random(n)
    for number in range(int(chance.integers(5, 30))):
        for place, option in enumerate(study.options):
            if chance.random() < 0.1 and number > 8:
                continue
            told = study._log.state.items.of(place).count
            study.tell(
                option=option, items={str(told): times[place] * np.exp(0.02 * chance.standard_normal())}
            )
            if chance.random() < 0.7:
                study.certificate()
    loaded = nw.load_study(study._log.storage, study.name)
    assert loaded.certificate().to_json() == study.certificate().to_json()
