"""Answers of finished tables: who is named, how often that is wrong, and what is said beside it."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.effort import effort
from tests.support.one_look import Tables

import noisewise as nw
from noisewise.study.certificates.bound import certify

NINE = {"A": [10.1, 10.0, 9.9], "B": [50.1, 49.9, 50.3], "C": [30.0, 30.1, 29.8]}
RUNS = effort(40, 1000)
#: Wrong certificates that chance allows, with a false-alarm probability of 0.1 %.
MOST = binom.isf(1e-3, RUNS, 0.05)


def answer_of(table, **question):
    return nw.read_table(table).answer(**question)


def summed(table):
    """Readings as mean, sd and n."""
    return [
        {"option": name, "mean": float(np.mean(x)), "sd": float(np.std(x, ddof=1)), "n": len(x)}
        for name, x in table.items()
    ]


def test_nine_readings_are_enough_for_a_clear_winner_however_they_are_told():
    rows = [{"option": name, "value": x} for name, values in NINE.items() for x in values]
    close = {"A": [9.1, 10.0, 10.9], "B": [10.8, 10.0, 11.2], "C": [9.0, 10.1, 9.8]}
    for table in (NINE, rows, summed(NINE)):
        found = answer_of(table)
        assert (found.option, found.bound) == ("B", 0.0)
        assert [row.option for row in found.league] == ["B", "C", "A"]
        assert "Take B" in str(found)
    assert answer_of(summed(close)).bound == pytest.approx(answer_of(close).bound, rel=1e-9)


def test_equal_scatter_is_used_where_it_is_declared():
    close = {"A": [9.1, 10.0, 10.9], "B": [10.8, 10.0, 11.2], "C": [9.0, 10.1, 9.8]}
    assert (
        answer_of(close, scatter="pooled").bound
        < answer_of(close).bound
        < answer_of(close, scatter="own").bound
    )


def test_readings_without_scatter_need_a_resolution():
    same = {"A": [1.0, 1.0], "B": [2.0, 2.0]}
    assert "noise_floor" in answer_of(same).sentence
    assert answer_of(same, noise_floor=0.01).bound == 0.0
    single = answer_of([{"option": name, "value": x} for name, x in (("A", 1.0), ("B", 2.0), ("C", 4.5))])
    assert "read some options again" in single.sentence
    assert [row.low for row in single.league] == [None, None, None] or single.certificate.withheld


def test_zeros_and_ones_are_successes():
    table = {"A": [1] * 19 + [0], "B": [0] * 15 + [1] * 5, "C": [0, 1] * 10}
    found = answer_of(table)
    assert found.option == "A"
    assert found.certificate.evidence == ("one look: counts",)


def test_items_are_paired_and_their_own_answer_is_named():
    rng = np.random.default_rng(1)
    hard = rng.normal(0.0, 3.0, 60)
    rows = [
        {"prompt": name, "question": f"q{k}", "score": float(hard[k] + gain + rng.normal(0.0, 0.3))}
        for name, gain in (("short", 0.0), ("long", 0.5))
        for k in range(60)
    ]
    found = answer_of(rows)
    assert (found.option, found.bound) == ("long", 0.0)
    assert found.certificate.evidence == ("one look: paired values",)
    assert [row.count for row in found.league] == [60, 60]
    assert found.league[0].estimate == pytest.approx(np.mean([r["score"] for r in rows[60:]]))


def test_less_of_a_time_is_better_unless_another_goal_is_given():
    rows = [
        {"query": name, "seconds": x}
        for name, mean in (("a", 1.0), ("b", 3.0))
        for x in mean + np.arange(5) / 9
    ]
    assert answer_of(rows).option == "a"
    assert "Smaller values are better" in str(answer_of(rows))
    assert answer_of(rows, goal="max").option == "b"


def trials(rng, studies=6, spread=0.0):
    """Arms of studies of three drugs."""
    return [
        {"study": f"S{k}", "treatment": drug, "mean": round(float(mean), 4), "sd": 2.0, "n": 100}
        for k in range(studies)
        for drug, gain in (("placebo", 0.0), ("low", 1.0), ("high", 2.5))
        for mean in [5.0 * k + gain + (0.2 + spread) * rng.standard_normal()]
    ]


def test_trials_have_estimated_extra_scatter_and_the_bound_without_beside_it():
    found = answer_of(trials(np.random.default_rng(3)))
    assert found.beside is not None
    assert found.bound >= found.beside
    assert "contradict" in answer_of(trials(np.random.default_rng(3), spread=0.8)).notes[0]
    assert found.notes[0].startswith("Error bars of trials are widened")
    assert found.certificate.approximate
    plain = answer_of(trials(np.random.default_rng(3)), extra_scatter=None)
    assert not plain.certificate.approximate
    few = answer_of(trials(np.random.default_rng(3), studies=2))
    assert "alone" in few.notes[0]
    assert few.option == "high"


def test_a_league_table_against_one_option():
    found = answer_of(trials(np.random.default_rng(3)), against="placebo")
    ends = {row.option: (row.low, row.high) for row in found.league}
    assert ends["placebo"] == (None, None)
    assert ends["high"][0] < 2.5 < ends["high"][1]
    assert found.table.heading == "minus placebo"
    with pytest.raises(ValueError, match="no option 'plcebo'"):
        answer_of(trials(np.random.default_rng(3)), against="plcebo")


def test_the_answer_is_data_too(tmp_path):
    path = tmp_path / "nine.csv"
    path.write_text("option,value\n" + "".join(f"{k},{x}\n" for k, values in NINE.items() for x in values))
    found = answer_of(path, eps=1)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["certificate"]["option"] == "B"
    assert plain["league"][0]["count"] == 3
    assert plain["command"] == f"noisewise init nine.db --from {path} --eps 1"
    found.report(tmp_path / "page.html")
    assert "nine" in (tmp_path / "page.html").read_text()


def test_rows_that_disagree_are_answered_with_extra_scatter_unless_a_cause_is_found():
    lines = {"A": (76, 44), "B": (70, 43), "C": (74, 55), "D": (56, 67), "E": (47, 62)}
    rows = [
        {"coating": name, "line": f"L{k}", "mean": float(mean), "sd": 3.0, "n": 5}
        for name, means in lines.items()
        for k, mean in enumerate(means)
    ]
    found = answer_of(rows)
    assert found.notes[0].startswith("Rows disagree by more than their error bars")
    assert found.certificate.approximate
    assert not found.certificate.withheld
    rng = np.random.default_rng(0)
    rows = [
        {"option": f"o{k}", "value": round(90.0 + k + 0.3 * rng.normal(), 1), "se": 0.3}
        for k in range(8)
        for _ in range(3)
    ]
    rows[-1]["value"] /= 10.0
    found = answer_of(rows)
    assert found.certificate.withheld
    assert "is its decimal point right?" in found.next_steps[0]
    assert "Correct it first" in found.next_steps[0]


def test_an_answer_says_which_differences_it_can_tell_apart():
    found = answer_of(summed(NINE))
    assert found.resolution is not None
    assert f"differ by {found.resolution.difference:.3g} (in 4 of 5 such tables)" in str(found)
    assert found.to_dict()["resolution"] == found.resolution.difference


def draw(kind, options, n, rng):
    """Errors of readings with standard deviation 1; one option of the last kinds has 3."""
    if kind == "lognormal":
        return (np.exp(rng.standard_normal((options, n))) - math.exp(0.5)) / math.sqrt(
            (math.e - 1.0) * math.e
        )
    if kind == "minus lognormal":
        return -draw("lognormal", options, n, rng)
    scatter = np.ones((options, 1))
    if kind != "normal":
        scatter[0 if kind == "best scatters more" else 1] = 3.0
    return scatter * rng.standard_normal((options, n))


@pytest.mark.parametrize("shape", [(3, 3), (8, 3), (3, 6)], ids=str)
@pytest.mark.parametrize("told", ["readings", "mean, sd and n"])
@pytest.mark.parametrize(
    "kind", ["normal", "lognormal", "minus lognormal", "best scatters more", "rival scatters more"]
)
def test_small_tables_are_seldom_wrong(kind, told, shape):
    options, n = shape
    tables = Tables(options=[f"o{k}" for k in range(options)], features=None, eps=0.5)
    rng = np.random.default_rng([options, n])
    for gap in (100.0, 1.0, 0.0, 2.5 / math.sqrt(n)):  # the last is where mistakes are likeliest
        wrong = 0
        for _ in range(RUNS):
            readings = draw(kind, options, n, rng) - gap * (np.arange(options) > 0)[:, None]
            rows = [{"option": f"o{k}", "value": float(x)} for k, row in enumerate(readings) for x in row]
            if told != "readings":
                rows = [
                    {"option": f"o{k}", "value": float(row.mean()), "sd": float(row.std(ddof=1)), "n": n}
                    for k, row in enumerate(readings)
                ]
            certificate = certify(tables.analysis(rows))
            assert not certificate.withheld
            lost = 0.0 if certificate.option == "o0" else gap
            wrong += lost > certificate.bound + 1e-12 or (certificate.reached and lost > 0.5)
            assert gap < 100.0 or (certificate.option, certificate.bound) == ("o0", 0.0)
        assert wrong <= MOST


@pytest.mark.parametrize("kind", ["normal", "unequal", "zeros and ones", "rare successes"])
@pytest.mark.parametrize(("options", "items"), [(3, 8), (6, 40)])
def test_paired_values_are_seldom_wrong(kind, options, items):
    tables = Tables(options=[f"o{k}" for k in range(options)], features=None, eps=0.02)
    rng = np.random.default_rng([options, items])
    chance = {"zeros and ones": (0.6, 0.4), "rare successes": (0.06, 0.01)}.get(kind)
    for size in (1.0, 2.5):
        wrong = 0
        for _ in range(RUNS):
            if chance is None:
                gap = size / math.sqrt(items)
                values = rng.standard_normal((options, items)) + rng.normal(0.0, 5.0, items)
                values[0] = values[0] * (3.0 if kind == "unequal" else 1.0)
                values[0] += gap
            else:
                shared = rng.random(items) < 0.5
                high, low = chance
                share = np.r_[high, np.full(options - 1, high - (high - low) * size / 2.5)]
                values = (
                    (rng.random((options, items)) < share[:, None]) & (shared | (rng.random(items) < 0.5))
                ) + 0.0
                gap = 0.75 * float(share[0] - share[1])
            rows = [
                {"option": f"o{k}", "value": float(x), "block": f"b{b}"}
                for k, row in enumerate(values)
                for b, x in enumerate(row)
            ]
            certificate = certify(tables.analysis(rows))
            lost = 0.0 if certificate.option == "o0" else gap
            wrong += not certificate.withheld and lost > certificate.bound + 1e-12
        assert wrong <= MOST
