"""Policies on catalogues measure, rule out and recommend what they do on a list of the same rows."""

import numpy as np
import pytest
from tests.support.effort import effort

import noisewise as nw
from noisewise.policies.shell.catalogues import long_list_policy, working_set
from noisewise.policies.shell.catalogues.long_list_policy import LongListPolicy
from noisewise.policies.shell.policy import Policy

N, DIM = 1500, 5


@pytest.fixture(autouse=True)
def few_rows_at_hand(monkeypatch):
    """So few that most rounds come near the cut."""
    monkeypatch.setattr(working_set, "FEWEST", 20)


def vectors_of(kind, rng):
    gauss = rng.standard_normal((N, DIM))
    units = gauss / np.linalg.norm(gauss, axis=1, keepdims=True)
    return {
        "spread": gauss,
        "unit vectors, which all tie at first": units,
        "copies": np.tile(gauss[:150], (10, 1)),
        "copies of unit vectors": np.repeat(units[:150], 10, axis=0),
        "float32 with lengths over four decades": (gauss * 10.0 ** rng.uniform(-3, 1, (N, 1))).astype("f4"),
        "signs": rng.choice([-1.0, 1.0], (N, 8)),
        "three dimensions of five": gauss[:, :3] @ rng.standard_normal((3, DIM)),
        "seven different rows": np.eye(7)[rng.integers(0, 7, N)],
        "zeros among them": np.vstack([np.zeros((4, DIM)), gauss]),
    }[kind]


KINDS = [
    "spread",
    "unit vectors, which all tie at first",
    "copies",
    "copies of unit vectors",
    "float32 with lengths over four decades",
    "signs",
    "three dimensions of five",
    "seven different rows",
    "zeros among them",
]
RULES = [
    ("vaee", {}),
    ("widest", {}),
    ("vaee", {"explore": "candidates"}),
    ("vaee", {"explore": "candidates", "recommendation": "last", "radius": 1.5}),
    ("vaee", {"radius": 0.3, "recommendation": "most-played"}),
    ("vaee", {"radius": "averaged", "recommendation": "uniform-played", "seed": 3}),
    ("vagd", {}),
    ("static_design", {}),
    ("vage", {}),
    ("vage", {"radius": 0.5}),
]


def play(rule, options, vectors, rng, rounds=40, lowest=-1.5):
    """Two policies, on the catalogue and on the list, told the same; compared on the way."""
    catalogue = nw.make_policy(rule, nw.Catalogue.from_array(vectors), **options)
    listed = nw.make_policy(rule, nw.ActionSet(vectors.astype(float)), **options)
    assert type(listed) is Policy
    theta = rng.standard_normal(vectors.shape[1]) / 3.0
    for t in range(rounds):
        announced = 10.0 ** rng.uniform(-1.0, 0.5) if t % 3 == 0 else None
        action = catalogue.ask(announced)
        assert action == listed.ask(announced), t
        if t % 11 == 3:
            elsewhere = [int(row) for row in rng.integers(0, len(vectors), 4)]
            assert catalogue.ask(pending=elsewhere) == listed.ask(pending=elsewhere)
            assert catalogue.ask(allowed=elsewhere) == listed.ask(allowed=elsewhere)
        if t % 13 == 5 and rule == "vaee":
            action = int(rng.integers(len(vectors)))  # not what was asked for
        sigma = 10.0 ** rng.uniform(lowest, 0.5)
        surprise = 6.0 if t == 25 else 0.0  # the model is wrong: who was ruled out may look good again
        value = float(vectors[action] @ theta) + sigma * rng.standard_normal() + surprise
        catalogue.tell(action, value, sigma)
        listed.tell(action, value, sigma)
    return catalogue, listed


def check_alike(catalogue, listed):
    here, there = catalogue.estimate(), listed.estimate()
    assert here.recommended == there.recommended
    assert here.radius == there.radius
    assert here.certificate == there.certificate
    # On lists the width of a difference of copies is rounding; here it is 0.
    rounding = 2e-6 * there.radius * there.widths[there.recommended]
    assert here.regret_bound == pytest.approx(there.regret_bound, rel=1e-8, abs=rounding + 1e-12)
    assert catalogue.survivors().tolist() == np.flatnonzero(there.candidates).tolist()
    for row in (0, 7, here.recommended):
        assert catalogue.is_candidate(row) == listed.is_candidate(row)


CELLS = [(kind, *rule) for kind in KINDS for rule in RULES]


#: A third of the product has every kind of vectors with three rules or more, and every rule with three kinds.
@pytest.mark.parametrize(("kind", "rule", "options"), CELLS[:: effort(3, 1)], ids=str)
def test_the_same_actions_survivors_and_advice_as_on_a_list(kind, rule, options):
    rng = np.random.default_rng([KINDS.index(kind), len(rule)])
    check_alike(*play(rule, options, vectors_of(kind, rng), rng))


def test_most_rounds_ask_nobody(monkeypatch):
    monkeypatch.setattr(working_set, "FEWEST", 200)
    rng = np.random.default_rng(2)
    catalogue, _ = play("vaee", {}, vectors_of("spread", rng), rng, rounds=1)
    passes = catalogue.actions.passes
    for _ in range(100):
        catalogue.tell(catalogue.ask(), 0.0, 1.0)
    assert catalogue.actions.passes - passes <= 20


@pytest.mark.parametrize("rule", ["vaee", "vage"])
def test_copies_go_their_own_ways(rule):
    rng = np.random.default_rng(4)
    catalogue, listed = play(rule, {}, vectors_of("spread", rng), rng, rounds=20)
    twins = catalogue.copy(), listed.copy()
    for t in range(15):
        action = twins[0].ask()
        assert action == twins[1].ask()
        for twin in twins:
            twin.tell(action, 0.3, 0.05)
        action = catalogue.ask()
        assert action == listed.ask(), t
        for policy in (catalogue, listed):
            policy.tell(action, -0.2, 0.3)
    check_alike(*twins)
    check_alike(catalogue, listed)


def test_a_saved_policy_goes_on_on_the_same_rows(tmp_path):
    rng = np.random.default_rng(5)
    vectors = vectors_of("spread", rng)
    catalogue, listed = play("vaee", {}, vectors, rng, rounds=20)
    catalogue.save(tmp_path / "policy.npz")
    loaded = nw.load_policy(tmp_path / "policy.npz", nw.Catalogue.from_array(vectors))
    check_alike(loaded, listed)
    assert loaded.ask() == listed.ask()
    with pytest.raises(ValueError, match="`actions` must be given"):
        nw.load_policy(tmp_path / "policy.npz")
    with pytest.raises(ValueError, match="must be the set this policy was saved with"):
        nw.load_policy(tmp_path / "policy.npz", nw.Catalogue.from_array(vectors[::-1]))


def test_what_must_look_at_all_rows_is_refused():
    catalogue = nw.Catalogue.from_array(np.eye(3))
    with pytest.raises(ValueError, match="'oful' must look at all actions in every round"):
        nw.rules.oful(catalogue)
    with pytest.raises(ValueError, match="radius='restarted'"):
        nw.vaee(catalogue, radius="restarted")
    with pytest.raises(ValueError, match="'smallest-bound' on a catalogue"):
        nw.vaee(catalogue, recommendation="smallest-bound")
    with pytest.raises(ValueError, match="row number from 0 to 2"):
        nw.vaee(catalogue).tell(3, 1.0, 1.0)
    other = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [5.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match="`design` must be made for these actions"):
        nw.vagd(nw.Catalogue.from_array(other), design=nw.optimal_design(np.eye(4)[:, :3]))


@pytest.mark.parametrize("rule", ["vaee", "widest", "vagd"])
def test_a_long_list_is_played_with_a_working_set(rule, monkeypatch, tmp_path):
    rng = np.random.default_rng(7)
    vectors = vectors_of("spread", rng)
    labels = [f"row {k}" for k in range(N)]
    plain = nw.make_policy(rule, nw.ActionSet(vectors, labels))
    monkeypatch.setattr(long_list_policy, "MANY", 100)
    monkeypatch.setattr(long_list_policy, "MUCH", 100)
    long = nw.make_policy(rule, nw.ActionSet(vectors, labels))
    assert isinstance(long, LongListPolicy)
    assert isinstance(long, nw.Policy)
    for t in range(30):
        action = long.ask(pending=["row 3"])
        assert action == plain.ask(pending=["row 3"]), t
        value = float(rng.standard_normal())
        for policy in (long, plain):
            policy.tell(f"row {action}", value, 0.2)
    here, there = long.estimate(), plain.estimate()
    assert np.allclose(here.means, there.means)
    assert np.allclose(here.widths, there.widths)
    assert np.array_equal(here.candidates, there.candidates)
    assert (here.recommended, here.label) == (there.recommended, there.label)
    assert long.copy().ask() == plain.ask()
    assert long.fresh().n_told == 0
    long.save(tmp_path / "long.npz")
    plain.save(tmp_path / "plain.npz")
    assert isinstance(nw.load_policy(tmp_path / "long.npz"), LongListPolicy)
    # One that was saved before there were working sets is read as it is.
    assert type(nw.load_policy(tmp_path / "plain.npz")) is Policy
    assert nw.load_policy(tmp_path / "long.npz").ask() == nw.load_policy(tmp_path / "plain.npz").ask()


def test_a_long_list_is_looked_at_whole_where_a_working_set_does_not_serve(monkeypatch):
    monkeypatch.setattr(long_list_policy, "MANY", 10)
    monkeypatch.setattr(long_list_policy, "MUCH", 10)
    vectors = vectors_of("spread", np.random.default_rng(8))
    for policy in (
        nw.vaee(vectors, explore="candidates"),
        nw.vaee(vectors, radius="restarted"),
        nw.vaee(vectors, recommendation="smallest-bound"),
        nw.rules.oful(vectors),
    ):
        assert type(policy) is Policy
