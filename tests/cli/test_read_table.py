"""``noisewise TABLE --dry-run`` says how a table is read."""

import json
import subprocess
import sys
from pathlib import Path

DATA = Path(__file__).parents[1] / "study" / "tables" / "data"


def run(*arguments):
    command = [sys.executable, "-m", "noisewise", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_clear_reading_is_one_sentence():
    done = run(DATA / "optimizely.csv")
    assert done.returncode == 0
    assert done.stdout.startswith("Read as: option = Variation Name, successes = Unique Conversions")


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
