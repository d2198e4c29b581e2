"""Policies on catalogues measure, rule out and recommend what they do on a list of the same rows."""

import numpy as np
import pytest

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
        "copies of unit vectors": np.repeat(units[:150], 10, axis=0),
        "float32 with lengths over four decades": (gauss * 10.0 ** rng.uniform(-3, 1, (N, 1))).astype("f4"),
    }[kind]


KINDS = ["spread", "copies of unit vectors", "float32 with lengths over four decades"]
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


CELLS = [(KINDS[k % 3], *rule) for k, rule in enumerate(RULES)]


@pytest.mark.parametrize(("kind", "rule", "options"), CELLS, ids=str)
def test_the_same_actions_survivors_and_advice_as_on_a_list(kind, rule, options):
    rng = np.random.default_rng([KINDS.index(kind), len(rule)])
    check_alike(*play(rule, options, vectors_of(kind, rng), rng))


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


@pytest.mark.parametrize("rule", ["vaee", "vagd"])
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
    long.save(tmp_path / "long.npz")
    assert isinstance(nw.load_policy(tmp_path / "long.npz"), LongListPolicy)
