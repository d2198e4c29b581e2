"""Plans: bands that hold, strides that agree with single steps, costs that add up, words."""

import math

import numpy as np
import pytest
from tests.support.effort import effort

import noisewise as nw
from noisewise.core.support.randomness import generator
from noisewise.study.planning import chooser_path, paths, race_path
from noisewise.study.planning.chooser_path import ChooserPath
from noisewise.study.planning.coming_blocks import coming_blocks
from noisewise.study.planning.many_paths import path_of
from noisewise.study.planning.noise_menu import by_share
from noisewise.study.planning.paths import NoiseMenu as Menu
from noisewise.study.planning.paths import ask_ahead
from noisewise.study.planning.worlds import draw_worlds


def told_study(model="independent", n=6, **question):
    rng = np.random.default_rng(1)
    features = rng.normal(size=(n, 2))
    table = {"id": [f"o{k}" for k in range(n)], "a": features[:, 0], "b": features[:, 1]}
    study = nw.create_study(options=table, model=model, **{"eps": 0.4, "span": 5.0, **question})
    for k in range(n):
        study.tell(option=f"o{k}", value=float(features[k] @ [1.0, -0.5] + 0.3 * rng.normal()), se=0.3)
    return study


def question_of(study, menu, eps=0.4, most=10**6, block=None, batch=None):
    analysis = study._now()
    return ask_ahead(analysis, menu, eps, most, coming_blocks(analysis, block, batch))


def one_level(sigma):
    return Menu(np.array([sigma]), np.ones(1), np.ones(1))


def counts_of(study, worlds, sigma=0.6):
    question = question_of(study, one_level(sigma))
    return np.array(
        [path_of(question, world, generator(7, "plan", k)).go().needed for k, world in enumerate(worlds)]
    )


@pytest.mark.long("simulations")
@pytest.mark.parametrize("policy", ["race", "vage"])
@pytest.mark.parametrize("model", ["independent", "linear"])
def test_strides_take_as_many_measurements_as_single_steps(model, policy, monkeypatch):
    """The naive twin: one measurement, one look, one question at a time."""
    study, count = told_study(model, policy=policy), effort(8, 16)
    worlds = draw_worlds(study._now(), count, np.random.default_rng(3), 5.0)
    strides = counts_of(study, worlds)
    monkeypatch.setattr(paths, "STRIDE", 0.0)
    monkeypatch.setattr(paths, "NEAR_STRIDE", 0.0)
    monkeypatch.setattr(chooser_path, "STRIDE", 0.0)
    monkeypatch.setattr(chooser_path, "LOOKED", (0.0, 0.0))
    monkeypatch.setattr(race_path, "LOOKED", 0.0)
    steps = counts_of(study, worlds)
    assert (steps > 20).sum() >= count // 4
    # Two runs in one world differ by at most 0.4 (standard deviation of logs): means of 8 by 0.14.
    assert abs(np.mean(np.log(strides + 1.0) - np.log(steps + 1.0))) < 0.5


class Falling(ChooserPath):
    """A path whose bound is 8/√count, and whose measurements cost 2."""

    def _first_looks(self):
        pass

    def _go_on(self):
        self._count, self._cost, self._precision = self._count + 1, self._cost + 2.0, self._precision + 1.0

    def _look_and_choose(self):
        self._looks += 1
        self._bound = 8.0 / math.sqrt(self._count) if self._count else math.inf


@pytest.mark.parametrize("eps", [1.0, 0.5, 0.3, 0.11])
def test_where_the_bound_was_small_enough_between_two_looks(eps):
    question = question_of(told_study(policy="vage"), one_level(0.6), eps)
    outcome = Falling(question, np.zeros(6), generator(0, "plan", 1)).go()
    exact = (8.0 / eps) ** 2
    assert outcome.needed == pytest.approx(exact, abs=1.0 + 0.001 * exact)
    assert outcome.cost == pytest.approx(2.0 * outcome.needed)
    assert outcome.looks < 0.7 * exact


def test_a_stride_ends_with_what_came_and_quiet_levels_are_no_rarer():
    study = told_study()
    menu = Menu(np.array([0.6, 0.06]), np.array([0.9, 0.1]), np.ones(2))
    path = path_of(question_of(study, menu), np.zeros(6), generator(0, "plan", 1))
    noisy, quiet = menu.sigma**-2.0
    strides = [path._levels(None, 50, 6.5 * noisy) for _ in range(4000)]
    for levels in strides:
        # Six noisy ones, or as many as came before the first quiet one.
        assert levels.size <= 6
        assert not levels[:-1].any()
        assert levels.size == 6 or levels[-1] == 1
    drawn = np.concatenate(strides)
    # Of so many, beyond five standard deviations with probability below 1e-6.
    assert abs(drawn.mean() - 0.1) < 5.0 * math.sqrt(0.1 * 0.9 / drawn.size)
    assert all(path._levels(None, 3, 1e9).size == 3 for _ in range(5))
    assert all(path._levels(None, 0, 0.0).size == 1 for _ in range(5))
    assert quiet > 50 * noisy


@pytest.mark.long("simulations")
def test_the_forward_simulation_takes_as_long_as_studies_do():
    taken, foreseen = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        study = nw.create_study(options=["A", "B", "C", "D"], eps=0.5, span=4.0)
        world = np.array([0.0, -0.7, -1.0, -1.6])
        question = question_of(study, one_level(0.7), 0.5)
        foreseen += [path_of(question, world, generator(seed, "plan", k)).go().needed for k in range(2)]
        while not study.certificate().reached:
            (job,) = study.ask()
            study.tell(job, world[study.options.index(job.option)] + 0.7 * rng.standard_normal(), se=0.7)
        taken.append(study.n_measurements)
    # Logs of counts have a standard deviation of about 0.4: the difference of these means, of 0.17.
    assert abs(np.log(foreseen).mean() - np.log(taken).mean()) < 0.6


def test_a_quiet_level_helps_and_the_plan_says_how_much():
    plan = told_study().plan(noise=[(0.6, 0.9), (0.06, 0.1)], paths=5)
    assert plan.low <= plan.median <= plan.high
    assert plan.without_quiet.median > plan.median
    assert plan.without_quiet.name == "without sigma = 0.06"
    assert [level.sigma for level in plan.without_quiet.levels] == [0.6]
    assert plan.sentence.startswith("Until the bound is at most 0.4: about ")
    assert "Without sigma = 0.06: about" in str(plan)
    assert "Until the bound" in plan._repr_html_()


def test_the_same_study_gives_the_same_plan_and_nothing_is_written():
    study = told_study()
    before = len(study.events())
    one, other = (study.plan(noise=0.5, paths=3) for _ in range(2))
    assert one.to_plain() == other.to_plain()
    assert len(study.events()) == before
    assert study.plan(noise=0.5, paths=3, seed=1).to_plain() != one.to_plain()


@pytest.mark.long("simulations")
def test_before_the_first_measurement():
    study = nw.create_study(options=["A", "B", "C", "D"], eps=0.3, span=3.0)
    plan = study.plan(noise=0.4, paths=16)
    assert 4 <= plan.low <= plan.high < math.inf  # without features every option needs a look
    with pytest.raises(ValueError, match="`noise` must say how noisy"):
        study.plan()
    silent = nw.create_study(options=["A", "B"], eps=0.3)
    with pytest.raises(ValueError, match=r"`span` .* must be given to look ahead"):
        silent.plan(noise=0.4)
    assert silent.plan(noise=0.4, span=2.0, paths=8).median >= 2


def test_what_is_certified_already_takes_nothing():
    study = told_study()
    for option, estimate in study.frame("options").select("option", "estimate").rows():
        study.tell(option=option, value=estimate, se=1e-3)
    plan = study.plan(noise=0.5, eps=4.0, paths=4)
    assert plan.high == 0.0
    assert plan.sentence == "Until the bound is at most 4: nothing, it is there already."


def test_a_future_that_takes_too_long_is_infinite():
    plan = told_study().plan(noise=20.0, most=50, paths=4)
    assert plan.median == math.inf
    assert "more measurements than were simulated" in str(plan)
    assert plan.to_plain()["forecasts"][0]["median"] is None


def test_the_cheapest_of_a_menu():
    study = told_study()
    # A tenth of the noise for a cost of 2 is nearly free; for a cost of 1000 it is never worth it.
    cheap = study.plan(menu=[(0.6, 1.0), (0.06, 2.0)], paths=3)
    dear = study.plan(menu={0.6: 1.0, 0.06: 1000.0}, paths=3)
    assert cheap.by_cost
    assert "0.06 alone" in cheap.forecasts[0].name or cheap.forecasts[0].levels[-1].share > 0.5
    assert dear.forecasts[-1].name == "sigma = 0.06 alone"
    assert dear.forecasts[0].cost <= dear.forecasts[1].cost <= dear.forecasts[2].cost
    assert "cheapest is" in dear.sentence
    assert dear.without_quiet is None


@pytest.mark.long("simulations")
def test_costs_of_options_count():
    names = ["A", "B", "C", "D"]
    plans = []
    for price in (1.0, 5.0):
        study = nw.create_study(options={"id": names, "cost": [price] * 4}, eps=0.4, span=3.0)
        plans.append(study.plan(menu=[(0.5, 2.0)], paths=8))
    assert plans[1].forecasts[0].cost == pytest.approx(5.0 * plans[0].forecasts[0].cost)
    assert plans[0].forecasts[0].cost == 2.0 * plans[0].median


def test_the_noise_so_far_is_the_default():
    study = told_study()
    (forecast,) = study.plan(paths=4).forecasts
    assert [(level.sigma, level.share) for level in forecast.levels] == [(0.3, 1.0)]


def loud_and_quiet(rng, truth):
    """Four rounds of ten options, of which every other one is loud."""
    study = nw.create_study(options=[f"o{k}" for k in range(10)], eps=0.5)
    sigma = np.where(np.arange(10) % 2, 1.0, 0.25)
    for k in [*range(10)] * 2:
        study.tell(option=f"o{k}", value=float(truth[k] + sigma[k] * rng.normal()), se=sigma[k])
    return study, sigma


@pytest.mark.long("simulations")
def test_noise_that_goes_with_options_is_expected_of_them():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=10)
    study, sigma = loud_and_quiet(rng, truth)
    plan = study.plan(paths=19)
    assert "noise as it was so far, option by option (sigma 0.25 to 1)" in str(plan)
    # As if every measurement were quiet half of the time, which no loud option ever is.
    assert plan.median > 2 * study.plan(noise=[0.25, 1.0], compare=False, paths=19).median
    ((_, menu),) = by_share(study._now(), None, True)
    assert np.allclose(menu.sigma.mean() * menu.times, sigma, rtol=0.05)
    path = path_of(question_of(study, menu, 0.5), truth, generator(0, "plan", 1))
    path.go()
    assert np.allclose(path._sigma, np.sqrt(1.0 / np.array(path._often)) * sigma[path._plus], rtol=0.05)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"noise": 0.0}, "`sigma` must be"),
        ({"noise": []}, "`noise` must have at least one level"),
        ({"noise": [(0.3, -1.0)]}, "`share` must be"),
        ({"noise": [0.3, 0.3]}, "every noise level must be named once"),
        ({"menu": [(0.3,)]}, r"`menu` must be pairs \(sigma, cost\)"),
        ({"menu": [(0.3, 0.0)]}, "`cost` must be"),
        ({"noise": 0.3, "menu": [(0.3, 1.0)]}, "say either noise="),
        ({"noise": 0.3, "paths": 1}, "`paths` must be"),
        ({"noise": 0.3, "eps": -1.0}, "`eps` must be"),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        told_study().plan(**arguments)


def test_without_eps_it_must_be_given():
    study = nw.create_study(options=["A", "B"], span=2.0)
    with pytest.raises(ValueError, match="`eps` must be given"):
        study.plan(noise=0.3)
    assert study.plan(noise=0.3, eps=0.5, paths=4).median >= 2


def test_worlds_agree_with_what_was_measured():
    study = told_study()
    worlds = draw_worlds(study._now(), 400, np.random.default_rng(0), 5.0)
    frame = study.frame("options")
    means, errors = frame["estimate"].to_numpy(), frame["se"].to_numpy()
    centred = worlds - worlds.mean(axis=1, keepdims=True)
    # Drawn values scatter around the (shrunk) estimates, with the estimates' errors.
    assert np.abs(centred.mean(axis=0) - (means - means.mean())).max() < 0.3
    assert (worlds.std(axis=0) <= 1.1 * errors).all()


@pytest.mark.parametrize("policy", ["widest", "uniform"])
def test_other_policies_are_followed(policy):
    study = nw.create_study(options=["A", "B", "C"], eps=0.5, span=3.0, policy=policy)
    assert study.plan(noise=0.5, paths=3).median >= 3


def wide_study(model, **question):
    features = np.random.default_rng(3).normal(size=(40, 3))
    table = {"id": [f"A{k:02d}" for k in range(40)], **{name: features[:, j] for j, name in enumerate("abc")}}
    return nw.create_study(options=table, id="id", model=model, **{"eps": 0.3, "span": 8.0, **question})


def test_with_deviations_worlds_are_as_wide_as_the_span_says():
    def ranges(study, span):
        return np.ptp(draw_worlds(study._now(), 400, np.random.default_rng(0), span), axis=1)

    linear = ranges(wide_study("linear"), 8.0)
    nearly = ranges(wide_study("linear+deviation", deviation=1e-3), 8.0)
    # Medians of 400 ranges spread over a decade scatter by some 5 %.
    assert np.median(nearly) == pytest.approx(np.median(linear), rel=0.1)
    assert np.median(ranges(wide_study("linear+deviation", deviation=1e-3), 4.0)) < 0.7 * np.median(nearly)
    # 40 normal numbers range over 4.3 standard deviations; worlds beyond the span are drawn again.
    assert np.median(ranges(wide_study("linear+deviation", deviation=1.2), 8.0)) > 5.0
    assert max(linear.max(), nearly.max()) <= 8.0


@pytest.mark.parametrize("block", [None, "Monday"])
@pytest.mark.parametrize("model", ["linear", "linear+deviation"])
def test_worlds_scatter_around_the_estimates_as_the_fit_does(model, block):
    question = {"deviation": 0.4} if model != "linear" else {}
    study, rng = wide_study(model, **question), np.random.default_rng(5)
    features = study._now().state.features
    for k in range(30):
        value = float(7.0 + features[k] @ [0.9, -0.4, 0.3] + 0.5 * rng.normal())
        study.tell(option=f"A{k:02d}", value=value, se=0.3, block=block)
    fit = study._now().estimates
    worlds = draw_worlds(study._now(), 4000, np.random.default_rng(1), 8.0)
    apart = worlds - worlds[:, [0]]
    # The spread that the weights have draws them a little closer together than the ridge of the span does.
    assert np.abs(apart.mean(axis=0) - (fit.means - fit.means[0])).max() < 0.15
    k = fit.loads.shape[1]
    contrast = fit.loads - fit.loads[0]
    variances = fit.own + fit.own[0] + np.einsum("ij,jk,ik->i", contrast, fit.covariance[:k, :k], contrast)
    assert np.allclose(apart.std(axis=0)[1:], np.sqrt(variances)[1:], rtol=0.12)


def test_without_any_option_there_is_nothing_to_plan(tmp_path):
    study = told_study()
    for option in study.options:
        study.exclude(option, "sold out")
    with pytest.raises(ValueError, match="every option of this study is excluded"):
        study.plan(noise=0.1)
    page = study.report(tmp_path / "report.html", plan=True).read_text()
    assert "There is no plan: every option of this study is excluded" in page
