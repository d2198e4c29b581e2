"""Studies on a log scale from the command line: per cent in, per cent out."""

import json
import math
import re

import pytest
from click.testing import CliRunner

import noisewise as nw
from noisewise.cli.app import app

runner = CliRunner()


def run(*arguments, code=0):
    done = runner.invoke(app, [str(one) for one in arguments])
    assert done.exit_code == code, (arguments, done.output)
    return " ".join((done.stdout if code in (0, 3, 4) else str(done.exception.args[0])).split())


@pytest.fixture
def store(tmp_path):
    place = tmp_path / "times.db"
    run("init", place, "sort", "awk", "--scale", "log", "--eps", "2%", "--goal", "min", "--unit", "ms")
    for k in range(6):
        run("tell", place, "sort", 10.0 * 1.001**k, "--se", 0.05)
        run("tell", place, "awk", 10.05 * 1.001**-k, "--se", 0.05)
    return place


def test_a_withheld_certificate_speaks_of_flags(tmp_path):
    store = tmp_path / "log.db"
    run("init", store, "a", "b", "--eps", "2%", "--scale", "log", "--unit", "ms")
    run("tell", store, "a", "10", "--se", "3")
    run("tell", store, "b", "12", "--se", "3")
    for command, code in (("certify", 4), ("status", 0)):
        said = " ".join(run(command, store, code=code).split())
        assert "Certificate withheld: " in said
        assert "record single readings (--values), or make a study without --scale log" in said


def test_a_study_is_made_told_and_certified_in_per_cent(store):
    assert nw.load_study(store).specification.eps == pytest.approx(math.log(1.02))
    said = run("certify", store)
    assert re.match(r"(Nothing is decided yet: )?\w+ is at most [\d.]+ % slower than the best of 2", said)
    assert "Stopping is allowed (eps 2 %)" in said
    assert "on a log scale" in run("status", store)
    plain = json.loads(runner.invoke(app, ["certify", str(store), "--json"]).stdout)["certificate"]
    assert plain["scale"] == "log"
    assert plain["bound_ratio"] == pytest.approx(math.exp(plain["bound"]))
    assert plain["eps_ratio"] == pytest.approx(1.02)
    assert re.search(r"[\d.]+ %", run("list", store))
    status = json.loads(runner.invoke(app, ["status", str(store), "--json"]).stdout)
    assert (status["scale"], status["eps_ratio"]) == ("log", pytest.approx(1.02))


def test_plans_slots_questions_and_switches_take_per_cent(store):
    assert "Until the bound is at most 0.1 %" in run(
        "plan", store, "--noise", "0.5%", "--eps", "0.1%", "--paths", 4
    )
    run("ask", store, "--sigma", "0.5%")
    assert nw.load_study(store).pending[0].sigma == 0.005
    run("switch", store, "--extra-scatter", "0.3%")
    assert "extra scatter 0.3 %" in run("status", store)
    assert re.search(r"± 0\.\d+ %", run("worth", store))


def test_refusals_speak_of_flags(store, tmp_path):
    assert "--scale log" in run("init", tmp_path / "x.db", "a", "b", "--eps", "2%", code=1)
    assert "VALUE -3 has no logarithm" in run("tell", store, "awk", "--", "-3", code=1)
    assert "the certificate is withheld" in run("tell", store, "awk", "10", "--se", "2")
    assert "takes no differences" in run("ask", store, "--probe", "difference", code=1)
