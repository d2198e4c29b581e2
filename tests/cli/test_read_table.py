"""``noisewise TABLE`` says how a table is read, and answers it."""

import json
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parents[1] / "study" / "tables" / "data"


def run(*arguments):
    command = [sys.executable, "-m", "noisewise", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_clear_reading_is_one_sentence():
    done = run(DATA / "optimizely.csv", "--dry-run")
    assert done.returncode == 0
    assert done.stdout.startswith("Read as: option = Variation Name, successes = Unique Conversions")
    assert "confidence" not in done.stdout


def test_the_exit_code_says_whether_the_answer_is_close_enough(tmp_path):
    page = tmp_path / "page.html"
    assert run(DATA / "optimizely.csv").returncode == 3
    done = run(DATA / "optimizely.csv", "--eps", "0.5", "--html", page)
    assert done.returncode == 0
    assert "close enough" in done.stdout
    assert "noisewise init optimizely.db --from" in done.stdout
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert run(DATA / "optimizely.csv", "--eps", "-1").returncode == 2
    same = tmp_path / "same.csv"
    same.write_text("option,value\nA,1\nA,1\nB,2\nB,2\n")
    withheld = run(same)
    assert withheld.returncode == 4
    assert "floor=" in withheld.stdout


def test_the_answer_as_data():
    found = json.loads(run(DATA / "optimizely.csv", "--eps", "0.5", "--json", "--goal", "min").stdout)
    assert found["schema"] == "noisewise.answer/1"
    assert found["certificate"]["goal"] == "min"
    assert {"reading", "league", "next", "command"} <= found.keys()


def test_a_question_lists_flags_that_answer_it():
    asked = run(DATA / "k6.csv", "--dry-run")
    assert asked.returncode == 4
    assert "--map value=http_req_duration_avg" in asked.stdout
    flags = ["--map", "option=runtime_name", "--map", "value=http_req_duration_avg"]
    assert run(DATA / "k6.csv", "--dry-run", *flags).returncode == 0


def test_json_has_the_kind_and_the_rows():
    found = json.loads(run(DATA / "optimizely.csv", "--dry-run", "--json").stdout)
    assert found["kind"] == "read"
    assert found["readings"][0]["rows"][0].keys() == {"option", "successes", "trials"}


def test_a_missing_file_is_refused():
    done = run("missing.csv", "--dry-run", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["kind"] == "refused"
