"""Every surface of a study in every state: sentence, table, chart, page, commands and JSON say the same."""

import json
import math
import re

import pytest
from click.testing import CliRunner
from tests.support.report_states import LOGS, STATES

import noisewise as nw
from noisewise.cli.app import app
from noisewise.cli.shell import ShellWords
from noisewise.core.text import rounded_up
from noisewise.operations.words import said as said_by_command
from noisewise.operations.words import speaking

#: What none may say while nothing is certified.
CLAIMING = re.compile(
    r"ruled out|is the best of|is the best,|at most [\d.e-]+ \S* ?(below|above|from|slower)|"
    r"May still be better|is recommended|: recommended|from the best, at most|as close to the best",
    re.IGNORECASE,
)
BOUND = re.compile(r"at most ([\d.]+(?:e-?\d+)?)", re.IGNORECASE)
COMMANDS = ("status", "certify", "check", "worth")
runner = CliRunner()


#: What the short suite looks at: with a bound, ready, withheld, in blocks, on a log scale.
SHORT = ("bounded", "ready", "withheld_for_misfit", "days", "log_bounded")


def some(states):
    """All states; those that are not in `SHORT` in the long suite."""
    return [
        state if state.__name__ in SHORT else pytest.param(state, marks=pytest.mark.long("pages"))
        for state in states
    ]


def texts_of(study, folder):
    """Everything that people read, by its name."""
    log, store = folder / "log.jsonl", folder / "study.db"
    study.export(log)
    nw.rebuild_study(log, store)
    certificate = study.certificate()
    found = {"repr": repr(study), "html": study._repr_html_(), "certificate": str(certificate)}
    found |= {"notebook": certificate._repr_html_(), "worth": str(study.worth())}
    page = study.report(folder / "page.html").read_text("utf-8")
    page = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    found["page"] = " ".join(re.sub(r"<[^>]+>", " ", page).replace("\u00a0", " ").split())
    if certificate.option is not None:
        found["chart"] = " ".join(strings_of(study.plot.intervals().to_dict()["title"]))
    if certificate.may_show_bounds and math.isfinite(certificate.bound) and not certificate.once:
        found["course"] = " ".join(strings_of(study.plot.bound().to_dict()["title"]))
    for command in COMMANDS:
        done = runner.invoke(app, [command, str(store)])
        assert done.exit_code in (0, 3, 4), done.output
        found[command] = " ".join(done.stdout.split())
    return found, store


def in_flags(text):
    """A sentence as a command says it."""
    before = speaking.set(ShellWords({}))
    try:
        return said_by_command(text)
    finally:
        speaking.reset(before)


def strings_of(value):
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in strings_of(one)]


def bound_shown(certificate):
    """The bound in the user's unit: in per cent, from the ratio, where values are on a log scale."""
    if certificate.get("scale") != "log":
        return certificate["bound"]
    return 100.0 * abs(certificate["bound_ratio"] - 1.0)


@pytest.mark.parametrize("state", some(STATES), ids=lambda state: state.__name__)
def test_all_surfaces_say_what_the_certificate_says(state, tmp_path):
    study = state()
    certificate = json.loads(study.certificate().to_json())
    texts, store = texts_of(study, tmp_path)
    for command in ("status", "certify"):
        plain = json.loads(runner.invoke(app, [command, str(store), "--json"]).stdout)
        plain = plain.get("certificate", plain)
        for name in ("option", "bound", "reached", "verdict", "candidates", "sentence", "withheld"):
            assert plain[name] == certificate[name], (command, name)
    (listed,) = json.loads(runner.invoke(app, ["list", str(store), "--json"]).stdout)["states"]
    certified = certificate["verdict"] not in ("nothing", "withheld")
    assert listed["leader"] == (certificate["option"] if certified else None)
    assert listed["bound"] == certificate["bound"]
    assert (listed["state"] == "ready") == certificate["reached"]
    for where in ("repr", "certificate", "page"):
        assert certificate["sentence"] in texts[where], where
    for where in ("status", "certify"):  # what Python calls an argument is a flag there
        assert in_flags(certificate["sentence"]) in texts[where], where
    if certificate["bound"]:
        # The same digits everywhere, a list of assumptions apart.
        for where in ("repr", "page", "chart", "course", "status"):
            said = {float(found) for found in BOUND.findall(texts.get(where, ""))}
            wider = [bound for name in ("wider", "heterogeneous") if (bound := certificate.get(name))]
            shown = {float(rounded_up(bound)) for bound in (bound_shown(certificate), *wider)}
            assert said <= shown, (where, said)
    if certificate["verdict"] in ("nothing", "withheld"):
        for where, text in texts.items():
            assert not CLAIMING.search(text), (where, CLAIMING.search(text), text)
    frame = study.frame("options")
    assert frame.filter("recommended")["option"].to_list() == ([certificate["option"]] if certified else [])
    for option, answer, excluded in frame.select("option", "may_be_best", "excluded").iter_rows():
        expected = option in certificate["candidates"] if certified and excluded is None else None
        assert answer == expected, option


@pytest.mark.parametrize("state", some(LOGS), ids=lambda state: state.__name__)
def test_no_surface_of_a_log_study_shows_a_logarithm(state, tmp_path):
    study = state()
    certificate = study.certificate()
    texts, store = texts_of(study, tmp_path)
    shown = [certificate.bound, study.specification.eps, certificate.spread]
    logs = [rounded_up(one) for one in shown if one and math.isfinite(one)]
    logs += [f"{math.log(certificate.estimate):.4g}"] if certificate.estimate else []
    for where, text in texts.items():
        for log in logs:
            assert not re.search(rf"(?<![\d.]){re.escape(log)}(?![\d.]*\d| ?%)", text), (where, log)
    if certificate.may_show_bounds and certificate.bound:
        assert f"at most {certificate.bound_text}" in texts["chart"]
        assert certificate.bound_text.endswith("%")
    plain = json.loads(runner.invoke(app, ["certify", str(store), "--json"]).stdout)["certificate"]
    sign = 1.0 if certificate.goal == "min" else -1.0
    for name in ("bound", "eps"):
        if plain[name] is not None:
            assert plain[f"{name}_ratio"] == pytest.approx(math.exp(sign * plain[name]))


@pytest.mark.parametrize("state", LOGS, ids=lambda state: state.__name__)
def test_charts_and_tables_of_a_log_study_are_in_the_users_unit(state):
    study = state()
    certificate, frame = study.certificate(), study.frame("options")
    if certificate.option is None:
        return
    told = study.frame("measurements")
    within = (told["value"].min() * 0.9, told["value"].max() * 1.1)
    for estimate in frame["estimate"].drop_nulls():
        assert within[0] < estimate < within[1]
    leader = frame.filter(frame["option"] == certificate.option)
    assert leader["estimate"][0] == pytest.approx(certificate.estimate)
    chart = study.plot.intervals().to_dict()
    (rows,) = [rows for rows in chart["datasets"].values() if "mean" in rows[0]]
    for row in rows:
        assert row["low"] <= row["mean"] <= row["high"]
        one = frame.filter(frame["option"] == row["option"]).row(0, named=True)
        if "ratio" not in one or not certificate.may_show_bounds:
            assert row["mean"] == pytest.approx(one["estimate"], rel=1e-4)
        else:
            assert row["mean"] in (
                pytest.approx(one["ratio"], rel=1e-4),
                pytest.approx(100.0 * (one["ratio"] - 1.0), rel=1e-4, abs=1e-9),
            )
