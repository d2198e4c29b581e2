"""The sets' answers against brute force: never worse than what is tried, never above their bound."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import noisewise as nw
from noisewise.actions import vertices
from noisewise.actions.search import sign_bound
from noisewise.core.model import covariance, fold, new_model, place, theta

MODELS = 200
#: The bound over contrasts takes longer: it is tried on fewer models here, on all in the benchmark.
CONTRASTS = 25
RNG = np.random.default_rng(7)
MIXED = nw.sets.Product(nw.sets.Ball(2), nw.sets.Box([-1.0], [0.5]))
SETS = {
    "disc": nw.sets.Ball(2, radius=1.5),
    "ball": nw.sets.Ball(3),
    "ellipse": nw.sets.Ellipsoid([[4.0, 1.0], [1.0, 1.0]]),
    "ellipsoid": nw.sets.Ellipsoid(np.diag([1.0, 4.0, 0.25]) + 0.1),
    "box": nw.sets.Box([-1.0, 0.0, 0.2, -3.0], [1.0, 2.0, 0.5, -1.0]),
    "hypercube": nw.sets.Hypercube(6),
    "polytope": nw.sets.Polytope(RNG.standard_normal((15, 3))),
    "simplex": nw.sets.Simplex(5),
    "product of vertices": nw.sets.Product(nw.sets.Simplex(3), nw.sets.Hypercube(3)),
    "product with a ball": MIXED,
}


def widest(actions, model):
    return actions.largest_of(np.zeros(actions.dim), covariance(model), 1.0)


def random_model(dim, rng, ridge=0.5):
    """A model after a random number of measurements, sigmas over several decades."""
    model = new_model(np.zeros((dim, 1)), ridge)
    for _ in range(rng.integers(0, 3 * dim)):
        vector = rng.standard_normal(dim)
        place(model, vector / np.linalg.norm(vector))
        fold(model, 0, rng.standard_normal(), math.exp(rng.uniform(-5.0, 1.0)))
    return model


def tried(actions, rng):
    """Many actions: all vertices, or a fine grid of the surface."""
    if isinstance(actions.shape, vertices.Vertices):
        left, right = actions.shape.left, actions.shape.right
        return np.hstack([np.repeat(left, len(right), axis=0), np.tile(right, (len(left), 1))])
    if actions is MIXED:
        disc = tried(nw.sets.Ball(2), rng)
        ends = np.repeat([[-1.0], [0.5]], len(disc), axis=0)
        return np.hstack([np.vstack([disc, disc]), ends])
    if actions.dim == 2:
        angles = np.linspace(0.0, 2.0 * np.pi, 20_001)
        points = np.column_stack([np.cos(angles), np.sin(angles)])
    else:
        points = rng.standard_normal((20_000, actions.dim))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points @ actions.shape.root.T


def lengths(points, spread):
    return np.sqrt(np.maximum(np.einsum("ij,ij->i", points @ spread, points), 0.0))


@pytest.mark.parametrize("name", SETS)
def test_the_oracles_agree_with_brute_force(name):
    actions, rng = SETS[name], np.random.default_rng(1)
    points = tried(actions, rng)
    # The best point of a fine grid in the plane is near the maximum; elsewhere points are scattered.
    fine = actions.dim == 2 or isinstance(actions.shape, vertices.Vertices)
    for number in range(MODELS if actions.exact else MODELS // 10):
        model = random_model(actions.dim, rng)
        parameter, spread, radius = theta(model), covariance(model), rng.uniform(0.1, 6.0)
        widths = lengths(points, spread)
        pairs = [
            (actions.best(parameter), points @ parameter),
            (widest(actions, model), widths),
            (actions.largest_of(parameter, spread, radius), points @ parameter + radius * widths),
        ]
        if number < CONTRASTS:
            origin = actions.best(parameter).vector
            away = points - origin
            contrast = actions.contrast_of(theta(model), covariance(model), radius, origin)
            pairs.append((contrast, away @ parameter + radius * lengths(away, spread)))
            assert contrast.upper >= 0.0
        for answer, values in pairs:
            most = values.max()
            slack = 1e-9 * (np.abs(values).max() + 1e-12)
            assert actions.contains(answer.vector)
            assert answer.upper >= most - 1e-12 * abs(most)
            assert answer.value >= most - slack or not actions.exact
            if fine:
                assert answer.value <= most + 1e-6 * np.abs(values).max()
        if actions.exact:
            assert all(answer.ratio > 1.0 - 1e-8 for answer, _ in pairs[:3])


def test_ties_are_broken_by_the_set_alone():
    """All directions are equally wide before any measurement; both ends of one always are."""
    model = new_model(np.zeros((3, 1)), 1.0)
    assert widest(nw.sets.Ball(3), model).vector.tolist() == [1.0, 0.0, 0.0]
    assert (widest(nw.sets.Hypercube(3), model).vector < 0.0).all()
    place(model, np.array([1.0, 0.0, 0.0]))
    fold(model, 0, 0.3, 0.1)
    assert_allclose(widest(nw.sets.Ball(3), model).vector, [0.0, 1.0, 0.0], atol=1e-12)
    # A turned copy of the problem: the sign is that of the largest entry.
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
    turned = new_model(np.zeros((3, 1)), 1.0)
    for column in turn.T[:2]:
        place(turned, column)
        fold(turned, 0, 0.3, 0.1)
    found = widest(nw.sets.Ball(3), turned).vector
    assert_allclose(np.abs(found), np.abs(turn[:, 2]), atol=1e-9)
    assert found[np.argmax(np.abs(found))] > 0.0


def test_beyond_enumeration_the_bound_holds_and_the_search_is_good():
    """21 signs: too many for the oracle, few enough to be enumerated here."""
    rng = np.random.default_rng(3)
    low, high = -np.ones(21), np.ones(21)
    everything = vertices.two_tables(low, high)
    box = nw.sets.Box(low, high)
    assert not box.exact
    for _ in range(3):
        root = rng.standard_normal((21, 30))
        spread, direction = root @ root.T, rng.standard_normal(21)
        answer = box.largest_of(direction, spread, 2.0)
        most = vertices.contrast_values(everything, direction, spread, 2.0, np.zeros(21)).max()
        assert answer.value == pytest.approx(most, rel=1e-9)
        assert most <= answer.upper <= 1.25 * most
        assert answer.ratio == pytest.approx(answer.value / answer.upper)
        origin = box.best(direction).vector
        found = np.empty(21)
        bound = box.oracle.contrast(box, direction, spread, 2.0, origin, found)
        truth = vertices.contrast_values(everything, direction, spread, 2.0, origin).max()
        assert bound >= truth * (1.0 - 1e-12)


def test_the_relaxation_bounds_every_choice_of_signs():
    rng = np.random.default_rng(4)
    signs = vertices.corners(-np.ones(8), np.ones(8))
    for _ in range(20):
        form = rng.standard_normal((8, 8))
        form += form.T
        most = np.einsum("ij,ij->i", signs @ form, signs).max()
        assert most <= sign_bound(form)[0] <= 1.6 * most


def test_sets_are_described_and_made_again():
    for actions in SETS.values():
        twin = nw.actions.set_from(actions.describe())
        assert type(twin) is type(actions)
        assert twin.fingerprint() == actions.fingerprint()
        assert twin.max_norm == actions.max_norm
    assert nw.sets.Ball(2).fingerprint() != nw.sets.Ball(2, radius=2.0).fingerprint()


def test_polytopes_from_inequalities():
    square = nw.sets.Polytope.from_inequalities([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1]], [1, 1, 1, 1, 9])
    assert square.vertices.tolist() == [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    assert square.contains([0.3, -0.9])
    assert not square.contains([0.3, -1.1])
    assert nw.sets.Polytope.from_inequalities([[1.0], [-1.0]], [2.0, 1.0]).vertices.tolist() == [
        [-1.0],
        [2.0],
    ]


def test_membership():
    assert nw.sets.Ball(2).contains([0.6, 0.8])
    assert not nw.sets.Ball(2).contains([0.7, 0.8])
    assert nw.sets.Ellipsoid([[4.0, 0.0], [0.0, 1.0]]).contains([2.0, 0.0])
    assert not nw.sets.Hypercube(4).contains([0.5, 0.5, 0.5, 0.4])
    assert nw.sets.Simplex(3).contains([0.2, 0.3, 0.5])
    assert not nw.sets.Simplex(3).contains([0.2, 0.3, 0.4])
    flat = nw.sets.Polytope([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert flat.contains([0.25, 0.25, 0.5])
    assert not flat.contains([0.25, 0.25, 0.6])
    assert MIXED.contains([0.6, 0.8, 0.5])
    assert not MIXED.contains([0.6, 0.8, 0.6])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: nw.sets.Ball(0), "`dim` must be at least 1; got 0"),
        (lambda: nw.sets.Ball(2.5), "`dim` must be a whole number; got 2.5"),
        (lambda: nw.sets.Ball(2, radius=0), "`radius` must be a finite number above 0; got 0"),
        (lambda: nw.sets.Ball(2, radius=math.inf), "`radius` must be a finite number above 0; got inf"),
        (lambda: nw.sets.Ellipsoid([[1, 2], [2, 1]]), "`matrix` must be positive definite.*eigenvalue of -1"),
        (lambda: nw.sets.Ellipsoid([[1, 0], [0, 0]]), "`matrix` must be positive definite.*flat"),
        (lambda: nw.sets.Ellipsoid([[1, 1], [0, 1]]), "`matrix` must be symmetric"),
        (lambda: nw.sets.Ellipsoid([[1, 2, 3]]), "`matrix` must be a square table"),
        (
            lambda: nw.sets.Box([0, 2], [1, 1]),
            "`low` must not exceed `high`.*empty; got 2.0 and 1.0 at position 1",
        ),
        (lambda: nw.sets.Box([0], [math.inf]), "`high` must be finite, or the box is unbounded"),
        (lambda: nw.sets.Box([0, 1], [1]), "`low` and `high` must be equally long; got 2 and 1"),
        (lambda: nw.sets.Box("ab", [1]), "`low` must be a list of numbers"),
        (lambda: nw.sets.Polytope([]), "`vertices` must be a table of numbers with at least one row"),
        (
            lambda: nw.sets.Polytope([[1.0, math.nan]]),
            "`vertices` must be finite numbers; got nan in row 0, column 1",
        ),
        (lambda: nw.sets.Polytope.from_inequalities([[1, 0]], [1]), "polytope that is unbounded in entry"),
        (lambda: nw.sets.Polytope.from_inequalities([[1.0], [-1.0]], [0.0, -1.0]), "got an empty polytope"),
        (lambda: nw.sets.Polytope.from_inequalities([[1, 0]], [1, 2]), "`limits` must be 1 finite numbers"),
        (
            lambda: nw.sets.Polytope.from_inequalities([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, 0, 1, 1]),
            "`limits` must leave an inside: this polytope is flat",
        ),
        (lambda: nw.sets.Product(), "`factors` must be sets such as"),
        (lambda: nw.sets.Product(nw.sets.Ball(2), 3), "`factors` must be sets such as"),
        (lambda: nw.sets.Ball(3).best([1, 2]), "`parameter` must be a vector of 3 finite numbers"),
    ],
)
def test_bad_sets_are_refused_in_one_sentence(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()
