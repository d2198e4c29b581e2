"""RACE against its textbook twin, and what its proof says of every step of a study."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.support.effort import effort, long_beyond
from tests.support.racing import (
    DAYS,
    MODELS,
    NEW,
    bound_after,
    coming_to,
    names_of,
    new_study,
    proposed,
    tell_some,
    textbook,
)

import noisewise as nw
from noisewise.study.asking.pending import DIFFERENCE, OPTION
from noisewise.study.asking.race import field_of
from noisewise.study.certificates.bound import recommend
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.log.measurements import NO_BLOCK, NOBODY
from noisewise.study.models.posterior import Joint, separate_joint


def some_study(rng, model, **kind):
    """Random measurements; sometimes costs, a block with one measurement, and an excluded option."""
    costs = {"roles": {"cost": "price"}} if rng.random() < 0.3 else {}
    study = new_study(rng, model, **costs)
    tell_some(study, rng, rows=int(rng.integers(3, 25)), **kind)
    if rng.random() < 0.5:
        study.tell(option=str(rng.choice(study.options)), value=1.0, se=0.7, block="one value")
    if rng.random() < 0.4:
        study.exclude(str(rng.choice(study.options)), "sold out")
    return study.analysis()


def compare_with_the_textbook(analysis, coming, sharpness):
    """Scores, the choice, the race and the bound that is expected are those of the twin."""
    found = proposed(analysis, coming, sharpness)
    twin = textbook(analysis, coming, sharpness)
    field = field_of(analysis, twin.found.option, coming)
    races, weights = field.races(sharpness)
    assert races.tolist() == twin.races.tolist()
    assert_allclose(weights, twin.weights, rtol=1e-9)
    probes = field.pairs(races) if coming.probe == DIFFERENCE else field.options(races)
    place = {tuple(probe): at for at, probe in enumerate(twin.probes.tolist())}
    at = [place[tuple(probe)] for probe in probes.tolist()]
    top = twin.scores.max()
    falls = field.half[races] - field.after(probes, races)
    assert_allclose(falls, twin.falls[at], atol=1e-6 * np.abs(twin.falls).max())
    assert_allclose(falls @ weights / field.prices(probes), twin.scores[at], atol=1e-6 * top)
    assert twin.scores[place[found.option, found.minus]] >= top * (1.0 - 1e-6)
    assert (found.leader, found.rival, found.half_width) == (twin.found.option, twin.rival, twin.width)
    assert found.after == pytest.approx(bound_after(analysis, coming, found.option, found.minus), rel=1e-6)
    best = twin.falls[place[found.option, found.minus]] * twin.weights
    assert best[twin.races.tolist().index(found.helped)] >= best.max() - 1e-6 * abs(best.max())
    assert found.bound <= 2.0 * found.half_width
    return found


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=effort(2, 7))
@given(seed=st.integers(0, 2**32), blocks=st.booleans(), differences=st.booleans())
def test_an_option_is_chosen_as_by_adding_its_row_to_the_information_matrix(model, seed, blocks, differences):
    rng = np.random.default_rng(seed)
    analysis = some_study(rng, model, blocks=blocks, differences=differences)
    for block in analysis.columns.blocks:
        coming = coming_to(analysis, block=block, sigma=rng.choice([None, 0.4]))
        if rng.random() < 0.5:
            coming = coming._replace(noise=rng.uniform(0.1, 3.0, analysis.n))
        found = proposed(analysis, coming)
        if found.rival is not None:  # else nothing was measured there yet
            compare_with_the_textbook(analysis, coming, float(rng.choice([0.5, 5.0, 50.0])))


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=effort(2, 5))
@given(seed=st.integers(0, 2**32), blocks=st.booleans(), pairs_only=st.booleans())
def test_a_pair_is_chosen_as_by_adding_its_row_to_the_information_matrix(model, seed, blocks, pairs_only):
    rng = np.random.default_rng(seed)
    analysis = some_study(rng, model, blocks=blocks, differences=True, pairs_only=pairs_only)
    coming = coming_to(analysis, probe=DIFFERENCE, sigma=rng.choice([None, 0.4]))
    found = compare_with_the_textbook(analysis, coming, float(rng.choice([0.5, 5.0, 50.0])))
    assert found.minus not in (NOBODY, found.option)
    assert found.option != found.leader  # a positive result means that a rival is better


def test_deviations_that_are_pulled_off_their_features_are_reckoned_with():
    """Measuring may widen the part of the weights; a probe may then be worse than nothing for a race."""
    seen = []
    for seed in range(effort(6, 12)):
        rng = np.random.default_rng(seed)
        study = new_study(rng, "linear+deviation")
        tell_some(study, rng, rows=10)
        coming = coming_to(study.analysis(), sigma=0.4)
        compare_with_the_textbook(study.analysis(), coming, 50.0)
        seen.append(textbook(study.analysis(), coming).falls.min())
    assert min(seen) < -1e-6


def test_a_new_block_is_opened_by_the_leader():
    for model in MODELS:
        for seed in range(4):
            rng = np.random.default_rng(seed)
            analysis = some_study(rng, model, blocks=bool(seed % 2))
            for block in (NEW, None):
                found = proposed(analysis, coming_to(analysis, block=block))
                assert found.option == found.leader == recommend(analysis).option
                assert found.rival is None
                assert found.bound == found.after <= 2.0 * found.half_width


def test_a_new_block_whose_leader_cannot_be_measured_is_opened_by_its_strongest_rival():
    """Without an offset a value says nothing about differences: no probe is better for being far out."""
    for model in MODELS:
        for seed in range(6):
            analysis = some_study(np.random.default_rng(seed), model, blocks=True)
            usual = proposed(analysis, coming_to(analysis, block=DAYS[0]))
            coming = coming_to(analysis, block=NEW)
            coming.allowed[usual.leader] = False
            assert proposed(analysis, coming).option == usual.rival


def test_covariances_with_sums_are_those_with_their_parts_also_if_one_is_in_it_twice():
    rng = np.random.default_rng(1)
    study = new_study(rng, "independent")
    tell_some(study, rng, rows=15, blocks=True, differences=True)
    analysis = study.analysis()
    of_network = analysis.model.knowledge(analysis.certified, analysis.boundary, 0).joint
    joints = [
        separate_joint(rng.uniform(1.0, 2.0, 6)),
        Joint(rng.uniform(1.0, 2.0, 6), rng.normal(size=(6, 3))),
        of_network,
    ]
    options, weights = np.array([1, 4, 1, 0]), rng.normal(size=4)
    for joint in joints:
        assert_allclose(joint.mixed(options, weights), joint.columns(options) @ weights, atol=1e-12)
        at = np.arange(6)
        assert_allclose(joint.columns(at)[at, at], joint.variances(), rtol=1e-12)
        assert_allclose(joint.columns(at), joint.columns(at).T, atol=1e-12)


PRECISE_AND_ROUGH = {
    "A": (0.0, 4.2e-7),
    "B": (-6.5624, 0.2056),
    "C": (0.1397, 7.6406e-4),
    "D": (-0.2052, 1.8417e-7),
    "E": (0.3215, 5.2523e-6),
}


def test_a_precise_option_leads_its_races_however_rough_another_one_is():
    """Symmetric widths let the rough B, 30 standard errors below, keep E from being recommended."""
    study = nw.create_study(options=list(PRECISE_AND_ROUGH), eps=0.003)
    for option, (value, se) in PRECISE_AND_ROUGH.items():
        study.tell(option=option, value=value, se=se)
    analysis = study.analysis()
    assert study.certificate().option == "E"
    assert study.certificate().reached
    found = proposed(analysis, coming_to(analysis, sigma=0.2))
    assert study.options[found.leader] == "E"
    assert found.bound <= 2.0 * found.half_width


class GivenWidths(HalfWidths):
    """Half-widths as they are written down: ``widths[j, i]`` is that of j over i."""

    def __init__(self, widths):
        self._widths = np.array(widths)

    def half_widths(self, option):
        """Of all options over this one."""
        return self._widths[:, option].copy()

    def lead_widths(self, rival):
        """Of this one over all options."""
        return self._widths[rival].copy()


@pytest.mark.parametrize("back", [0.05, 0.1, 0.15])
def test_a_worse_option_that_is_recommended_is_not_raced_for(back):
    """The rough C keeps B from being recommended: B leads the races, and C is measured.

    A is recommended, and B is ahead of it by more than B over A is wide, whatever A over B is.
    """
    study = nw.create_study(options=list("ABC"), eps=0.1)
    for option, value, se in (("A", 0.0, 0.05), ("B", 0.2, 0.05), ("C", -5.0, 2.0)):
        study.tell(option=option, value=value, se=se)
    analysis = study.analysis()
    analysis.boundary = GivenWidths([[0.0, back, 9.0], [0.1, 0.0, 9.0], [5.2, 6.0, 0.0]])
    assert study.options[recommend(analysis).option] == "A"
    found = proposed(analysis, coming_to(analysis, sigma=0.2))
    assert [study.options[k] for k in (found.leader, found.rival, found.option)] == ["B", "C", "C"]
    assert found.bound == pytest.approx(0.3)
    assert found.bound <= 2.0 * found.half_width


@settings(max_examples=effort(8, 40))
@given(seed=st.integers(0, 2**32))
def test_the_recommended_option_leads_where_options_share_nothing(seed):
    """Precisions over six decades: nobody is ahead of the recommended one by more than their race is wide."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    study = nw.create_study(options=names_of(n), eps=float(10.0 ** rng.uniform(-3.0, 0.0)))
    values = rng.normal(size=n) * 10.0 ** rng.uniform(-4.0, 0.0, n)
    errors = 10.0 ** rng.uniform(-5.0, 1.0, n)
    study.tell_many({"option": study.options, "value": values, "se": errors})
    analysis = study.analysis()
    found = proposed(analysis, coming_to(analysis, sigma=0.2))
    assert found.leader == recommend(analysis).option
    assert found.bound <= 2.0 * found.half_width


STEPS = {"independent": 70, "linear": 60, "linear+deviation": 60}


def measured(study, rng, truth, offsets, found, block):
    """Make the measurement that was proposed."""
    names, se = study.options, float(10.0 ** rng.uniform(-2.5, 0.5))
    value = truth[found.option] + se * rng.standard_normal()
    if found.minus != NOBODY:
        value -= truth[found.minus]
        study.tell(plus=names[found.option], minus=names[found.minus], value=value, se=se)
        return
    where = {} if block == NO_BLOCK else {"block": block}
    study.tell(option=names[found.option], value=value + offsets[block], se=se, **where)


@pytest.mark.parametrize("sharpness", long_beyond(1, [50.0, 0.5, 1e6], "statistics"))
@pytest.mark.parametrize("model", MODELS)
def test_the_bound_is_at_most_twice_the_race_in_every_step(model, sharpness):
    """With blocks, differences, exclusions and options that are added: what the proof needs."""
    ratios = []
    for seed in range(effort(1, 2)):
        rng = np.random.default_rng([seed, MODELS.index(model), int(sharpness)])
        study = new_study(rng, model, n=7, eps=0.02)
        truth, offsets = (
            list(rng.normal(size=20)),
            {NO_BLOCK: 0.0, **{day: 30.0 * rng.normal() for day in DAYS}},
        )
        for step in range(STEPS[model] // 2):
            analysis = study.analysis()
            probe = DIFFERENCE if rng.random() < 0.25 else OPTION
            block = NO_BLOCK if seed == 0 or probe == DIFFERENCE else DAYS[min(step // 6, 2)]
            coming = coming_to(analysis, block=block, probe=probe)
            found = proposed(analysis, coming, sharpness)
            assert analysis.state.allowed()[found.option]
            if found.leader is not None:
                assert found.bound <= 2.0 * found.half_width * (1.0 + 1e-9)
                ratios.append(found.bound / (2.0 * found.half_width))
            measured(study, rng, truth, offsets, found, block)
            if step == 12:
                study.exclude(study.options[recommend(study.analysis()).option], "sold out")
            if step == 16:
                study.add_options(
                    {"id": ["z1"], "x0": [0.3], "x1": [-1.0]} if model != "independent" else ["z1"]
                )
    assert len(ratios) > 15
    assert max(ratios) <= 1.0


WHOLE = [
    ("independent", {}, 0.6, 300),
    ("independent", {"days": 5}, 0.8, 400),
    ("independent", {"pairs": True}, 0.8, 300),
    ("linear", {}, 0.4, 200),
    ("linear", {"days": 4}, 0.5, 200),
    ("linear+deviation", {}, 0.5, 200),
    ("linear+deviation", {"days": 5}, 0.6, 250),
    ("linear+deviation", {"pairs": True}, 0.6, 250),
]


@pytest.mark.parametrize(("model", "how", "eps", "most"), WHOLE)
def test_a_study_comes_to_its_end(model, how, eps, most):
    """Whole studies, to bound <= eps, ties included: no race is chosen for ever."""
    for seed in range(effort(1, 2)):
        rng = np.random.default_rng([seed, len(how), MODELS.index(model)])
        study = new_study(rng, model, n=5, eps=eps)
        truth = 0.3 * rng.normal(size=5)
        truth[1] = truth[0]
        if model != "independent":
            truth = study.analysis().state.features @ [0.4, 0.3] + (0.2 * truth if "dev" in model else 0.0)
        for step in range(most):
            analysis = study.analysis()
            found = recommend(analysis)
            if found is not None and found.bound <= eps:
                break
            day = f"day {step // how['days']}" if "days" in how else NO_BLOCK
            coming = coming_to(analysis, block=day, probe=DIFFERENCE if "pairs" in how else OPTION, sigma=0.3)
            chosen = proposed(analysis, coming)
            if chosen.leader is not None:
                assert chosen.bound <= 2.0 * chosen.half_width
            noise = 0.3 * rng.standard_normal()
            if chosen.minus != NOBODY:
                value = truth[chosen.option] - truth[chosen.minus] + noise
                study.tell(
                    plus=study.options[chosen.option], minus=study.options[chosen.minus], value=value, se=0.3
                )
            else:
                where = {"block": day} if "days" in how else {}
                value = truth[chosen.option] + noise + (40.0 * np.sin(step // how["days"]) if where else 0.0)
                study.tell(option=study.options[chosen.option], value=value, se=0.3, **where)
        else:
            raise AssertionError(f"{model}, {how}, seed {seed}: the bound is {found.bound} after {most}")


def test_what_is_expected_of_an_option_never_tried_is_a_share():
    """Half of all trials above the middle of the others would be more successes than trials."""
    study = nw.create_study(options=["A", "B"], eps=0.2)
    jobs = study.ask(2)
    for option, successes in (("A", 90), ("B", 20)):
        again = nw.create_study(options=["A", "B"], eps=0.2)
        again.ask(2)
        again.tell(option=option, successes=successes, trials=100)
        assert again.ask()
    study.tell(jobs[0], successes=90, trials=100)
    assert study.ask()
