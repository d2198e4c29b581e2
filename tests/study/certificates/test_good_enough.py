"""Options that are certainly within eps of the best, those that are not, and the cheapest of the first."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import noisewise as nw
from noisewise.cli.app import app
from noisewise.operations.objects import certificate_from
from noisewise.study.models.analysis import Analysis

VALUES = {"A": 100.0, "B": 99.5, "C": 99.2, "D": 90.0, "E": 97.9}
COSTS = [15.0, 10.0, 5.0, 1.0, 2.0]
#: Of 200 studies at 95 %, more than 21 are wrong with a probability below 0.1 %.
STUDIES, MOST_WRONG = 200, 21


def study_of(values=VALUES, costs=COSTS, se=0.2, store=":memory:", **question):
    table = {"option": list(values), **({"cost": costs} if costs else {})}
    study = nw.create_study(store, options=table, **{"eps": 2, **question})
    for option, value in values.items():
        study.tell(option=option, value=value, se=se)
    return study


def test_options_are_sorted_and_the_cheapest_is_named():
    certificate = study_of().certificate(cheapest=True)
    found = certificate.good_enough
    assert (found.options, found.worse, found.undecided) == (("A", "B", "C"), ("D",), ("E",))
    assert (found.cheapest, found.cost, found.cost_of_recommended) == ("C", 5.0, 15.0)
    assert certificate.lines()[2:6] == [
        "Take C: certainly within 2 of the best, with 95 % confidence, at 33 % of the cost of A "
        "(5 instead of 15).",
        "Certainly good enough (3): A, B, C.",
        "Certainly not (1): D.",
        "Undecided (1): E.",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"costs": None}, "Take A: certainly within 2 of the best, with 95 % confidence. Without costs"),
        ({"costs": [1, 2, 3, 4, 5]}, "Take A: certainly within 2 of the best, with 95 % confidence; no"),
        ({"eps": 0.1}, "No option is certainly within 0.1 of the best yet."),
        ({"goal": "min"}, "Take D: certainly within 2 of the best"),
        ({"scale": "log", "eps": "2%", "se": 0.1}, "Take C: certainly within 2 % of the best"),
    ],
)  # fmt: skip
def test_advice(change, said):
    assert any(line.startswith(said) for line in study_of(**change).certificate(cheapest=True).lines())


def test_it_is_asked_for_and_needs_eps():
    study = study_of()
    assert study.certificate().good_enough is None
    assert "good_enough" not in json.loads(study.certificate().to_json())
    with pytest.raises(ValueError, match="`cheapest` needs a study with `eps`"):
        study_of(eps=None, final=True).certificate(cheapest=True)


def test_it_travels_as_json_and_is_verified():
    study = study_of()
    certificate = study.certificate(cheapest=True)
    plain = json.loads(certificate.to_json())
    assert certificate_from(plain).good_enough == certificate.good_enough
    assert nw.verify_certificate(certificate.to_json(), study).good_enough == certificate.good_enough
    plain["good_enough"]["options"].append("D")
    with pytest.raises(ValueError, match="the certificate says good_enough="):
        nw.verify_certificate(json.dumps(plain), study)


def test_nothing_is_named_while_nothing_is_certified():
    study = study_of()
    for k in range(8):
        study.tell(option="A", value=100.0 + 3.0 * (k % 2), se=0.01)
    certificate = study.certificate(cheapest=True)
    assert certificate.withheld
    assert set(certificate.good_enough.undecided) == set(VALUES)
    assert certificate.good_enough.lines(certificate) == []
    empty = nw.create_study(options=["A", "B"], eps=1).certificate(cheapest=True)
    assert empty.good_enough.undecided == ("A", "B")


def test_one_look_names_none_that_is_worse():
    certificate = study_of(final=True).certificate(cheapest=True)
    assert certificate.once
    assert certificate.good_enough.options == ("A", "B", "C")
    assert certificate.good_enough.worse == ()
    assert "One look at a finished table cannot say which of these certainly are not." in certificate.lines()


def test_deviations_need_bounds_for_all_pairs():
    """Of several options that are named each pays for the others, but the recommended one."""
    rng = np.random.default_rng(1)
    table = {"option": [f"o{k}" for k in range(8)], "x": rng.normal(size=8), "y": rng.normal(size=8)}
    question = {"options": table, "model": "linear+deviation:0.2", "eps": 1.0}
    for final in (False, True):
        study = nw.create_study(**question, final=final)
        for k in range(8):
            value = float(table["x"][k] + 0.4 * table["y"][k])
            study.tell(option=f"o{k}", value=value, se=0.05)
        now = Analysis(study._log.state)
        certificate = study.certificate(cheapest=True)
        assert certificate.reached
        assert certificate.option in certificate.good_enough.options
        if final:
            assert now.every_pair is None
            assert certificate.good_enough.options == (certificate.option,)
        else:
            others = np.arange(8) != 0
            assert (
                now.every_pair.boundary.half_widths(0)[others] > now.boundary.half_widths(0)[others]
            ).all()


def test_bounds_of_pairs_leave_those_of_the_certificate_as_they_are():
    study = study_of()
    now = Analysis(study._log.state)
    before = now.boundary.half_widths(0)
    wider = now.every_pair.boundary.half_widths(0)
    assert (wider[1:] > before[1:]).all()
    assert np.array_equal(Analysis(study._log.state).boundary.half_widths(0), before)
    study.exclude("D", "broken")  # from now on all bounds are for every pair
    now = Analysis(study._log.state)
    assert now.every_pair is now
    assert "D" not in sum(
        (
            study.certificate(cheapest=True).good_enough.options,
            study.certificate(cheapest=True).good_enough.worse,
        ),
        (),
    )


@pytest.mark.parametrize("many", [3, 30])
def test_few_rivals_and_many_give_the_same_set(many):
    """Whether rivals are gone through or options: the largest advantage of any rival decides."""
    rng = np.random.default_rng(many)
    values = {f"o{k}": float(value) for k, value in enumerate(rng.normal(0.0, 1.0, many))}
    study = study_of(values, None, se=0.3, eps=1.5)
    now, certificate = Analysis(study._log.state), study.certificate(cheapest=True)
    rivals = [now.state.index[name] for name in certificate.candidates]
    most = [
        (now.certified.differences(k) + np.where(np.arange(many) == k, 0.0, now.boundary.half_widths(k)))[
            rivals
        ].max()
        for k in range(many)
    ]
    assert set(certificate.good_enough.options) == {f"o{k}" for k in range(many) if most[k] <= 1.5}


def test_league_table_frame_and_report_show_it(tmp_path):
    study = study_of()
    league = study.league()
    assert {row.option: row.good_enough for row in league.rows} == {
        "A": True, "B": True, "C": True, "D": False, "E": None,
    }  # fmt: skip
    assert "within 2" in str(league).splitlines()[0]
    assert "within 2" in league._repr_html_()
    frame = study.frame("options")
    assert frame["good_enough"].to_list() == [True, True, True, False, None]
    assert "good_enough" not in study_of(eps=None, final=True).frame("options").columns
    assert "within" not in str(study_of(eps=None, final=True).league())
    page = study.report(tmp_path / "page.html").read_text("utf-8")
    assert page.count('class="bar enough"') == 2
    assert "good enough" in page


def test_the_command(tmp_path):
    store = tmp_path / "s.db"
    study_of(store=store)
    done = CliRunner().invoke(app, ["certify", str(store), "--cheapest"])
    assert done.exit_code == 0, done.output
    assert "Take C: certainly within 2 of the best" in done.stdout
    done = CliRunner().invoke(app, ["certify", str(store), "--cheapest", "--json"])
    assert json.loads(done.stdout)["certificate"]["good_enough"]["cheapest"] == "C"
    bare = tmp_path / "bare.db"
    study_of(store=bare, eps=None, final=True)
    done = CliRunner().invoke(app, ["certify", str(bare), "--cheapest"])
    assert str(done.exception).startswith("--cheapest needs a study with --eps")


def test_sets_are_wrong_no_more_often_than_they_say():
    """Options just within and just beyond eps, looked at after every measurement; a false alarm in 0.1 %."""
    behind = {"A": 0.0, "B": 0.9, "C": 0.95, "D": 1.05, "E": 1.1}
    wrong = decided = 0
    for seed in range(STUDIES):
        rng, study = np.random.default_rng(seed), nw.create_study(options=list(behind), eps=1, confidence=0.8)
        bad = False
        for look in range(20):
            option = "ABCDE"[look % 5]
            se = float(rng.uniform(0.1, 0.4))
            study.tell(option=option, value=float(rng.normal(-behind[option], se)), se=se)
            if look < 4:
                continue
            found = study.certificate(cheapest=True).good_enough
            bad |= any(behind[name] > 1.0 for name in found.options)
            bad |= any(behind[name] <= 1.0 for name in found.worse)
        decided += bool(found.options or found.worse)
        wrong += bad
    assert decided > STUDIES / 2
    assert wrong <= 0.2 * STUDIES + 3.1 * math.sqrt(0.2 * 0.8 * STUDIES)
