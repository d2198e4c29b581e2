"""Nothing that is shown says more than the certificate, in whatever state a study is."""

import json
import math
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import noisewise as nw
from noisewise.cli.app import app
from noisewise.core.support.words import percent
from noisewise.study.certificate import claims
from noisewise.study.certificate.bound import recommend, smallest_bound
from noisewise.study.evidence.half_widths import HalfWidths
from noisewise.study.models.levels import HARDLY_KNOWN

#: Words that no output may have while nothing is certified.
CLAIMING = re.compile(
    r"ruled out|is the best of|at most \S+ (below|above)|May still be better|best is known|known to be|"
    r"cannot be the best|that may be the best|is recommended|from the best"
)
runner = CliRunner()


def tell(study, rng, count, *, se=0.2, off=0.0, block=None):
    """Random measurements of random options around one truth; ``off`` makes them contradict each other."""
    names = study.options
    truth = dict(zip(names, np.linspace(0.0, 1.0, len(names)), strict=True))
    for i in range(count):
        option = names[int(rng.integers(len(names)))]
        value = truth[option] + se * rng.standard_normal() + off * (-1.0) ** i
        study.tell(option=option, value=value, se=se, **({} if block is None else {"block": block}))


def make(rng, **more):
    n = int(rng.integers(2, 7))
    goal = "max" if rng.random() < 0.5 else "min"
    eps = None if rng.random() < 0.2 else float(rng.choice([0.05, 0.3, 2.0]))
    return {"options": [f"A{k}" for k in range(n)], "goal": goal, "eps": eps or 0.1, **more}


def nothing(rng, store):
    return nw.create_study(store, **make(rng))


def told(rng, store):
    study = nw.create_study(store, **make(rng))
    tell(study, rng, int(rng.integers(1, 60)))
    return study


def misfit(rng, store):
    study = nw.create_study(store, **make(rng))
    tell(study, rng, 40, off=2.0)
    return study


def waiting(rng, store):
    study = nw.create_study(store, **make(rng), scatter="pooled")
    for _ in range(int(rng.integers(1, 5))):
        study.tell(option=study.options[0], values=rng.normal(size=3).tolist())
    return study


def unlinked(rng, store):
    study = nw.create_study(store, **make(rng))
    for place, option in enumerate(study.options):
        for _ in range(2):
            study.tell(option=option, value=float(rng.normal(place, 0.1)), se=0.1, block=f"b{place % 2}")
    return study


def unmeasured(rng, store):
    study = nw.create_study(store, **make(rng))
    for option in study.options[1:]:
        study.tell(option=option, value=float(rng.normal()), se=0.1)
    return study


def excluded(rng, store):
    study = told(rng, store)
    for option in study.options[: int(rng.integers(1, len(study.options) + 1))]:
        study.exclude(option, "broken")
    return study


def alone(rng, store):
    study = nw.create_study(store, **make(rng, options=["A0"]))
    tell(study, rng, 5, off=float(rng.choice([0.0, 3.0])))
    return study


def differences(rng, store):
    study = nw.create_study(store, **make(rng))
    names = study.options
    for _ in range(int(rng.integers(1, 12))):
        one, other = rng.choice(len(names), 2, replace=False)
        study.tell(plus=names[one], minus=names[other], value=float(rng.normal(one - other, 0.5)), se=0.5)
    return study


def beyond_the_span(rng, store):
    study = nw.create_study(store, **make(rng, span=0.5))
    for place, option in enumerate(study.options):
        study.tell(option=option, value=5.0 * place, se=0.1)
    return study


def decided(rng, store):
    study = nw.create_study(store, **make(rng))
    for place, option in enumerate(study.options):
        for _ in range(3):
            study.tell(option=option, value=place + 0.02 * float(rng.standard_normal()), se=0.02)
    return study


STATES = (
    nothing, told, misfit, waiting, unlinked, unmeasured, excluded, alone, differences, beyond_the_span,
    decided,
)  # fmt: skip


def strictly(text):
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


def texts(study):
    certificate, check = study.certificate(), study.check()
    return [
        str(certificate), certificate._repr_html_(), repr(study), study._repr_html_(), str(check),
        check._repr_html_(), str(study.worth()), *(repr(job) for job in asked(study)),
    ]  # fmt: skip


def asked(study):
    return study.ask(dry_run=True) if study._state.allowed().any() else []


def bound_like(study):
    """Every bound that any output holds."""
    ledger = study.worth().ledger
    bounds = [*ledger["bound_before"], *ledger["bound_after"]]
    if study._state.allowed().any():
        (slot,) = study.slot(0.1)
        bounds += [slot.bound_before, slot.bound_after]
    return [bound for bound in bounds if bound is not None]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_no_output_says_more_than_the_certificate(state, seed):
    study = state(np.random.default_rng(seed), ":memory:")
    certificate = study.certificate()
    plain = strictly(certificate.to_json())
    frame = study.frame("options")
    assert plain["bound"] == (certificate.bound if math.isfinite(certificate.bound) else None)
    assert plain["reached"] == (certificate.verdict == claims.REACHED)
    allowed = [row["option"] for row in frame.to_dicts() if row["excluded"] is None]
    answers = dict(zip(frame["option"], frame["may_be_best"], strict=True))
    if not certificate.may_show_bounds:
        assert certificate.bound == math.inf
        assert not certificate.reached
        assert list(certificate.candidates) == allowed  # nothing is ruled out
        assert set(answers.values()) <= {None}
        assert bound_like(study) == []
        for text in texts(study):
            assert not CLAIMING.search(text), text
        return
    for option in study.options:
        expected = (option in certificate.candidates) if option in allowed else None
        assert answers[option] == expected
    assert certificate.option in certificate.candidates
    _largest_estimate_is_named(certificate, frame, allowed)
    if certificate.verdict == claims.UNDECIDED:
        assert certificate.sentence.startswith("Nothing is decided yet: ")
        assert certificate.bound > certificate.spread
    if certificate.verdict == claims.UNBOUNDED:
        assert "without a bound yet" in certificate.sentence
        assert "at most" not in certificate.sentence


def _largest_estimate_is_named(certificate, frame, allowed):
    sign = 1.0 if certificate.goal == "max" else -1.0
    known = {
        row["option"]: sign * row["estimate"]
        for row in frame.to_dicts()
        if row["option"] in allowed and row["estimate"] is not None
    }
    assert known[certificate.largest_estimate] == pytest.approx(max(known.values()))
    assert certificate.n_compared == len(known)
    better = [name for name, value in known.items() if value > known[certificate.option] + 1e-12]
    assert certificate.rank == 1 + len(better)
    if better:
        assert certificate.largest_estimate in str(certificate)
        assert f"of {len(known)} by estimate" in str(certificate)


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_neither_pages_nor_charts_nor_commands_do(state, tmp_path):
    store = tmp_path / "study.db"
    study = state(np.random.default_rng(11), store)
    certificate = study.certificate()
    plan = study.plan(noise=0.1, span=1.0, paths=2, most=40) if study._state.allowed().any() else None
    page = study.report(tmp_path / "page.html", plan=plan).read_text("utf-8")
    # Of the scripts only what they draw: the library that draws is not ours.
    drawn = [study.plot.intervals().to_dict()] if certificate.option is not None else []
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL) + json.dumps(drawn)
    printed = {}
    for command in ("best", "status", "certify", "check", "worth"):
        for flag in ([], ["--json"]):
            done = runner.invoke(app, [command, str(store), *flag])
            assert done.exit_code in (0, 1, 3), done.output
            printed[command, bool(flag)] = done.stdout
    for (command, as_json), text in printed.items():
        if as_json:
            plain = strictly(text)
            inner = plain.get("certificate", plain)
            if command in ("best", "status", "certify"):
                assert inner["verdict"] == certificate.verdict
                assert inner["largest_estimate"] == certificate.largest_estimate
                assert (inner["bound"] is None) == math.isinf(certificate.bound)
    if certificate.verdict == claims.UNBOUNDED:
        assert "All others are ruled out" not in shown
        assert "more cannot be compared with it yet" in shown
    if certificate.may_show_bounds:
        assert certificate.sentence.split(",")[0] in page
        if certificate.beside:
            assert certificate.largest_estimate in printed["best", False]
        return
    for text in (shown, *(text for (_, as_json), text in printed.items() if not as_json)):
        assert not CLAIMING.search(" ".join(text.split())), text
    if plan is not None:
        assert plan.to_plain()["bound"] is None
    with pytest.raises(ValueError, match="there is no bound"):
        study.plot.bound()


def test_a_sixteenth_of_twenty_two_is_not_named_without_saying_so():
    study = nw.create_study(options=[f"A{k:02d}" for k in range(22)], eps=0.1)
    for k in range(22):
        study.tell(option=f"A{k:02d}", value=0.1 * k, se=0.2 if k == 6 else 5.0)
    certificate = study.certificate()
    assert certificate.option == "A06"
    assert (certificate.verdict, certificate.rank) == ("undecided", 16)
    assert certificate.sentence.startswith("Nothing is decided yet: A06 is at most ")
    assert "which is more than any two estimates differ (2.1)" in certificate.sentence
    said = (
        "The largest estimate is that of A21, 2.1; A06 is 16th of 22 by estimate and has the smallest bound."
    )
    assert said in str(certificate)
    assert said in repr(study)
    assert json.loads(certificate.to_json())["largest_estimate"] == "A21"


def test_both_sides_of_a_difference_are_measurements():
    study = nw.create_study(options=["A", "B", "C"], eps=0.1)
    study.tell(plus="A", minus="B", value=1.0, se=0.1)
    study.tell(plus="C", minus="B", value=1.0, se=0.1)
    assert study.frame("options")["measurements"].to_list() == [1, 2, 1]


def test_a_bound_that_is_not_a_number_is_infinite(monkeypatch):
    class Unknown(HalfWidths):
        def half_widths(self, option):
            return np.full(3, np.nan)

    means = np.array([1.0, 2.0, 3.0])
    option, gaps = smallest_bound(lambda k: means - means[k], np.arange(3), Unknown())
    assert np.isinf(np.delete(gaps, option)).all()
    study = nw.create_study(options=["A", "B", "C"], eps=0.5)
    for name in "ABC":
        study.tell(option=name, value=1.0, se=0.1)
    for widths in ("half_widths", "lead_widths"):
        monkeypatch.setattr(type(study._now().boundary), widths, lambda *_: np.full(3, np.nan))
    found = recommend(study._now())
    assert found.bound == math.inf
    assert found.candidates.all()
    certificate = study.certificate()
    assert (certificate.verdict, certificate.reached) == ("unbounded", False)
    assert "cannot be computed" in certificate.sentence


@pytest.mark.parametrize(
    ("share", "decimals", "said"),
    [
        (0.95, None, "95 %"),
        (0.999, None, "99.9 %"),
        (0.999999, None, "99.9999 %"),
        (1.0 - 1e-15, None, "over 99.99999999 %"),
        (1.0, None, "100 %"),
        (0.99999, 1, "over 99.9 %"),
        (1e-6, 1, "under 0.1 %"),
        (0.0, 1, "0.0 %"),
        (1.0, 0, "100 %"),
        (0.5, 0, "50 %"),
    ],
)
def test_per_cents_say_all_only_of_all(share, decimals, said):
    assert percent(share, decimals) == said


def test_a_high_confidence_is_not_certainty():
    study = nw.create_study(options=["A", "B"], eps=0.5, confidence=0.999999)
    study.tell(option="A", value=1.0, se=0.01)
    study.tell(option="B", value=0.0, se=0.01)
    assert "with 99.9999 % confidence" in study.certificate().sentence


def test_when_something_is_told_is_an_assumption():
    study = nw.create_study(options=["A", "B"], eps=0.5)
    study.tell(option="A", value=1.0, se=0.1)
    assert any("no good run comes in sooner" in said for said in study.certificate().assumptions)


def test_a_control_is_shown_at_the_average_of_its_days_whichever_day_the_fit_takes_for_zero():
    rng = np.random.default_rng(0)
    study = nw.create_study(options=["control", "B"], eps=0.01)
    days = []
    for day, level in enumerate((0.07, 0.11, 0.15, 0.11)):
        read = level + 0.01 * rng.standard_normal(5 if day else 15)  # the first day has the most precision
        for value in read:
            study.tell(option="control", value=value, se=0.01, block=f"day {day}")
            study.tell(option="B", value=value + 0.02, se=0.01, block=f"day {day}")
        days.append(np.mean(read))
    shown = study.frame("options")["estimate"]
    assert shown[0] == pytest.approx(np.mean(days), abs=1e-9)
    assert shown[1] - shown[0] == pytest.approx(0.02)
    assert study.certificate().estimate == shown[1]


def test_small_shares_are_precise_and_do_not_pull_the_level_down():
    study = nw.create_study(options=["control", "B"], eps=0.01)
    shares = (0.03, 0.05, 0.2, 0.16)
    for day, share in enumerate(shares):
        for option, more in (("control", 0), ("B", 20)):
            successes = round(1000 * share) + more
            study.tell(option=option, successes=successes, trials=1000, block=f"day {day}")
    # Precision would weigh the smallest share five times as much as the largest, and show 0.07.
    assert study.frame("options")["estimate"][0] == pytest.approx(np.mean(shares), abs=2e-3)


def test_a_block_that_is_hardly_known_does_not_carry_the_level_away():
    study = nw.create_study(options=["control", "B"], eps=0.01)
    for day in range(4):
        for option in ("control", "B"):
            study.tell(option=option, value=0.1, se=0.01, block=f"day {day}")
    study.tell(option="control", value=900.0, se=300.0, block="a wild day")
    assert study.frame("options")["estimate"][0] == pytest.approx(0.1, abs=0.01)


def test_unlinked_options_are_not_shown_as_if_they_could_be_compared():
    study = nw.create_study(options=["A", "B", "C"], eps=0.1)
    study.tell(option="A", value=1.0, se=0.1, block="x")
    study.tell(option="B", value=2.0, se=0.1, block="x")
    study.tell(option="C", value=90.0, se=0.1, block="y")
    assert study.frame("options")["estimate"].to_list()[2] is None
    assert study.certificate().largest_estimate == "B"


def test_differences_alone_are_shown_around_zero_in_any_order():
    shown = []
    for names in (["A", "B", "C"], ["C", "A", "B"]):
        study = nw.create_study(options=names, eps=0.1)
        study.tell(plus="A", minus="B", value=1.0, se=0.1)
        study.tell(plus="B", minus="C", value=1.0, se=0.1)
        frame = study.frame("options")
        shown.append(dict(zip(frame["option"], frame["estimate"], strict=True)))
    assert shown[0] == pytest.approx({"A": 1.0, "B": 0.0, "C": -1.0})
    assert shown[0] == pytest.approx(shown[1])


def test_standard_errors_are_those_of_the_values_shown_whichever_node_is_zero():
    """Against the pseudo-inverse of the network, with blocks and with differences alone."""
    rng = np.random.default_rng(0)
    for blocks in (True, False):
        names = ["A", "B", "C", "D"]
        study, nodes = nw.create_study(options=names, eps=0.1), 4 + 3 * blocks
        laplacian, weights = np.zeros((nodes, nodes)), np.zeros(3)
        for i in range(24):
            one, se = i % 4, float(rng.uniform(0.1, 1.0))
            other = 4 + int(rng.integers(3)) if blocks else (one + 1 + int(rng.integers(3))) % 4
            row = np.eye(nodes)[one] - np.eye(nodes)[other]
            laplacian += np.outer(row, row) / se**2
            if blocks:
                weights[other - 4] += se**-2.0
                study.tell(option=names[one], value=float(rng.normal()), se=se, block=f"b{other}")
            else:
                study.tell(plus=names[one], minus=names[other], value=float(rng.normal()), se=se)
        level = np.r_[np.zeros(4), np.full(3, 1 / 3)] if blocks else np.full(4, 0.25)
        assert not blocks or weights.min() > HARDLY_KNOWN * np.median(weights)
        contrasts = np.eye(nodes)[:4] - level
        expected = np.sqrt(np.diagonal(contrasts @ np.linalg.pinv(laplacian) @ contrasts.T))
        assert study.frame("options")["se"].to_numpy() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("told", "only"),
    [
        ([("A", None), ("B", None)], False),  # values without a block have a level
        ([("A", "x"), ("B", "x")], False),  # and so have those of one block
        ([("A", None), ("B", None), ("A", "minus B")], False),  # beside them differences have it, too
        ([("A", "x"), ("B", "x"), ("A", "y")], True),
        ([("A", "minus B")], True),
        ([("A", "x"), ("B", "x"), ("A", "minus B")], True),
    ],
)
def test_differences_come_first_where_nothing_else_is_known(told, only):
    study = nw.create_study(options=["A", "B"], eps=0.1)
    for option, where in told:
        if where == "minus B":
            study.tell(plus=option, minus="B", value=1.0, se=0.1)
        else:
            study.tell(option=option, value=1.0 + (option == "A"), se=0.1, block=where)
    frame = study.frame("options")
    assert (frame.columns[1] == "difference") == only
    if only:
        assert frame["difference"].to_list() == pytest.approx([0.0, -1.0])
        assert frame["difference_se"][0] == 0.0
        assert frame["linked"].to_list() == [True, True]


def test_values_without_error_bars_that_were_repeated_are_not_said_to_be_new():
    study = nw.create_study(options=["A", "B"], eps=0.5)
    for k in range(12):
        study.tell(option="A", value=1.0 + 0.01 * k)
        study.tell(option="B", value=2.0 - 0.01 * k)
    said = study.certificate().assumptions[-1]
    assert said == "not checked: whether the model fits (nothing with an error bar was repeated)"
