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
ROLLING = next(SMALL.parent.glob("samples_rolling_*.jsonl"))
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


def test_a_score_between_0_and_1_is_no_count_even_if_its_mean_would_be_one():
    scores = [0.5, 0.5, 1.0, 0.0, 0.25, 0.75]  # their mean is 3 of 6
    sd = math.sqrt(sum((one - 0.5) ** 2 for one in scores) / 5)
    result = {"sample_len": 6, "f1,none": 0.5, "f1_stderr,none": sd / math.sqrt(6)}
    fields = only(read(changed(SMALL, results={"t": result}, group_subtasks={}), "lm-eval"))
    assert fields["value"] == 0.5
    assert fields["sd"] == pytest.approx(sd)
    assert "trials" not in fields


def test_a_group_is_the_questions_of_its_tasks_taken_together():
    fields = only(read(SMALL, task="arithmetic"))
    parts = [only(read(SMALL, task=task, metric="acc")) for task in ("digits", "digits_hard")]
    assert fields["successes"] == sum(part["successes"] for part in parts)
    assert fields["trials"] == sum(part["trials"] for part in parts)


def test_a_group_with_weights_of_its_own_is_refused():
    whole = json.loads(SMALL.read_text())
    whole["results"]["arithmetic"]["acc,none"] = 0.6
    with pytest.raises(ValueError, match=r"its tasks have weights of their own; choose one of them"):
        read(changed(SMALL, results=whole["results"]), "lm-eval", task="arithmetic")


def test_several_tasks_metrics_and_filters_are_listed():
    with pytest.raises(
        ValueError, match=r"choose one with task=: 'arithmetic', 'digits', 'digits_hard', 'words'"
    ):
        read(SMALL)
    with pytest.raises(ValueError, match=r"choose one with metric=: 'acc,none', 'acc_norm,none'"):
        read(SMALL, task="digits")
    with pytest.raises(ValueError, match=r"filters of the metric 'exact_match'.*'exact_match,strict'"):
        read(SMALL, task="words", metric="exact_match")
    with pytest.raises(ValueError, match=r"no task 'digit';.*Did you mean 'digits'"):
        read(SMALL, task="digit")


def test_a_mean_without_an_error_bar_is_refused():
    with pytest.raises(ValueError, match=r"word_perplexity,none'\] has no error bar \(N/A\)"):
        read(SMALL, task="rolling", metric="word_perplexity")


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


def test_results_of_older_versions_are_told_apart():
    old = {"results": {"t": {"acc": 0.5, "acc_stderr": 0.1}}, "config": {"model": "hf"}}
    with pytest.raises(ValueError, match=r"before version 0\.4"):
        read(ResultFile(None, json.dumps(old).encode()), "lm-eval")


def test_older_results_without_sample_len_count_their_samples():
    whole = json.loads(SMALL.read_text())
    del whole["results"]["digits"]["sample_len"], whole["model_name"], whole["model_name_sanitized"]
    fields = only(read(ResultFile(None, json.dumps(whole).encode()), "lm-eval", task="digits", metric="acc"))
    assert fields["trials"] == 12
    assert fields["option"] == "acme/small"  # from the arguments of the model


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


def test_a_limit_is_said():
    config = json.loads(SMALL.read_text())["config"] | {"limit": 12.0}
    found = read(changed(SMALL, config=config), "lm-eval", task="digits", metric="acc")
    assert any("no random sample" in note for note in found.notes)


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


def test_another_question_under_the_same_number_is_another_item():
    changed_lines = [one | {"doc_hash": f"{k:064x}"} for k, one in enumerate(lines(DIGITS[0]))]
    content = "\n".join(map(json.dumps, changed_lines)).encode()
    other = read(ResultFile(DIGITS[0], content), "lm-eval-samples", metric="acc")
    assert values(other).keys().isdisjoint(values(read(DIGITS[0], metric="acc")))


def test_filters_and_metrics_of_samples_are_chosen():
    strict = values(read(WORDS, metric="exact_match,strict"))
    flexible = values(read(WORDS, metric="exact_match,flexible"))
    assert strict.keys() == flexible.keys()
    assert sum(strict.values()) < sum(flexible.values())
    longer = read(WORDS, metric="length,strict")
    assert len(only(longer)["values"]) == 6
    assert "single readings" in longer.notes[0]


def test_a_metric_that_only_the_whole_corpus_has_is_refused():
    with pytest.raises(ValueError, match=r"line 1.word_perplexity is made of several numbers"):
        read(ROLLING, metric="word_perplexity")


def test_samples_cut_off_between_two_lines_are_noticed():
    content = b"".join(DIGITS[0].read_bytes().splitlines(keepends=True)[:7])
    with pytest.raises(ValueError, match=r"7 questions, and the results beside it say 12: is it cut off"):
        read(ResultFile(DIGITS[0], content, DIGITS[0].name), "lm-eval-samples", metric="acc")


def test_samples_without_results_beside_them_need_a_model(tmp_path):
    alone = tmp_path / DIGITS[0].name
    alone.write_bytes(DIGITS[0].read_bytes())
    with pytest.raises(ValueError, match=r"which model answered, because there is no results_.* say option="):
        read(alone, metric="acc")
    assert read(alone, metric="acc", option="mine").options == ["mine"]
    renamed = alone.rename(tmp_path / "mine.jsonl")
    with pytest.raises(ValueError, match=r"nothing in it says the task: say task="):
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


def test_a_pool_that_was_told_whole_leaves_nothing_unknown():
    items = list(values(read(DIGITS[0], metric="acc")))
    study = nw.create_study(options=["acme/small", "acme/large"], items=items, eps=0.01)
    study.import_from(DIGITS, metric="acc")
    certificate = study.certificate()
    assert certificate.option == "acme/large"
    assert certificate.bound == 0.0


# HELM


def test_statistics_of_helm_are_the_counts_of_its_instances():
    for model in ("small", "large"):
        fields = only(read(HELM / model / "stats.json", metric="exact_match"))
        items = values(read(HELM / model / "per_instance_stats.json", metric="exact_match"))
        assert fields["option"] == f"acme/{model}"
        assert (
            (fields["successes"], fields["trials"])
            == (sum(items.values()), len(items))
            == (fields["successes"], 8)
        )


def test_instances_of_helm_are_items_without_perturbations_and_without_the_model_in_their_names():
    small, large = (
        read(HELM / model / "per_instance_stats.json", metric="exact_match") for model in ("small", "large")
    )
    assert values(small).keys() == values(large).keys()
    assert not any("acme" in item for item in values(small))


def test_train_trials_of_helm_are_readings_with_an_unbiased_scatter():
    stats = json.loads((HELM / "small" / "stats.json").read_text())
    means = [0.5, 0.6, 0.7]
    population = math.sqrt(sum((one - 0.6) ** 2 for one in means) / 3)
    stats[1] |= {"count": 3, "mean": 0.6, "stddev": population}
    fields = only(
        read(
            ResultFile(HELM / "small" / "stats.json", json.dumps(stats).encode()),
            "helm",
            metric="exact_match",
        )
    )
    assert fields["n"] == 3
    assert fields["sd"] == pytest.approx(0.1)


def test_one_train_trial_without_instances_is_refused():
    with pytest.raises(
        ValueError, match=r"is of one train trial, and says nothing about how far it can be off"
    ):
        read(HELM / "small" / "stats.json", metric="num_output_tokens")


def test_train_trials_of_an_instance_are_one_item():
    instances = json.loads((HELM / "small" / "per_instance_stats.json").read_text())
    again = json.loads(json.dumps(instances))
    for one in again:
        one["train_trial_index"] = 1
        one["stats"][0]["mean"] = 1.0
    file = ResultFile(HELM / "small" / "per_instance_stats.json", json.dumps(instances + again).encode())
    both, first = (values(read(f, "helm-instances", metric="exact_match")) for f in (file, file.path))
    assert both == {item: (value + 1.0) / 2 for item, value in first.items()}


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


def test_repeats_of_a_test_are_one_item():
    found = read(PROMPTFOO / "repeated.json", metric="score")
    assert sorted(found.options) == ["sentence", "short"]
    assert len(found.rows) == 6


def test_a_test_that_ended_with_an_error_is_no_wrong_answer_unless_that_is_said():
    path = PROMPTFOO / "with_error.json"
    with pytest.raises(ValueError, match=r"has no score \(the model is gone\).*missing=0"):
        read(path)
    assert "1 item without a score told as 0." in read(path, missing=0).notes
    dropped = {
        row.fields["option"]: row.fields["trials"] for row in read(path, how="counts", missing="drop").rows
    }
    assert dropped == {"loud | sentence": 2, "loud | short": 3, "plain | sentence": 3, "plain | short": 3}
    with pytest.raises(ValueError, match=r"none can be left out for one of them"):
        read(path, missing="drop")


def test_another_version_of_promptfoo_is_refused():
    whole = json.loads((PROMPTFOO / "capitals.json").read_text())
    whole["results"]["version"] = 2
    with pytest.raises(ValueError, match=r"results.version is 2; version 3 is read"):
        read(ResultFile(None, json.dumps(whole).encode()), "promptfoo")


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
