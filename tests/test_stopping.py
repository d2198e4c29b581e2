"""Evaluations that end early, by themselves and in the current Inspect; files of the current lm-eval."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import noisewise as nw
from noisewise.stopping import InspectStopping

#: Where `make evaluations` installs them.
RELEASES = Path(__file__).parents[1] / "build" / "evaluations"
INSTALLED = pytest.mark.skipif(not (RELEASES / "lm_eval").is_dir(), reason="needs `make evaluations`")


@pytest.fixture(autouse=True)
def inspect(monkeypatch):
    """As much of Inspect as the adapter uses."""
    util = ModuleType("inspect_ai.util")
    util.EarlyStop = SimpleNamespace
    monkeypatch.setitem(sys.modules, "inspect_ai", ModuleType("inspect_ai"))
    monkeypatch.setitem(sys.modules, "inspect_ai.util", util)


def scored(value, scorer="match"):
    return {scorer: SimpleNamespace(score=SimpleNamespace(value=value))}


def evaluated(study, model, answers, *, order=None, epochs=1, **options):
    """Evaluate a model as Inspect does: the metadata, and why samples were stopped."""
    stopping = InspectStopping(study, **options)

    async def go():
        samples = [SimpleNamespace(id=id) for id in answers]
        task = SimpleNamespace(model=model, task="quiz")
        assert await stopping.start_task(task, samples, epochs) == "noisewise"
        stopped = []
        for id in order or answers:
            for epoch in range(1, epochs + 1):
                if (stop := await stopping.schedule_sample(id, epoch)) is not None:
                    stopped.append(stop)
                    continue
                value = answers[id]
                scores = value if isinstance(value, dict) else {} if value is None else scored(value)
                await stopping.complete_sample(id, epoch, scores)
        return await stopping.complete_task(), stopped

    return asyncio.run(go())


def study_of(*options, eps=0.05):
    return nw.create_study(options=list(options) or ["good", "bad"], eps=eps)


def test_a_model_that_cannot_win_is_ended():
    study = study_of("good", "bad", "other", eps=0.001)
    found, stopped = evaluated(study, "good", dict.fromkeys(range(100), "C"))
    assert (found["recorded"], stopped) == (100, [])
    found, stopped = evaluated(study, "bad", dict.fromkeys(range(100), "I"))
    assert 10 <= found["recorded"] < 50
    assert len(stopped) == 100 - found["recorded"]
    assert stopped[0].reason == "bad is certainly not the best, with 95 % confidence."
    assert (stopped[0].id, stopped[0].epoch) == (found["recorded"], 1)


def test_everything_ends_once_the_certificate_is_reached():
    study = study_of()
    evaluated(study, "good", dict.fromkeys(range(60), True))
    found, stopped = evaluated(study, "bad", dict.fromkeys(range(60), 0))
    assert stopped
    assert study.certificate().reached
    assert found["certificate"] == stopped[0].reason == study.certificate().sentence


def test_answers_are_recorded_in_the_order_of_the_dataset():
    study = study_of()
    backwards = list(range(24, -1, -1))
    answers = {k: "C" if k % 3 else "P" for k in range(25)}
    found, _ = evaluated(study, "good", answers, order=backwards)
    assert found["recorded"] == 25
    told = study.frame("items").filter(study.frame("items")["option"] == "good")
    assert told["item"].to_list() == [f"quiz/{k}" for k in range(25)]
    assert told["value"].to_list() == [1.0 if k % 3 else 0.5 for k in range(25)]
    assert evaluated(study, "good", answers)[0]["recorded"] == 0  # a run that is repeated adds nothing


def test_epochs_are_averaged_and_gaps_end_what_is_recorded():
    study = study_of()
    assert evaluated(study, "good", dict.fromkeys(range(12), 0.25), epochs=3)[0]["recorded"] == 12
    assert set(study.frame("items")["value"].to_list()) == {0.25}
    study = study_of()
    gap = dict.fromkeys(range(12), 1.0) | {7: None}
    with pytest.warns(
        UserWarning, match="4 answers of good after a sample without a score were not recorded"
    ):
        assert evaluated(study, "good", gap)[0]["recorded"] == 7
    assert evaluated(study, "good", gap, missing=0.0)[0]["recorded"] == 5
    assert study.frame("items")["value"].to_list()[7] == 0.0


@pytest.mark.parametrize(
    ("answer", "options", "said"),
    [
        (1.0, {"option": "best"}, "`option` must be an option of the study; got 'best'"),
        (scored(1.0) | scored(0.0, "rubric"), {}, "`metric` must name one of the scorers, 'match', 'rubric'"),
        (1.0, {"metric": "mach"}, "`metric` must name a scorer; got 'mach'"),
        ("fine", {}, "a score must be a number or one of C, P, I, N; got 'fine'"),
        ({"match": SimpleNamespace(score=SimpleNamespace(value={"a": 1}))}, {}, "a score must be a number"),
    ],
)  # fmt: skip
def test_what_cannot_be_recorded_is_refused(answer, options, said):
    with pytest.raises(ValueError, match=said):
        evaluated(study_of(), "good", {1: answer}, **options)


def test_one_of_several_scores_is_chosen():
    study = study_of()
    answer = scored(0.0) | scored({"fluent": 1.0, "short": 0.0}, "rubric")
    assert evaluated(study, "good", {1: answer}, metric="rubric/fluent")[0]["recorded"] == 1
    assert study.frame("items")["value"].to_list() == [1.0]


def run_with_releases(script, folder):
    env = os.environ | {"PYTHONPATH": str(RELEASES), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    env |= {"HF_HOME": str(folder / "hub"), "INSPECT_LOG_DIR": str(folder / "logs"), "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


#: Two models that answer without a network, one after the other, four samples at a time.
INSPECT = """
import json, random
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import solver
import noisewise as nw
from noisewise.stopping import InspectStopping

data = [Sample(id=k, input=f"{k}+0=", target=str(k)) for k in range(1, 201)]
study, rng, found = nw.create_study("s.db", options=["good", "bad"], eps=0.02), random.Random(1), {}
for name, skill in (("good", 0.9), ("bad", 0.4)):
    said = {k: str(k) if rng.random() < skill else "wrong" for k in range(1, 201)}

    @solver
    def answering(said=said):
        async def solve(state, generate):
            state.output, state.completed = ModelOutput.from_content("m", said[state.sample_id]), True
            return state
        return solve

    task = Task(MemoryDataset(data), solver=answering(), scorer=match(), name="sums",
                early_stopping=InspectStopping(study, name))
    (log,) = eval(task, model="mockllm/model", display="none", max_samples=4)
    assert log.status == "success", log.error
    summary = log.results.early_stopping
    reasons = sorted({one.reason for one in summary.early_stops})
    found[name] = [summary.manager, summary.metadata["recorded"], len(summary.early_stops), reasons]
print(json.dumps(found))
"""


@INSTALLED
@pytest.mark.long("evaluations")
def test_the_current_inspect_ends_a_model_that_cannot_win(tmp_path):
    found = json.loads(run_with_releases(INSPECT, tmp_path).splitlines()[-1])
    assert found["good"] == ["noisewise", 200, 0, []]
    manager, recorded, stopped, reasons = found["bad"]
    assert manager == "noisewise"
    assert 0 < recorded < 100
    assert 200 - recorded - 4 <= stopped <= 200 - recorded
    study = nw.load_study(tmp_path / "s.db")
    assert study.certificate().reached
    assert reasons == [study.certificate().sentence]
    # The log of the model that was not ended is read as the same answers.
    (log,) = [one for one in (tmp_path / "logs").glob("*.eval") if one.stat().st_size][:1]
    assert nw.readers.read(log, "inspect", option="good", status="any").rows


QUIZ = """task: quiz
dataset_path: json
dataset_kwargs: {data_files: {test: questions.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{q}}"
doc_to_choice: "{{choices}}"
doc_to_target: a
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
"""
LM_EVAL = """
import sys
from lm_eval.__main__ import cli_evaluate
sys.argv = ["lm_eval", "--model", "dummy", "--tasks", "quiz", "--include_path", ".", "--output_path", "out",
            "--log_samples"]
cli_evaluate()
"""


@INSTALLED
@pytest.mark.long("evaluations")
def test_files_of_the_current_lm_eval_are_read(tmp_path):
    rows = [{"q": f"{k}+1=", "choices": [str(k + 1), str(k + 2)], "a": 0} for k in range(30)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "quiz.yaml").write_text(QUIZ)
    run_with_releases(LM_EVAL, tmp_path)
    (results,) = (tmp_path / "out").rglob("results_*.json")
    (samples,) = (tmp_path / "out").rglob("samples_*.jsonl")
    right = sum(json.loads(line)["acc"] for line in samples.read_text().splitlines())
    answers = nw.readers.read(samples, "lm-eval-samples", option="dummy")
    assert len(answers.rows) == 30
    assert sum(row.fields["value"] for row in answers.rows) == right
    (row,) = nw.readers.read(results, "lm-eval", option="dummy").rows
    assert (row.fields["successes"], row.fields["trials"]) == (right, 30)
