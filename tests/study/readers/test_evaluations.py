"""Evaluations of models: what they say is what the answers in their files say, and nothing counts twice."""

import json
import math

import pytest
from tests.support.reader_cases import FIXTURES

import noisewise as nw
from noisewise.readers import ResultFile, read

SMALL = next((FIXTURES / "lm-eval" / "acme__small").glob("results_*.json"))
LARGE = next((FIXTURES / "lm-eval" / "acme__large").glob("results_*.json"))
DIGITS = [next(path.parent.glob("samples_digits_2*.jsonl")) for path in (SMALL, LARGE)]
WORDS = next(SMALL.parent.glob("samples_words_*.jsonl"))
HELM = FIXTURES / "helm"
PROMPTFOO = FIXTURES / "promptfoo"


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def values(readout):
    return {row.fields["item"]: row.fields["value"] for row in readout.rows}


def changed(path, **parts):
    """The same results with other parts, read in the place of the file."""
    whole = json.loads(path.read_text(encoding="utf-8")) | parts
    return ResultFile(path, json.dumps(whole).encode(), path.name)


def only(readout):
    (row,) = readout.rows
    return row.fields


# lm-eval: results


@pytest.mark.parametrize("path", [SMALL, LARGE])
@pytest.mark.parametrize("metric", ["acc", "acc_norm,none"])
def test_shares_of_lm_eval_are_the_counts_of_its_samples(path, metric):
    fields = only(read(path, task="digits", metric=metric))
    asked = lines(next(path.parent.glob("samples_digits_2*.jsonl")))
    right = sum(one[metric.removesuffix(",none")] for one in asked)
    assert (fields["successes"], fields["trials"]) == (right, len(asked))
    assert fields["option"] == json.loads(path.read_text())["model_name"]


def test_other_means_of_lm_eval_are_the_scatter_of_their_readings():
    fields = only(read(SMALL, task="words", metric="length,strict"))
    lengths = [one["length"] for one in lines(WORDS) if one["filter"] == "strict"]
    mean = math.fsum(lengths) / len(lengths)
    sd = math.sqrt(math.fsum((one - mean) ** 2 for one in lengths) / (len(lengths) - 1))
    assert fields["n"] == len(lengths)
    assert fields["value"] == pytest.approx(mean)
    assert fields["sd"] == pytest.approx(sd)


def test_a_group_is_the_questions_of_its_tasks_taken_together():
    fields = only(read(SMALL, task="arithmetic"))
    parts = [only(read(SMALL, task=task, metric="acc")) for task in ("digits", "digits_hard")]
    assert fields["successes"] == sum(part["successes"] for part in parts)
    assert fields["trials"] == sum(part["trials"] for part in parts)


def test_several_tasks_metrics_and_filters_are_listed():
    with pytest.raises(
        ValueError, match=r"choose one with `task=`: 'arithmetic', 'digits', 'digits_hard', 'words'"
    ):
        read(SMALL)
    with pytest.raises(ValueError, match=r"choose one with `metric=`: 'acc,none', 'acc_norm,none'"):
        read(SMALL, task="digits")
    with pytest.raises(ValueError, match=r"filters of the metric 'exact_match'.*'exact_match,strict'"):
        read(SMALL, task="words", metric="exact_match")
    with pytest.raises(ValueError, match=r"no task 'digit';.*Did you mean 'digits'"):
        read(SMALL, task="digit")


def test_all_right_or_all_wrong_is_a_count_by_the_name_of_its_metric_or_by_what_is_said():
    result = {
        "sample_len": 9,
        "acc,none": 1.0,
        "acc_stderr,none": 0.0,
        "len,none": 1.0,
        "len_stderr,none": 0.0,
    }
    file = changed(SMALL, results={"t": result}, group_subtasks={})
    assert only(read(file, "lm-eval", metric="acc"))["successes"] == 9
    with pytest.raises(ValueError, match=r"does not say whether each is right or wrong"):
        read(file, "lm-eval", metric="len")
    assert only(read(file, "lm-eval", metric="len", how="counts"))["trials"] == 9
    assert only(read(file, "lm-eval", metric="len", how="values"))["sd"] == 0.0


def test_what_is_better_must_be_what_the_study_looks_for():
    study = nw.create_study(options=["acme/small", "acme/large"], eps=0.5)
    with pytest.raises(
        ValueError, match=r"says that less is better, and this study looks for the largest value"
    ):
        study.import_from([SMALL, LARGE], "lm-eval", task="words", metric="length,strict")
    assert study.n_measurements == 0
    study.import_from([SMALL, LARGE], "lm-eval", task="words", metric="length,strict", better="higher")
    shortest = nw.create_study(options=["acme/small", "acme/large"], eps=0.5, goal="min")
    shortest.import_from([SMALL, LARGE], "lm-eval", task="words", metric="length,strict")
    with pytest.raises(ValueError, match=r"says that more is better, and this study looks for the smallest"):
        shortest.import_from([SMALL, LARGE], "lm-eval", task="digits", metric="acc")


# lm-eval: samples


def test_samples_become_items_that_all_models_share():
    study = nw.create_study(options=["acme/small", "acme/large"], eps=0.3)
    study.import_from(DIGITS, metric="acc")
    told = study.frame("items")
    for path, option in zip(DIGITS, ("acme/small", "acme/large"), strict=True):
        mine = told.filter(told["option"] == option)
        assert sorted(mine["value"].to_list()) == sorted(one["acc"] for one in lines(path))
    assert told["item"].n_unique() == 12
    assert study.certificate().evidence == ("paired items",)
    before = study.head
    study.import_from(DIGITS, metric="acc")
    assert study.head == before


def test_items_come_in_the_same_shuffled_order_from_every_file():
    orders = [list(values(read(path, metric="acc"))) for path in DIGITS]
    assert orders[0] == orders[1]
    numbers = [int(item.split("/")[1]) for item in orders[0]]
    assert numbers != sorted(numbers)


def test_filters_and_metrics_of_samples_are_chosen():
    strict = values(read(WORDS, metric="exact_match,strict"))
    flexible = values(read(WORDS, metric="exact_match,flexible"))
    assert strict.keys() == flexible.keys()
    assert sum(strict.values()) < sum(flexible.values())
    longer = read(WORDS, metric="length,strict")
    assert len(only(longer)["values"]) == 6
    assert "single readings" in longer.notes[0]


def test_samples_cut_off_between_two_lines_are_noticed():
    content = b"".join(DIGITS[0].read_bytes().splitlines(keepends=True)[:7])
    with pytest.raises(ValueError, match=r"7 questions, and the results beside it say 12: is it cut off"):
        read(ResultFile(DIGITS[0], content, DIGITS[0].name), "lm-eval-samples", metric="acc")


def test_samples_without_results_beside_them_need_a_model(tmp_path):
    alone = tmp_path / DIGITS[0].name
    alone.write_bytes(DIGITS[0].read_bytes())
    with pytest.raises(
        ValueError, match=r"which model answered, because there is no results_.* say `option="
    ):
        read(alone, metric="acc")
    assert read(alone, metric="acc", option="mine").options == ["mine"]
    renamed = alone.rename(tmp_path / "mine.jsonl")
    with pytest.raises(ValueError, match=r"nothing in it says the task: say `task="):
        read(renamed, metric="acc", option="mine")


# The same answers must not count twice


def test_counts_of_an_evaluation_are_refused_where_its_items_are_told():
    study = nw.create_study(options=["acme/small", "acme/large"], eps=0.3)
    study.import_from(DIGITS, metric="acc")
    with pytest.raises(ValueError, match=r"the same answers would count twice"):
        study.import_from([SMALL, LARGE], task="digits", metric="acc")
    with pytest.raises(ValueError, match=r"the same answers would count twice"):
        study.import_from(DIGITS, metric="acc", how="counts")
    assert study.n_measurements == 2


def test_items_are_refused_where_their_counts_are_told():
    study = nw.create_study(options=["acme/small", "acme/large"], eps=0.3)
    study.import_from([SMALL, LARGE], task="digits", metric="acc")
    with pytest.raises(ValueError, match=r"this study began with other measurements"):
        study.import_from(DIGITS, metric="acc")
    before = study.head
    study.import_from([SMALL, LARGE], task="digits", metric="acc")
    assert study.head == before


# HELM


def test_instances_of_helm_are_items_without_perturbations_and_without_the_model_in_their_names():
    small, large = (
        read(HELM / model / "per_instance_stats.json", metric="exact_match") for model in ("small", "large")
    )
    assert values(small).keys() == values(large).keys()
    assert not any("acme" in item for item in values(small))


# promptfoo


def test_providers_with_prompts_are_the_options_and_tests_the_items():
    found = read(PROMPTFOO / "capitals.json")
    assert sorted(found.options) == ["loud | sentence", "loud | short", "plain | sentence", "plain | short"]
    passed = {
        option: sum(r.fields["value"] for r in found.rows if r.fields["option"] == option)
        for option in found.options
    }
    whole = json.loads((PROMPTFOO / "capitals.json").read_text())["results"]["prompts"]
    assert passed == {f"{one['provider']} | {one['label']}": one["metrics"]["testPassCount"] for one in whole}
    assert len({row.fields["item"] for row in found.rows}) == 3


def test_prompts_alone_are_compared_with_providers_among_the_items():
    found = read(PROMPTFOO / "capitals.json", options="prompt")
    assert sorted(found.options) == ["sentence", "short"]
    assert len({row.fields["item"] for row in found.rows}) == 6


def test_a_test_that_ended_with_an_error_is_no_wrong_answer_unless_that_is_said():
    path = PROMPTFOO / "with_error.json"
    with pytest.raises(ValueError, match=r"has no score \(the model is gone\).*missing=0"):
        read(path)
    assert "1 item without a score recorded as 0." in read(path, missing=0).notes
    dropped = {
        row.fields["option"]: row.fields["trials"] for row in read(path, how="counts", missing="drop").rows
    }
    assert dropped == {"loud | sentence": 2, "loud | short": 3, "plain | sentence": 3, "plain | short": 3}
    with pytest.raises(ValueError, match=r"none can be left out for one of them"):
        read(path, missing="drop")


# Many files


def test_of_many_files_those_of_one_task_are_read():
    folder = FIXTURES / "lm-eval"
    found = read(folder, "lm-eval-samples", task="digits", metric="acc")
    assert len(found.rows) == 24
    assert len(found.files) == 2
    with pytest.raises(ValueError, match=r"its name says that it is of task 'digits', and not of 'quiz'"):
        read(folder, "lm-eval-samples", task="quiz", metric="acc")
    logs = FIXTURES / "inspect"
    assert read([logs / "small.eval", logs / "scorers.eval"], task="digits").files == (
        str(logs / "small.eval"),
    )
    with pytest.raises(ValueError, match="it is of task 'digits', and not of 'letters'"):
        read(logs / "small.eval", task="letters")
