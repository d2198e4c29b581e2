"""Plans: bands that hold, strides that agree with single steps, costs that add up, words."""

import math

import numpy as np
import pytest

import noisewise as nw
from noisewise.study.planning.future import reached_at
from noisewise.study.planning.noise import by_share
from noisewise.study.planning.plan import draw_worlds


def told_study(model="independent", n=6, **question):
    rng = np.random.default_rng(1)
    features = rng.normal(size=(n, 2))
    table = {"id": [f"o{k}" for k in range(n)], "a": features[:, 0], "b": features[:, 1]}
    study = nw.create_study(options=table, model=model, **{"eps": 0.4, **question})
    for k in range(n):
        study.tell(option=f"o{k}", value=float(features[k] @ [1.0, -0.5] + 0.3 * rng.normal()), se=0.3)
    return study


def taken(study, draw, eps, batch=1):
    """How many measurements the study takes when it goes on, one suggestion after the other."""
    before = study.n_measurements
    while study.certificate().bound > eps:
        for job in study.ask(batch):
            draw(study, job)
    return study.n_measurements - before


@pytest.mark.long("simulations")
@pytest.mark.parametrize("policy", ["race", "vage"])
@pytest.mark.parametrize("model", ["independent", "linear"])
def test_plans_come_true(model, policy):
    """The study driven step by step in the worlds of its plan."""
    study = told_study(model, policy=policy)
    plan = study.plan(noise=0.6, paths=99, on=1)
    worlds, rng, counts = draw_worlds(study.analysis(), 16, 3, 5.0), np.random.default_rng(3), []
    for world in worlds:
        mean = dict(zip(study.options, world + study.analysis().sums.centre, strict=True))
        counts.append(
            taken(
                told_study(model, policy=policy),
                lambda s, job, mean=mean: s.tell(job, mean[job.option] + 0.6 * rng.standard_normal(), se=0.6),
                0.4,
            )
        )
    # Logs of counts scatter by about 1: the median of 16 by 0.3.
    assert abs(np.median(np.log1p(counts)) - math.log1p(plan.median)) < 1.2
    # A band of 80 % holds fewer than 8 of 16 with probability below 0.002.
    assert sum(plan.low <= count <= plan.high for count in counts) >= 8


def told_items(names=("p0", "p1", "p2", "p3"), count=80, pool=None, gap=0.03):
    """Options that were asked the same items; hard ones are hard for all."""
    study, rng = (
        nw.create_study(options=list(names), eps=0.05, measure=nw.Items(pool)),
        np.random.default_rng(1),
    )
    answered = study.next_items(names[0], count) if pool else [f"q{k}" for k in range(count)]
    hard = rng.random(count)
    for k, name in enumerate(names):
        right = hard < 0.4 + gap * k + 0.4 * rng.random(count)
        study.tell(option=name, items=dict(zip(answered, right.astype(int).tolist(), strict=True)))
    return study


def test_items_are_planned_in_answers():
    study = told_items()
    plan = study.plan(paths=5, on=1)
    assert 0 < plan.low <= plan.median <= plan.high < math.inf
    (forecast,) = plan.forecasts
    assert forecast.counted == "answer"
    assert 0 < forecast.of_one <= forecast.median
    assert "more answers (80 %: " in plan.sentence
    assert plan.sentence.endswith("for each option.")
    assert "Assumed: coming items are like those so far" in str(plan)
    assert plan.to_plain() == study.plan(paths=5, on=1).to_plain()
    assert study.n_measurements == 4
    for name, given in {"noise": 0.3, "block": 3}.items():
        with pytest.raises(ValueError, match=f"`{name}` must be left out"):
            study.plan(**{name: given})
    with pytest.raises(ValueError, match="measure at least 2 items of every option first"):
        nw.create_study(options=["a", "b"], eps=0.1, measure=nw.Items(50)).plan()


def test_a_pool_of_items_ends():
    plan = told_items(pool=100).plan(eps=0.001, paths=3, on=1)
    assert plan.high <= 4 * 20


@pytest.mark.long("simulations")
def test_plans_of_items_come_true():
    """Half of the questions are told; the plan says how many of the others it takes."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(12):
        hard, skill = rng.random(4000), 0.35 + 0.1 * rng.random(4)

        def answer(study, job, hard=hard, skill=skill, rng=rng):
            at = [study._log.state.items.place.get(name, 0) for name in job.items]
            fresh = [f"q{job.fresh_from + k}" for k in range(job.fresh)]
            at += range(job.fresh_from - 1, job.fresh_from - 1 + job.fresh) if job.fresh else []
            own = skill[study.options.index(job.option)] + 0.4 * rng.random(len(at))
            right = (hard[at] < own).astype(int).tolist()
            study.tell(job, items=dict(zip([*job.items, *fresh], right, strict=True)))

        study = nw.create_study(options=["a", "b", "c", "d"], eps=0.06)
        for k, name in enumerate(study.options):
            right = (hard[:100] < skill[k] + 0.4 * rng.random(100)).astype(int).tolist()
            study.tell(option=name, items={f"q{j + 1}": one for j, one in enumerate(right)})
        plan, before = study.plan(paths=19, on=1), study.frame("items").height
        taken(study, answer, 0.06)
        inside += plan.low <= study.frame("items").height - before <= plan.high
    # Bands of 80 % hold 5 or fewer of 12 with probability below 0.004.
    assert inside >= 6


def test_rounds_are_planned():
    rng = np.random.default_rng(1)
    study = nw.create_study(
        options=list("abc"), eps="5%", scale="log", goal="min", measure="rounds", unit="s"
    )
    for k in range(12):
        for name, mean in zip("abc", (1.0, 1.05, 1.3), strict=True):
            study.tell(option=name, items={f"r{k}": float(mean * np.exp(0.03 * rng.standard_t(3)))})
    plan = study.plan(paths=3, on=1)
    assert plan.median < math.inf
    assert plan.forecasts[0].counted == "reading"


@pytest.mark.parametrize("eps", [1.0, 0.5, 0.3])
def test_where_the_bound_was_small_enough_between_two_looks(eps):
    """A bound of 8/√count, looked at when the count had grown by a fifth."""
    looks = [(count, 8.0 / math.sqrt(count)) for count in (round(10 * 1.2**k) for k in range(25))]
    last = next(at for at, (_, bound) in enumerate(looks) if bound <= eps)
    found = reached_at(looks[last - 1], looks[last], eps, 1)
    assert found == pytest.approx((8.0 / eps) ** 2, rel=0.02, abs=1.0)
    assert reached_at((0, math.inf), (6, 0.1), eps, 1) == 6.0
    assert reached_at((0, math.inf), (0, 0.1), eps, 1) == 0.0
    assert reached_at((6, 2.0), (12, 0.9 * eps), eps, 3) in (9.0, 12.0)


def test_trials_and_readings_are_counted_one_by_one():
    study = nw.create_study(options=["A", "B"], eps=0.02)
    for option, successes in (("A", 180), ("B", 176)):
        study.tell(option=option, successes=successes, trials=200)
    plan = study.plan(paths=3, on=1)
    assert f"about {200 * plan.median:,.0f} more trials" in plan.sentence
    assert "200 of an option at a time" in plan.sentence
    read = nw.create_study(options=["A", "B"], eps=0.3)
    for option, mean in (("A", 1.0), ("B", 1.2)):
        read.tell(option=option, values=[mean - 0.3, mean, mean + 0.3, mean + 0.1, mean - 0.1, mean, mean])
    assert "more readings" in read.plan(paths=3, on=1).sentence


def test_the_resolution_is_a_difference_that_is_told_apart():
    """Four of five studies with this difference tell it: 60 studies, false alarm below 0.001."""
    names = ("p0", "p1")
    found = nw.create_study(options=names, eps=0.1)
    for name in names:
        for value in (0.0, 0.2, -0.2):
            found.tell(option=name, value=value, se=0.3)
    apart = found.plan(paths=2, eps=0.5, on=1)
    assert apart.resolution_text.startswith("Resolution: these 6 measurements can tell apart options that")
    rng, told_apart = np.random.default_rng(2), 0
    for _ in range(60):
        study = nw.create_study(options=names, eps=0.1)
        for name, mean in zip(names, (apart.resolution, 0.0), strict=True):
            study.tell_many(
                [{"option": name, "value": mean + 0.3 * rng.standard_normal(), "se": 0.3} for _ in range(3)]
            )
        certificate = study.certificate()
        told_apart += certificate.option == "p0" and certificate.bound == 0.0
    assert 36 <= told_apart <= 58


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
    study = nw.create_study(options=["A", "B", "C", "D"], eps=0.3)
    plan = study.plan(noise=0.4, span=2.0, paths=16)
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
    assert plan.sentence == "Until the bound is at most 4: nothing more; it already is."


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
    assert [forecast.name for forecast in cheap.forecasts] == ["sigma = 0.06", "sigma = 0.6"]
    assert [forecast.name for forecast in dear.forecasts] == ["sigma = 0.6", "sigma = 0.06"]
    assert dear.forecasts[0].cost <= dear.forecasts[1].cost
    assert "cheapest is sigma = 0.6: a cost of about" in dear.sentence
    assert "mix" not in str(dear)
    assert dear.without_quiet is None


@pytest.mark.long("simulations")
def test_costs_of_options_count():
    names = ["A", "B", "C", "D"]
    plans = []
    for price in (1.0, 5.0):
        study = nw.create_study(options={"id": names, "cost": [price] * 4}, eps=0.4)
        plans.append(study.plan(menu=[(0.5, 2.0)], span=3.0, paths=8))
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
    assert plan.median > 2 * study.plan(noise=[0.25, 1.0], paths=19).median
    ((_, levels),) = by_share(study.analysis(), None)
    assert np.allclose(levels.of_options(10), sigma, rtol=0.05)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"noise": 0.0}, "`sigma` must be"),
        ({"noise": []}, "`noise` must have at least one level"),
        ({"noise": [(0.3, -1.0)]}, "`share` must be"),
        ({"noise": [0.3, 0.3]}, "every noise level must be named once"),
        ({"menu": [(0.3,)]}, r"`menu` must be pairs \(sigma, cost\)"),
        ({"menu": [(0.3, 0.0)]}, "`cost` must be"),
        ({"noise": 0.3, "menu": [(0.3, 1.0)]}, "say either `noise="),
        ({"noise": 0.3, "paths": 1}, "`paths` must be"),
        ({"noise": 0.3, "eps": -1.0}, "`eps` must be"),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        told_study().plan(**arguments)


def test_without_eps_it_must_be_given():
    study = nw.create_study(options=["A", "B"], final=True)
    with pytest.raises(ValueError, match="`eps` must be given"):
        study.plan(noise=0.3)


def test_worlds_agree_with_what_was_measured():
    study = told_study()
    worlds = draw_worlds(study.analysis(), 400, 0, 5.0)
    frame = study.frame("options")
    means, errors = frame["estimate"].to_numpy(), frame["se"].to_numpy()
    centred = worlds - worlds.mean(axis=1, keepdims=True)
    # Drawn values scatter around the (shrunk) estimates, with the estimates' errors.
    assert np.abs(centred.mean(axis=0) - (means - means.mean())).max() < 0.3
    assert (worlds.std(axis=0) <= 1.1 * errors).all()


@pytest.mark.parametrize("policy", ["widest", "uniform"])
def test_other_policies_are_followed(policy):
    study = nw.create_study(options=["A", "B", "C"], eps=0.5, policy=policy)
    assert study.plan(noise=0.5, span=2.0, paths=3).median >= 3


def wide_study(model, **question):
    features = np.random.default_rng(3).normal(size=(40, 3))
    table = {"id": [f"A{k:02d}" for k in range(40)], **{name: features[:, j] for j, name in enumerate("abc")}}
    return nw.create_study(options=table, roles={"option": "id"}, model=model, **{"eps": 0.3, **question})


def test_with_deviations_worlds_are_as_wide_as_the_span_says():
    def ranges(study, span):
        return np.ptp(draw_worlds(study.analysis(), 400, 0, span), axis=1)

    linear = ranges(wide_study("linear"), 8.0)
    nearly = ranges(wide_study("linear+deviation:0.001"), 8.0)
    # Medians of 400 ranges spread over a decade scatter by some 5 %.
    assert np.median(nearly) == pytest.approx(np.median(linear), rel=0.1)
    assert np.median(ranges(wide_study("linear+deviation:0.001"), 4.0)) < 0.7 * np.median(nearly)
    # 40 normal numbers range over 4.3 standard deviations; worlds beyond the span are drawn again.
    assert np.median(ranges(wide_study("linear+deviation:1.2"), 8.0)) > 5.0
    assert max(linear.max(), nearly.max()) <= 8.0


@pytest.mark.parametrize("block", [None, "Monday"])
@pytest.mark.parametrize("model", ["linear", "linear+deviation"])
def test_worlds_scatter_around_the_estimates_as_the_fit_does(model, block):
    model = f"{model}:0.4" if model != "linear" else model
    study, rng = wide_study(model), np.random.default_rng(5)
    features = study.analysis().state.features
    for k in range(30):
        value = float(7.0 + features[k] @ [0.9, -0.4, 0.3] + 0.5 * rng.normal())
        study.tell(option=f"A{k:02d}", value=value, se=0.3, block=block)
    fit = study.analysis().estimates
    worlds = draw_worlds(study.analysis(), 4000, 1, 8.0)
    apart = worlds - worlds[:, [0]]
    # The spread that the weights have draws them a little closer together.
    assert np.abs(apart.mean(axis=0) - (fit.means - fit.means[0])).max() < 0.15
    assert np.allclose(apart.std(axis=0)[1:], np.sqrt(fit.variances_apart(0))[1:], rtol=0.12)


def test_without_any_option_there_is_nothing_to_plan(tmp_path):
    study = told_study()
    for option in study.options:
        study.exclude(option, "sold out")
    with pytest.raises(ValueError, match="every option of this study is excluded"):
        study.plan(noise=0.1)
    page = study.report(tmp_path / "report.html", plan=True).read_text()
    assert "There is no plan: every option of this study is excluded" in page
