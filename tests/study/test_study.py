"""Studies from the outside: ask, tell, leases, corrections, replay, order, units."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.support.effort import effort
from tests.support.measured import tell_all
from tests.support.studies_in_time import study_at

import noisewise as nw
from noisewise.rules.registry import rule_named

NAMES = [f"o{k}" for k in range(8)]
FEATURES = np.random.default_rng(5).normal(size=(8, 3))
TABLE = pl.DataFrame({"id": NAMES, "a": FEATURES[:, 0], "b": FEATURES[:, 1], "c": FEATURES[:, 2]})


class Clock:
    def __init__(self):
        self.now = 1.7e9

    def __call__(self):
        return self.now


def make(model="independent", store=":memory:", scale=1.0, clock=None, **changes):
    arguments = {"options": TABLE, "model": model, "eps": 0.3 * scale, **changes}
    return study_at(clock or Clock(), store, **arguments)


def history(seed, n=40, *, differences=True):
    """Measurements of every kind, in three blocks and none."""
    rng = np.random.default_rng(seed)
    values = FEATURES @ [1.0, -0.5, 0.3]
    told = []
    for i in range(n):
        k, other = rng.choice(8, 2, replace=False)
        se = float(10.0 ** rng.uniform(-1.0, 0.3))
        row = {"option": NAMES[k], "value": float(values[k] + se * rng.standard_normal()), "se": se}
        if i % 3:
            row |= {"block": f"day {i % 4}", "value": row["value"] + 5.0 * (i % 4)}
        if differences and i % 7 == 0:
            difference = float(values[k] - values[other] + se * rng.standard_normal())
            row = {"plus": NAMES[k], "minus": NAMES[other], "value": difference, "se": se}
        told.append(row)
    return told


def estimates(study):
    frame = study.frame("options")
    return frame["estimate"].to_numpy(), frame["se"].to_numpy()


@pytest.mark.parametrize("model", ["independent", "linear"])
@settings(max_examples=effort(4, 15))
@given(seed=st.integers(0, 2**32))
def test_the_order_of_telling_never_matters(model, seed):
    told = history(seed)
    shuffled = [told[i] for i in np.random.default_rng(seed).permutation(len(told))]
    one, other = tell_all(make(model), told), tell_all(make(model), shuffled)
    (means, errors), (other_means, other_errors) = estimates(one), estimates(other)
    assert_allclose(means, other_means, rtol=0.0, atol=1e-6 * np.nanmin(errors))
    assert_allclose(errors, other_errors, rtol=1e-6)
    certificate, again = one.certificate(), other.certificate()
    assert (certificate.option, certificate.candidates) == (again.option, again.candidates)
    assert certificate.bound == pytest.approx(again.bound, rel=1e-9)
    assert certificate.data == again.data


@pytest.mark.parametrize("model", ["independent", "linear"])
@pytest.mark.parametrize("name", ["vaee", "uniform", "linear_thompson"])
def test_units_and_zero_do_not_matter(model, name):
    """Values, errors, eps and span times 1000, and all values shifted."""
    told = history(3)
    plain = tell_all(make(model, policy=name), told)
    scaled = tell_all(make(model, scale=1000.0, policy=name), told, scale=1000.0, shift=12345.0)
    one, other = plain.certificate(), scaled.certificate()
    assert (one.option, one.candidates, one.withheld) == (other.option, other.candidates, other.withheld)
    assert other.bound == pytest.approx(1000.0 * one.bound, rel=1e-6)
    assert plain.check().reduced == pytest.approx(scaled.check().reduced, rel=1e-6)
    assert [job.option for job in plain.ask(5)] == [job.option for job in scaled.ask(5)]


def test_looking_for_the_smallest_is_looking_for_the_largest_of_the_negatives():
    told = history(4)
    largest = tell_all(make(), told)
    smallest = make(goal="min")
    for row in told:
        smallest.tell(**row | {"value": -row["value"]})
    one, other = largest.certificate(), smallest.certificate()
    assert (one.option, one.candidates) == (other.option, other.candidates)
    assert one.bound == pytest.approx(other.bound)
    assert one.estimate == pytest.approx(-other.estimate)
    assert "below the best" in one.sentence
    assert "above the best" in other.sentence


@pytest.mark.parametrize("model", ["independent", "linear"])
@pytest.mark.parametrize("name", ["vaee", "linear_thompson", "round_robin", "oful"])
def test_asking_for_two_is_asking_twice(model, name):
    told = history(6, differences=name != "oful")
    twice, once = (tell_all(make(model, policy=name), told) for _ in range(2))
    pairs = [twice.ask()[0], twice.ask()[0]]
    assert [(job.id, job.option, job.why) for job in pairs] == [(j.id, j.option, j.why) for j in once.ask(2)]


def serves_independent_options(name):
    """Whether a policy does with options that have no vectors; it says so if not."""
    try:
        nw.create_study(options=["A", "B"], eps=0.1, policy=needed(name))
    except ValueError as refusal:
        if "independent options have none: choose another policy" not in str(refusal):
            raise
        return False
    return True


def needed(name):
    return (name, {"sigma_min": 0.01}) if name == "vaee_as_printed" else name


ALWAYS_SERVED = {"vage", "vaee", "widest", "uniform", "round_robin", "greedy", "linear_thompson", "oful"}


#: Those that need neither a horizon nor a sigma beforehand.
UNAIDED = [
    name
    for name in sorted(nw.rules.POLICIES)
    if not rule_named(name).needs_horizon and rule_named(name).sees_sigma != "before"
]


def test_the_usual_policies_serve_independent_options():
    assert {name for name in UNAIDED if serves_independent_options(name)} >= ALWAYS_SERVED


CASES = [("linear", name) for name in UNAIDED]
CASES += [("independent", name) for name in UNAIDED if serves_independent_options(name)]


@pytest.mark.parametrize(("model", "name"), CASES[:: effort(2, 1)])
def test_any_policy_by_name_and_replay_gives_the_same_next_suggestion(model, name):
    store, clock = nw.MemoryStorage(), Clock()
    study = make(model, store, clock=clock, policy=needed(name))
    tell_all(study, history(8, 20, differences=False))
    for job in study.ask(3)[:2]:
        study.tell(job, 1.0, se=0.5, block="day 9")
    again = nw.load_study(store, clock=clock)
    assert repr(again) == repr(study)
    assert again.ask(4, dry_run=True) == study.ask(4, dry_run=True)
    assert again.certificate().to_json() == study.certificate().to_json()
    assert again.specification.policy.name == name
    assert again.specification.policy.version == nw.__version__


def test_policies_that_need_more_are_served_or_say_so():
    with pytest.raises(ValueError, match="`horizon` must be given for 'linnats'"):
        make("linear", policy="linnats")
    study = make("linear", policy=("varcb", {"horizon": 50}))
    with pytest.raises(ValueError, match="`sigma` must be given: 'varcb' needs it"):
        study.ask()
    assert study.ask(sigma=0.3)[0].option in NAMES


@pytest.mark.parametrize("name", ["oful", "linear_thompson", "vaee"])
def test_a_rule_learns_the_estimates_of_options_that_were_compared(name):
    study = make(policy=name)
    study.tell(plus="o1", minus="o2", value=0.3, se=0.1)
    assert study.ask()[0].option in NAMES


def test_a_lease_lasts_a_week_and_then_the_option_is_free():
    clock = Clock()
    study = make(clock=clock)
    first = study.ask(8)
    assert len({job.option for job in first}) == 8
    assert (first[0].expires.timestamp() - clock.now) == 7 * 24 * 3600
    clock.now += 7 * 24 * 3600 + 1
    assert study.pending == []
    assert study.ask()[0].option == first[0].option


def test_failing_and_releasing_free_the_option_and_keep_the_reason():
    study = make()
    one, other, third = study.ask(3)
    study.fail(one, "cracked")
    study.release(other.id)
    assert [job.id for job in study.pending] == [third.id]
    with pytest.raises(ValueError, match="ask-1 is not under way: it was failed"):
        study.release(one)
    told = study.tell(one, 1.0, se=0.3)  # it was measured after all
    assert told.notes == ("ask-1 was failed before; the result is kept.",)
    bodies = [event.body for event in study.events() if event.kind == "fail"]
    assert bodies == [{"job": "ask-1", "reason": "cracked"}]


def test_voiding_is_as_if_it_had_not_been_told_but_stays_in_the_log():
    told = history(9)
    study, without = tell_all(make(), told), tell_all(make(), told[:-1])
    study.void(f"m-{len(told)}", "wrong sample")
    assert_allclose(estimates(study)[0], estimates(without)[0])
    assert study.certificate().bound == without.certificate().bound
    assert study.frame("measurements")["voided"].to_list()[-1] == "wrong sample"
    with pytest.raises(ValueError, match="was voided before: wrong sample"):
        study.void(f"m-{len(told)}", "again")


def test_amending_is_as_if_it_had_been_told_right():
    told = history(10)
    study = tell_all(make(), told[1:5])
    study.tell(option="o3", value=99.0, se=0.5, key="typo", block="day 1")
    right = tell_all(make(), told[1:5])
    right.tell(option="o3", value=9.9, se=0.5, block="day 1")
    changed = study.amend("typo", "misplaced point", value=9.9)
    assert (changed.value, changed.sigma, changed.block) == (9.9, 0.5, "day 1")
    assert study.certificate().data == right.certificate().data
    assert [event.kind for event in study.events()][-1] == "amend"
    study.amend("typo", "the other alloy, and in readings", option="o4", values=[9.0, 10.0, 11.0])
    assert study.frame("measurements")["kind"].to_list()[-1] == "readings"


def test_tables_may_hold_every_kind_of_error_bar(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text(
        "option,plus,minus,value,se,lo,hi,values,successes,trials,se_up,se_down,block\n"
        "o1,,,1.0,0.1,,,,,,,,plate 1\n"
        "o2,,,1.0,,0.8,1.2,,,,,,plate 1\n"
        "o3,,,,,,,1.0;1.2;0.9,,,,,\n"
        "o4,,,,,,,,3,10,,,\n"
        "o5,,,2.0,,,,,,,0.2,0.1,\n"
        ",o1,o2,0.2,0.1,,,,,,,,\n"
        "o6,,,5.0,none,,,,,,,,\n"
    )
    kinds = [told.kind for told in make().tell_many(path)]
    assert kinds == ["known", "known", "readings", "counts", "known", "known", "none"]


@pytest.mark.parametrize("model", ["independent", "linear"])
def test_options_come_and_go(model):
    study = tell_all(make(model), history(11))
    best = study.certificate().option
    study.exclude(best, "sold out")
    certificate = study.certificate()
    assert certificate.option != best
    assert certificate.n_options == 7
    assert best not in certificate.candidates
    assert best not in [job.option for job in study.ask(10)]
    added = {"id": ["new"], "a": [0.5], "b": [0.1], "c": [0.2]}
    assert study.add_options(added) == ["new"]
    assert study.certificate().n_options == 8
    for _ in range(3):
        study.tell(option="new", value=30.0, se=0.05)
        study.tell(option=study.options[0], value=float(study.frame("options")["estimate"][0]), se=0.05)
    if model == "independent":
        assert study.certificate().option == "new"
    study.include(best)
    assert study.certificate().n_options == 9


def test_the_log_is_plain_json():
    """Any store that keeps JSON gives the study back."""
    study = tell_all(make("linear"), history(12))
    job, other = study.ask(2, sigma=np.float64(0.3), by="me")
    study.tell(job, np.float64(1.5), values=None, se=np.float64(0.2))
    study.tell(option="o1", values=np.array([1.0, 1.1]), instrument="x")
    study.tell(option="o2", successes=np.int64(3), trials=np.int64(9))
    study.fail(other, "broke")
    study.void(3, "wrong")
    study.amend(2, "right", se=0.7)
    study.exclude("o7", "gone")
    study.add_options({"id": ["o8"], "a": [0.1], "b": [0.2], "c": [0.3]})
    study.set_policy("uniform", seed=3)
    store = nw.MemoryStorage()
    store.create("study", study._log.storage.read(study.name))
    again = nw.load_study(store, clock=Clock())
    assert again.certificate().to_json() == study.certificate().to_json()
    assert again.ask(3, dry_run=True) == study.ask(3, dry_run=True)
    assert again.frame("measurements").equals(study.frame("measurements"))


def test_a_late_result_is_kept_beside_the_new_one():
    clock, day = Clock(), 24 * 3600.0
    study = make(clock=clock)
    (job,) = study.ask(by="a", lease=day)
    clock.now += 4 * day
    others = study.ask(8, by="b")
    again = next(other for other in others if other.option == job.option)
    assert study.tell(job, 2.0, se=0.1).notes == (
        f"lease {job.id} expired 3 days ago and was given to worker b; both results are kept as repeats.",
    )
    assert study.tell(again, 2.1, se=0.1).notes == ()
    assert study.frame("options").filter(option=job.option)["measurements"].item() == 2


def test_too_many_pairs_in_the_independent_model():
    names = [f"o{k}" for k in range(40)]
    study = nw.create_study(options=names, eps=0.1)
    pairs = [(i, j) for i in range(40) for j in range(i)][:500]
    study.tell_many({"plus": [names[i] for i, _ in pairs], "minus": [names[j] for _, j in pairs],
                     "value": [0.1] * 500, "se": [0.1] * 500})  # fmt: skip
    study.tell(plus=names[0], minus=names[1], value=0.0, se=0.1)  # a pair that is known, the other way round
    with pytest.raises(ValueError, match="would be pair number 501: the independent model keeps at most 500"):
        study.tell(plus="o39", minus="o38", value=0.1, se=0.1)
