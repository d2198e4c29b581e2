"""The smooth model: its solution is the textbook's, and all that a study does works with it."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad, minimize
from tests.support.effort import effort

import noisewise as nw
from noisewise.study.log import model_choice
from noisewise.study.models import smooth
from noisewise.study.models.analysis import Analysis

#: Candidates on a plane, and a hill with a trend.
RNG = np.random.default_rng(5)
PLACES = RNG.uniform(size=(40, 2))
NAMES = [f"o{k:02d}" for k in range(40)]
HILL = 5.0 * np.exp(-6.0 * ((PLACES - (0.3, 0.6)) ** 2).sum(axis=1)) + PLACES[:, 0]
SE = 0.2


def a_study(order=range(40), **settings) -> nw.Study:
    table = {"id": [NAMES[k] for k in order], "x": PLACES[list(order), 0], "y": PLACES[list(order), 1]}
    settings = {"model": "smooth:2", "eps": 0.5, "seed": 1} | settings
    return nw.create_study(options=table, **settings)


def tell(study: nw.Study, count: int, seed: int = 3, **more) -> None:
    rng = np.random.default_rng(seed)
    options = rng.permutation(40)[np.arange(count) % 30]
    values = HILL[options] + rng.normal(0.0, SE, count)
    rows = {"option": [NAMES[k] for k in options], "value": values, "se": np.full(count, SE)}
    study.tell_many(rows | {name: make(rng, count) for name, make in more.items()})


def analysed(study: nw.Study) -> Analysis:
    return Analysis(study._log.state)


def kriged(analysis: Analysis, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Universal kriging as books write it: estimates without their level, and the covariance of options."""
    model, sums = analysis.model, analysis.sums
    points = model.points / model.kernel.lengths
    k = tau**2 * smooth.alike(points, points)
    at = np.eye(40)[sums.plus]
    trend = np.column_stack([model.features, np.zeros((40, np.unique(sums.block).size))])
    x = np.column_stack(
        [model.features[sums.plus], np.eye(len(sums.blocks))[sums.block][:, np.unique(sums.block)]]
    )
    inverse = np.linalg.inv(at @ k @ at.T + np.diag(1.0 / sums.weight))
    information = np.linalg.inv(x.T @ inverse @ x)
    weights = information @ x.T @ inverse @ sums.value
    means = trend @ weights + k @ at.T @ inverse @ (sums.value - x @ weights)
    slack = trend - k @ at.T @ inverse @ x
    return means, k - k @ at.T @ inverse @ at @ k + slack @ information @ slack.T


def apart(covariance: np.ndarray, option: int) -> np.ndarray:
    variance = np.diagonal(covariance)
    return variance + variance[option] - 2.0 * covariance[option]


@pytest.mark.parametrize("most", [400, 25])
@pytest.mark.parametrize("blocks", [False, True])
def test_estimates_and_errors_are_those_of_universal_kriging(most, blocks, monkeypatch):
    """With few shared weights, what is left to each option is a part of its own: it may only widen."""
    monkeypatch.setattr(smooth, "MOST_WEIGHTS", most)
    study = a_study()
    tell(
        study, 50, **({"block": lambda rng, n: [f"day {k}" for k in rng.integers(0, 4, n)]} if blocks else {})
    )
    analysis = analysed(study)
    assert (analysis.model.kernel.left is None) == (most == 400)
    means, covariance = kriged(analysis, 2.0)
    found = analysis.estimates
    close = {"atol": 0.02 * SE} if most == 400 else {"atol": 0.5 * SE}
    assert_allclose(found.differences(7), means - means[7], **close)
    assert_allclose(np.sqrt(found.variances_apart(7)), np.sqrt(apart(covariance, 7)), **close)


def test_the_likelihood_is_that_of_the_contrasts():
    study = a_study()
    tell(study, 45)
    analysis = analysed(study)
    sums, model = analysis.sums, analysis.model
    points = model.points[sums.plus] / model.kernel.lengths
    x = np.column_stack([model.features[sums.plus], np.ones(sums.plus.size)])

    def minus_log(tau: float, extra: float) -> float:
        pooled = analysis.likelihood().sums(extra)
        s = tau**2 * smooth.alike(points, points) + np.diag(1.0 / pooled.weight)
        inverse = np.linalg.inv(s)
        information = x.T @ inverse @ x
        left = pooled.value - x @ np.linalg.solve(information, x.T @ inverse @ pooled.value)
        logs = [np.linalg.slogdet(part)[1] for part in (s, information)]
        within = np.log(SE**2 + extra**2) * 45 + pooled.within - np.log(1.0 / pooled.weight).sum()
        return float(sum(logs) + left @ inverse @ left + within)

    likelihood = analysis.likelihood()
    for tau, extra in ((0.5, 0.0), (2.0, 0.0), (2.0, 0.1)):
        found = likelihood(tau, extra) - likelihood(0.0, 0.0)
        assert_allclose(found, minus_log(tau, extra) - minus_log(0.0, 0.0), rtol=1e-8)


def test_a_feature_without_influence_has_a_long_length(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "scipy.optimize.minimize",
        lambda f, start, **how: seen.append((f, start)) or minimize(f, start, **how),
    )
    study = nw.create_study(
        options={"id": NAMES, "x": PLACES[:, 0], "y": PLACES[:, 1]}, model="smooth", eps=0.5
    )
    rng = np.random.default_rng(8)
    for k in range(40):
        study.tell(option=NAMES[k], value=float(np.sin(9.0 * PLACES[k, 0]) + rng.normal(0.0, 0.05)), se=0.05)
    lengths = analysed(study).model.kernel.lengths
    assert lengths[0] < 1.5 < 3.0 * lengths[0] < lengths[1]
    f, start = seen[-1]
    assert check_grad(lambda at: f(at)[0], lambda at: f(at)[1], start) < 1e-4 * np.linalg.norm(f(start)[1])


def test_neither_the_order_of_options_nor_that_of_recording_decides_anything():
    there, back = a_study(model="smooth"), a_study(order=range(39, -1, -1), model="smooth")
    tell(there, 45)
    tell(back, 45)
    assert there.certificate().option == back.certificate().option
    assert_allclose(there.certificate().bound, back.certificate().bound, rtol=1e-6)
    assert there.ask(3)[0].option == back.ask(3)[0].option


@pytest.mark.parametrize("model", ["smooth", "smooth:2"])
def test_a_study_asks_plans_checks_and_says_that_it_is_approximate(model):
    study = a_study(model=model, eps=0.8)
    rng = np.random.default_rng(11)
    while not study.certificate().reached and study.n_measurements < 120:
        for job in study.ask(4):
            study.tell(job, value=float(HILL[NAMES.index(job.option)] + rng.normal(0.0, SE)), se=SE)
    found = study.certificate()
    assert found.reached
    assert study.n_measurements < 80
    assert HILL.max() - HILL[NAMES.index(found.option)] <= 0.8
    assert "Approximate: the lengths of the kernel were estimated from the same measurements." in str(found)
    assert ("size of the deviations was estimated" in str(found)) == (model == "smooth")
    assert "smooth deviation" in str(found)
    assert study.check().ok
    assert study.plan(paths=effort(2, 20)).median == 0
    assert study.worth(looks=8).information > 0.0


def test_plans_count_on_what_options_share():
    study = a_study(eps=0.4)
    tell(study, 30)
    assert 0 < study.plan(paths=effort(4, 40)).median < 200


def test_an_option_unlike_its_neighbours_is_named():
    study = a_study()
    tell(study, 60)
    study.tell(option=NAMES[31], value=float(HILL[31] + 6.0), se=SE)
    assert f"{NAMES[31]} lies" in str(study.check())
    assert "options with like features" in str(study.check())


def test_one_look_and_switching_take_it():
    study = a_study(model="linear")
    tell(study, 60)
    before = study.certificate().bound
    study.switch("smooth", reason="it bends")
    assert study.model == "smooth"
    assert before != study.certificate().bound < np.inf
    study.switch(final=True)
    assert study.certificate().bound < np.inf


def test_too_many_options_are_refused(monkeypatch):
    fewer = dataclasses.replace(smooth.Smooth.facts, most_options=39)
    monkeypatch.setitem(model_choice.known_models(), "smooth", fewer)
    with pytest.raises(ValueError, match='`options` must be at most 39 with `model="smooth"`; got 40'):
        a_study()
    study = a_study(model="linear")
    with pytest.raises(ValueError, match="at most 39"):
        study.switch("smooth")
