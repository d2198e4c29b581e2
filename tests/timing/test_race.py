"""Races on a machine whose clock is a fake: who wins, who leaves, when it ends."""

import math

import numpy as np
import pytest
from tests.support.fake_machine import FakeMachine

import noisewise as nw
from noisewise.timing.race import AT_LEAST, PATIENCE, Race, Timed
from noisewise.timing.timings import cautions_of

EIGHT = dict(zip("abcdefgh", (0.105, 0.1, 0.12, 0.14, 0.17, 0.2, 0.3, 1.5), strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_the_fastest_of_eight_is_found_on_a_noisy_machine(seed):
    machine = FakeMachine(seed, scatter=0.03, drift=0.01, outliers=0.05)
    found = machine.race(EIGHT)
    assert (found.option, found.reached) == ("b", True)
    assert found.certificate.evidence == ("paired rounds",)


def test_large_differences_take_less_time_than_ten_rounds():
    times = {name: 0.1 * 1.25**at for at, name in enumerate("abcdefgh")}
    machine = FakeMachine(1, scatter=0.02, drift=0.005)
    found = machine.race(times)
    assert (found.option, found.reached) == ("a", True)
    assert found.seconds < 10.0 * sum(times.values())


def test_slow_options_leave_and_the_order_of_rounds_is_random():
    machine = FakeMachine(2)
    found = machine.race(EIGHT)
    assert found.times["h"].size <= 5 < found.times["b"].size == found.rounds + 1
    firsts = {machine.runs[8 * at] for at in range(4)}
    assert len(firsts) > 1
    assert all(set(machine.runs[8 * at : 8 * at + 8]) == set("abcdefgh") for at in range(4))


def test_the_seed_decides_the_order():
    orders = []
    for seed in (3, 3, 4):
        machine = FakeMachine(9)
        machine.race(EIGHT, seed=seed, budget=24)
        orders.append(machine.runs[:24])
    assert orders[0] == orders[1] != orders[2]


def test_what_is_nearly_as_fast_is_good_enough():
    found = FakeMachine(5, scatter=0.01).race({"a": 0.1, "b": 0.1003})
    assert found.reached
    assert 0.0 < found.certificate.bound <= math.log(1.02)
    assert "fastest, or at most" in found.sentence


def test_a_budget_ends_it_undecided():
    found = FakeMachine(6, scatter=0.2).race({"a": 0.1, "b": 0.1003}, budget="2s")
    assert not found.reached
    assert 2.0 <= found.seconds < 3.0
    assert found.sentence.startswith("Undecided")
    assert sum(times.size for times in FakeMachine(6, scatter=0.2).race(
        {"a": 0.1, "b": 0.1003}, budget=20).times.values()) == 20  # fmt: skip


def test_without_a_budget_it_ends_after_five_minutes_but_not_before_twelve_rounds():
    slow = FakeMachine(7, scatter=0.5).race({"a": 60.0, "b": 60.1})
    assert slow.rounds + 1 == AT_LEAST
    quick = FakeMachine(8, scatter=1.0).race({"a": 4.0, "b": 4.01}, eps="0.1%")
    assert PATIENCE <= quick.seconds < 1.1 * PATIENCE


@pytest.mark.parametrize(
    ("times", "verdict"),
    [
        ({"old": 0.1, "new": 0.1}, "within"),
        ({"old": 0.1, "new": 0.08}, "within"),
        ({"old": 0.1, "new": 0.11}, "slower"),
    ],
)
def test_a_candidate_is_compared_with_its_baseline(times, verdict):
    found = FakeMachine(8, scatter=0.01).race(times, versus=("old", "new"))
    assert found.versus.verdict == verdict
    assert found.reached


def test_a_candidate_exactly_at_the_limit_stays_undecided():
    found = FakeMachine(8, scatter=0.03).race({"old": 0.1, "new": 0.102}, versus=("old", "new"), budget=200)
    assert found.versus.verdict == "undecided"
    assert not found.reached


def test_a_candidate_that_is_too_slow_is_seldom_let_pass():
    """At most 5 %; with 60 races more than 9 are seen once in 1,000 if it were exactly that."""
    passed = sum(
        FakeMachine(seed, scatter=0.05, outliers=0.1).race(
            {"old": 0.1, "new": 0.1021}, versus=("old", "new"), budget=60
        ).versus.verdict == "within"
        for seed in range(60)
    )  # fmt: skip
    assert passed <= 9


def test_a_first_run_that_is_slow_is_told_and_not_counted():
    found = FakeMachine(10, cold=2.0).race({"a": 0.1, "b": 0.13})
    assert found.reached
    assert max(found.times["a"][1:]) < 0.2 < found.times["a"][0]
    assert any("first run" in said for said in found.cautions)


def test_drift_and_disturbed_runs_are_told():
    found = FakeMachine(11, scatter=0.01, drift=0.03).race({"a": 0.1, "b": 0.1003}, eps="0.5%", budget=160)
    assert any("everything became" in said for said in found.cautions)
    found = FakeMachine(12, scatter=0.01, outliers=0.15, far=2.0).race(
        {"a": 0.1, "b": 0.1003}, eps="0.2%", budget=160
    )
    assert any("longer than usual" in said for said in found.cautions)
    assert FakeMachine(13).race({"a": 0.1, "b": 0.12}).cautions == []


def test_a_race_that_is_interrupted_says_what_it_knows():
    machine, count = FakeMachine(14), iter(range(10**6))
    inner = [machine.timed("a", 0.1), machine.timed("b", 0.2)]

    def take_until_interrupted():
        if next(count) == 9:
            raise KeyboardInterrupt
        return inner[1].take()

    race = Race(
        [inner[0], Timed("b", take_until_interrupted)], eps="2%", seed=0, progress=False, budget=10**6,
        confidence=0.9999, clock=lambda: machine.now,
    )  # fmt: skip
    found = race.run()
    assert found.interrupted
    assert found.times["a"].size == found.times["b"].size == 9
    assert "interrupted" in found.sentence
    assert found.certificate.n_measurements == 18


def test_an_interruption_before_the_first_round_is_passed_on():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Race([Timed("a", interrupted), Timed("b", interrupted)], eps="2%", progress=False).run()


def test_the_study_can_be_kept_and_its_certificate_verified(tmp_path):
    found = FakeMachine(15).race({"a": 0.1, "b": 0.2}, store=tmp_path / "kept.db")
    kept = nw.load_study(tmp_path / "kept.db")
    assert nw.verify_certificate(found.certificate, kept).option == "a"
    assert kept.frame("items")["item"].n_unique() == found.rounds + 1
    again = FakeMachine(15).race({"a": 0.1, "b": 0.2}, store=tmp_path / "kept.db")
    assert again.study.name == "timings 2"


def test_the_table_has_every_option_the_fastest_first():
    found = FakeMachine(16).race({"slow": 0.3, "quick": 0.1})
    assert [row.name for row in found.rows] == ["quick", "slow"]
    assert found.rows[1].ratio.low < 3.0 < found.rows[1].ratio.high
    head, first, second = found.table()
    assert "mean, ms" in head
    assert first.startswith("quick")
    assert second.startswith("slow")
    assert found.sentence in str(found)
    assert "quick" in found._repr_html_()


def test_the_limits_of_the_table_never_contradict_the_certificate():
    for seed in range(5):
        found = FakeMachine(seed, scatter=0.04).race({"a": 0.1, "b": 0.125, "c": 0.16})
        assert found.certificate.bound == 0.0
        assert all(row.ratio.low > 1.0 for row in found.rows if row.name != found.option)


def test_times_are_told_as_hyperfine_tells_them():
    found = FakeMachine(17).race({"a": 0.1, "b": 0.2})
    plain = found.to_plain()
    first = plain["results"][0]
    assert first["command"] == "a"
    assert first["mean"] == pytest.approx(np.mean(found.times["a"][1:]))
    assert len(first["times"]) == found.rounds
    assert plain["certificate"]["option"] == "a"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"budget": "soon"}, "`budget` must be"),
        ({"budget": {"cost": 3}}, "`budget` must be a time"),
        ({"budget": 2.5}, "`budget` must be"),
        ({"warmup": 0}, "`warmup` must be"),
        ({"eps": "much"}, "`eps` must be"),
        ({"confidence": 2.0}, "`confidence` must lie"),
    ],
)
def test_nonsense_is_refused_before_anything_runs(given, said):
    machine = FakeMachine(0)
    with pytest.raises(ValueError, match=said):
        machine.race({"a": 0.1, "b": 0.2}, **given)
    assert machine.runs == []


def test_one_option_or_two_of_the_same_name_are_refused():
    machine = FakeMachine(0)
    with pytest.raises(ValueError, match="at least two"):
        machine.race({"a": 0.1})
    with pytest.raises(ValueError, match="name of its own"):
        Race([machine.timed("a", 1.0), machine.timed("a", 2.0)], eps="2%")


def test_slow_runs_of_one_option_alone_are_called_its_own_doing():
    rng = np.random.default_rng(3)
    slow = np.where(rng.random(60) < 0.3, 1.5, 1.0)
    steady = {"fitful": slow, "steady": np.ones(60)}
    scattered = {name: runs * np.exp(0.01 * rng.normal(size=60)) for name, runs in steady.items()}
    said = cautions_of(scattered)[-1]
    assert f"{(slow[1:] > 1.0).sum()} of them of `fitful`" in said
    assert "need not be true of its typical time" in said
    both = {name: runs * np.where(rng.random(60) < 0.3, 1.5, 1.0) for name, runs in scattered.items()}
    both["fitful"] = both["fitful"] / slow
    said = cautions_of(both)[-1]
    assert said.endswith("so that they do little harm.")
