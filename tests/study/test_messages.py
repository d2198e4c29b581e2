"""What people are told when something is wrong: what, where, why, what to do; the study stays as it was."""

import math

import numpy as np
import pytest

import noisewise as nw

DAY = 24 * 3600.0


class Clock:
    """A time that stands still until it is moved."""

    def __init__(self):
        self.now = 1.7e9

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def study(clock):
    names = [f"A-{k:03d}" for k in range(1, 101)]
    study = nw.create_study(options=names, eps=0.2, clock=clock)
    study.tell(option="A-001", value=1.31, se=0.1, key="2026-11-03/B")
    study.ask(2)
    return study


def picture(study):
    """Everything that can be seen of a study."""
    return (
        [tuple(event) for event in study.events()],
        study.frame("measurements").to_dicts(),
        study.certificate().to_json(),
        [job.id for job in study.pending],
        study._state.n_events,
    )


def refused(study, call, message, kind=(ValueError, KeyError, TypeError)):
    before = picture(study)
    with pytest.raises(kind, match=message):
        call()
    assert picture(study) == before


def test_a_standard_error_of_zero(study):
    table = {"option": ["A-002", "A-077"], "value": [1.0, 2.0], "se": [0.1, 0.0]}
    refused(
        study,
        lambda: study.tell_many(table),
        r"row 2 \(A-077\): se is 0\. An exact measurement would end the study by itself\. "
        r"If it is below your instrument's resolution, make the study with noise_floor=",
    )


@pytest.mark.parametrize(
    ("se", "sentence"),
    [
        (-0.3, r"se=-0\.3 is not a standard error, which is above 0\. Did the columns"),
        (
            math.nan,
            r"no error bar in se\. Fill it in, delete the row, or write none",
        ),  # how many frames write an empty cell
    ],
)
def test_a_standard_error_that_is_none(study, se, sentence):
    table = {"option": ["A-002"] * 4, "value": [1.0] * 4, "se": [0.1, 0.1, 0.1, se]}
    refused(study, lambda: study.tell_many(table), rf"row 4 \(A-002\): {sentence}")


def test_a_standard_deviation_without_n(study):
    refused(
        study,
        lambda: study.tell(option="A-002", value=1.0, sd=1.2),
        r"sd=1\.2 is the scatter of single readings; I need the error of the reported value\. "
        r"Give n= as well, or use se=\.",
    )


def test_two_error_bars(study):
    refused(
        study,
        lambda: study.tell(option="A-002", value=1.0, se=0.1, var=0.01),
        r"give exactly one of se, var, sd\+n, ci, values, successes\+trials \(got se, var\)\.",
    )


def test_error_bars_that_behave_like_variances():
    """172 effects whose sampling variances were told as standard errors."""
    rng = np.random.default_rng(0)
    variances = rng.uniform(0.01, 0.4, 172)
    names = [f"s{k % 10}" for k in range(172)]
    values = rng.normal(size=10)[np.arange(172) % 10] + np.sqrt(variances) * rng.standard_normal(172)
    study = nw.create_study(options=sorted(set(names)), eps=0.1)
    study.tell_many({"option": names, "value": values, "se": variances})
    (problem,) = study.check().problems
    assert "the measurements disagree by more than their error bars" in problem
    assert "Your error bars look like variances: their square roots fit" in study.check().remedies[0]
    assert "tell them as var=" in study.check().remedies[0]
    right = nw.create_study(options=sorted(set(names)), eps=0.1)
    right.tell_many({"option": names, "value": values, "var": variances})
    assert right.check().ok


def test_an_unknown_option(study):
    refused(
        study,
        lambda: study.tell(option="A-07", value=1.0, se=0.1),
        r"'A-07' is not in the catalogue \(100 options\)\. Nearest: A-007, A-0\d7\.",
    )


def test_a_value_that_is_not_a_number(study):
    job = study.pending[0]
    refused(
        study,
        lambda: study.tell(job, math.nan, se=0.1),
        rf"value is NaN\. Use fail for a failed measurement; the lease on {job.option} was kept\.",
    )


def test_a_late_result_is_kept_beside_the_new_one(study, clock):
    (job,) = study.ask(by="a", lease=DAY)
    clock.now += 4 * DAY
    study.exclude("A-100", "out of stock")
    others = study.ask(100, by="b")
    assert job.option in [other.option for other in others]
    told = study.tell(job, 2.0, se=0.1)
    assert told.notes == (
        f"lease {job.id} expired 3 days ago and was given to worker b; both results are kept as repeats.",
    )
    again = study.tell(next(other for other in others if other.option == job.option), 2.1, se=0.1)
    assert again.notes == ()
    assert study.frame("options").filter(option=job.option)["measurements"].item() == 2


def test_the_same_key_with_another_value(study):
    refused(
        study,
        lambda: study.tell(option="A-001", value=1.38, se=0.1, key="2026-11-03/B"),
        r"key 2026-11-03/B already told with 1\.31; you sent 1\.38\. Use amend on m-\d+ if this is a",
    )
    refused(
        study,
        lambda: study.tell(option="A-001", value=1.31, se=0.2, key="2026-11-03/B"),
        r"told with sigma=0\.1; you sent 0\.2",
    )


def test_collinear_features_are_told_and_work():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([1.0, 1.0, 1.0], 20)
    table = {"id": [f"A-{k}" for k in range(20)], "Fe": shares[:, 0], "Ni": shares[:, 1], "Cr": shares[:, 2]}
    study = nw.create_study(options=table, model="linear", eps=0.1, span=3.0)
    assert study.notes == [
        "feature Cr is a combination of Fe, Ni (collinear): 3 columns, rank 2. "
        "Continuing in the 2-dimensional space; the certificate is unaffected."
    ]


def test_a_missing_feature():
    with pytest.raises(
        ValueError,
        match=r'option \'A-12\' has no value for Mo\. Fill it, drop the option, or use model="independent"\.',
    ):
        nw.create_study(options={"id": ["A-11", "A-12"], "Mo": [0.1, None]}, model="linear", span=1.0)


def test_a_model_that_does_not_fit():
    rng = np.random.default_rng(0)
    x = np.linspace(-1.0, 1.0, 15)
    table = {"id": [f"A-{k}" for k in range(15)], "x": x}
    study = nw.create_study(options=table, model="linear", eps=0.1, span=3.0)
    k = np.repeat(np.arange(15), 4)
    values = np.cos(3.0 * x)[k] + 0.1 * rng.standard_normal(60)
    study.tell_many({"option": [f"A-{i}" for i in k], "value": values, "se": np.full(60, 0.1)})
    certificate = study.certificate()
    assert certificate.bound == math.inf
    assert not certificate.reached
    assert certificate.sentence.startswith("Certificate withheld: reduced chi-square ")
    assert (
        "(expected 1): the linear model, the error bars or some measurements are wrong"
        in certificate.sentence
    )
    assert "study.check()" in str(certificate)
    assert 'model="independent"' in str(study.check())
    assert "block=" in str(study.check())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.tell(value=1.0, se=0.1), "say what was measured: a job, option=, or plus= and minus="),
        (lambda s: s.tell("ask-1", 1.0, option="A-050", se=0.1), r"in one way.*\(got job, option\)"),
        (lambda s: s.tell("ask-99", 1.0, se=0.1), "`job` must be a suggestion of this study .*got 'ask-99'"),
        (lambda s: s.tell(plus="A-001", value=1.0, se=0.1), "plus= and minus= go together"),
        (lambda s: s.tell(plus="A-001", minus="A-001", value=1, se=1), "needs two different options"),
        (lambda s: s.tell(option="A-001", value=1.0, sigma=0.1), "tell.. has no argument 'sigma'; it has"),
        (lambda s: s.tell(option="A-001", value=1.0, se=0.1, block=" "), "`block` must not be empty"),
        (
            lambda s: s.tell_many({"option": ["A-001"], "values_": [1]}),
            "a column 'values_' that means nothing",
        ),
        (lambda s: s.ask(0), "`n` must be at least 1; got 0"),
        (lambda s: s.ask(sigma=-1.0), "`sigma` must be a finite number above 0"),
        (lambda s: s.void("m-7", "wrong"), "`measurement` must be one of this study's 1"),
        (lambda s: s.void("m-1", " "), "`reason` must say why"),
        (lambda s: s.amend("m-1", "typo", value=math.nan), "value is NaN"),
        (lambda s: s.fail("ask-1", ""), "`reason` must say why"),
        (lambda s: s.exclude("A-999", "gone"), "'A-999' is not in the catalogue"),
        (lambda s: s.include("A-001"), "A-001 is not excluded"),
        (lambda s: s.add_options(["A-001"]), "option 'A-001' is in the catalogue already"),
        (lambda s: s.set_policy("vaeee"), "there is no rule 'vaeee'; .* Did you mean 'vaee'"),
        (lambda s: s.frame("jobs"), "`what` must be one of"),
    ],
)
def test_other_mistakes_change_nothing_either(study, call, message):
    refused(study, lambda: call(study), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"`eps` \(how far below the best is good enough\) or `span`"),
        ({"model": "linear", "eps": 0.1}, '`span` must be given for model="linear"'),
        ({"eps": 0.0}, "`eps` must be a finite number above 0"),
        ({"eps": 0.1, "confidence": 95}, "`confidence` must lie strictly between 0 and 1; got 95"),
        ({"eps": 0.1, "goal": "maximum"}, "`goal` must be one of 'max', 'min'; got 'maximum'"),
        ({"eps": 0.1, "policy": "vagd"}, "independent options have none: choose another policy"),
        ({"eps": 0.1, "policy": "vaee", "policy_options": {"explor": "all"}}, "has no option 'explor'"),
        ({"eps": 0.1, "store": "mysql://alloys"}, "`store` must be a path, sqlite:///path, postgresql:"),
    ],
)
def test_a_study_that_makes_no_sense_is_not_made(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        nw.create_study(options=["A", "B"], **arguments)


def test_too_many_pairs_in_the_independent_model():
    names = [f"o{k}" for k in range(40)]
    study = nw.create_study(options=names, eps=0.1)
    pairs = [(i, j) for i in range(40) for j in range(i)][:500]
    study.tell_many({"plus": [names[i] for i, _ in pairs], "minus": [names[j] for _, j in pairs],
                     "value": [0.1] * 500, "se": [0.1] * 500})  # fmt: skip
    study.tell(plus=names[0], minus=names[1], value=0.0, se=0.1)  # a pair that is known, the other way round
    refused(
        study,
        lambda: study.tell(plus="o39", minus="o38", value=0.1, se=0.1),
        "o39 - o38 would be pair number 501: the independent model keeps at most 500 distinct pairs, because",
    )


def test_a_bound_that_comes_from_the_span_says_so():
    study = nw.create_study(options=["A", "B", "C"], eps=0.5, span=5.0)
    study.tell(option="A", value=1.0, se=0.1)
    study.tell(option="B", value=1.5, se=0.1)
    certificate = study.certificate()
    assert certificate.bound == 5.0
    assert "no two options differ by more than 5, as was stated (`span`)" in certificate.assumptions
    assert "1 option never measured (C)." in certificate.notes


def test_estimates_say_on_which_level_they_stand():
    study = nw.create_study(options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1, block="Mon")
    study.tell(option="B", value=1.5, se=0.1, block="Mon")
    assert "Estimate for B: 1.5." in repr(study)
    study.tell(option="A", value=3.0, se=0.1, block="Tue")
    study.tell(option="B", value=3.5, se=0.1, block="Tue")
    assert "Estimate for B: 2.5, on the level of the average block" in repr(study)
    study = nw.create_study(options=["A", "B"], eps=0.5)
    study.tell(plus="B", minus="A", value=1.0, se=0.1)
    assert "Estimate for B: 0.5, around 0, because only differences were measured." in repr(study)


def test_a_log_without_events_has_no_head(tmp_path):
    nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.5)
    assert str(nw.verify_log(tmp_path / "s.db")[0]) == "study: 0 events, all as they were written."


def test_a_first_measurement_in_a_block_after_some_without_can_be_followed_by_a_question():
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    for option, value in zip("ABC", (1.0, 3.1, 2.0), strict=True):
        study.tell(option=option, value=value, se=0.2)
    study.tell(option="B", value=3.0, se=0.1, block="Tue")
    assert study.ask()[0].option in "ABC"
