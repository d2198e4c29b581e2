"""lm-eval samples (``samples_*.jsonl``): what a model got on every question, as items that models share."""

import math
import re
from dataclasses import replace
from typing import Any, NamedTuple

from noisewise.core.support.words import counted
from noisewise.study.readers.evaluations.lm_eval_metrics import (
    about_limit,
    choose_metric,
    goal_of,
    model_of,
    questions_of,
)
from noisewise.study.readers.evaluations.scores import ItemScore, Telling, tell_scores
from noisewise.study.readers.json_part import JsonPart
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout
from noisewise.study.readers.result_file import ResultFile

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.+-]+)\.jsonl")
#: What a line has beside its metrics, in versions that do not list them.
_OTHERS = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash", "schema_version",
}  # fmt: skip


class _Beside(NamedTuple):
    """What the name of the file and its results say."""

    task: str
    model: str
    results: JsonPart | None


def read(
    file: ResultFile,
    *,
    metric: str | None = None,
    option: str | None = None,
    task: str | None = None,
    how: str | None = None,
    missing: Any = None,
    better: str | None = None,
) -> Readout:
    """What a model got on every question of a task.

    Args:
        file: What ``lm_eval --log_samples`` wrote as ``samples_*.jsonl``.
        metric: Such as ``"acc"``, or with its filter ``"exact_match,strict"``.
        option: What the model is called in the study; default: as the results beside the file call it.
        task: The task; default: as the name of the file says. Of many files, those of other tasks are not
            read.
        how: ``"items"``, ``"counts"`` or ``"values"``; default: items where scores lie from 0 to 1.
        missing: What stands for a question without a score.
        better: ``"higher"`` or ``"lower"``, if the file says the wrong one.
    """
    telling = Telling(how, missing).check()
    named = _named(file)
    if task is not None and named is not None and named["task"] != task:
        return Readout([], aside=f"its name says that it is of task {named['task']!r}, and not of {task!r}.")
    beside = _beside(file, task, option)
    lines = file.json_lines()
    known = [f"{name},{_filter(line)}" for line in lines for name in _metrics(line)]
    key = choose_metric(file, known, metric)
    name, _, kind = key.rpartition(",")
    scores = [_score(line, name, beside) for line in lines if _filter(line) == kind and name in line.object()]
    if beside.results is not None:
        _check_whole(file, scores, questions_of(beside.results, beside.task))
    goal = goal_of(beside.results, beside.task, key, better)
    stamp = _stamp(file, lines)
    told = tell_scores(
        file, scores, telling, lambda model: f"lm-eval {model} {beside.task} {key} {stamp}", goal
    )
    return replace(told, notes=[*told.notes, *about_limit(beside.results)])


def _check_whole(file: ResultFile, scores: list[ItemScore], questions: JsonPart | None) -> None:
    """Refuse a file that was cut off between two lines: the results beside it know how many there were."""
    if questions is not None and len({one.item for one in scores}) != questions.count():
        raise file.refuse(
            f"it has {counted(len(scores), 'question')}, and the results beside it say {questions.count()}: "
            "is it cut off?"
        )


def _named(file: ResultFile) -> re.Match[str] | None:
    return None if file.path is None else _NAME.fullmatch(file.path.name)


def _beside(file: ResultFile, task: str | None, option: str | None) -> _Beside:
    """The task, and the model, which samples do not name: the results that were written with them do."""
    named = _named(file)
    if task is None and named is None:
        raise file.refuse(
            "its name is not samples_TASK_DATE.jsonl, as lm-eval writes it, and nothing in it says the task: "
            "say task=."
        )
    found = None if named is None else file.sibling(f"results_{named['date']}.json")
    results = None if found is None else found.json()
    model = option or (None if results is None else model_of(results))
    if model is None:
        wanted = "" if named is None else f", because there is no results_{named['date']}.json beside it"
        raise file.refuse(f"it does not say which model answered{wanted}: say option=.")
    return _Beside(task or (named["task"] if named is not None else ""), model, results)


def _filter(line: JsonPart) -> str:
    found = line.get("filter")
    return "none" if found is None else found.text()


def _metrics(line: JsonPart) -> list[str]:
    if (said := line.get("metrics")) is not None:
        return [one.text() for one in said.list()]
    return [name for name, part in line.items() if name not in _OTHERS and part.is_a(int, float)]


def _score(line: JsonPart, metric: str, beside: _Beside) -> ItemScore:
    doc, digest = line["doc_id"], line.get("doc_hash")
    number = doc.text() if doc.is_a(str) else str(doc.count())
    # Another release of the dataset may have another question under the same number.
    mark = "" if digest is None else f"/{digest.text()[:8]}"
    return ItemScore(line.place, beside.model, f"{beside.task}/{number}{mark}", _value(line, metric))


def _value(line: JsonPart, metric: str) -> float | None:
    part = line.get(metric)
    if part is None or (part.is_a(float) and math.isnan(part.value)):
        return None
    if part.is_a(list, dict):
        raise part.refuse(
            "is made of several numbers, which only together make a score: choose another metric."
        )
    return float(part.value) if part.is_a(bool) else part.number()


def _stamp(file: ResultFile, lines: list[JsonPart]) -> str:
    """What tells a run from another of the same model: its date, or else what it was asked."""
    named = _named(file)
    if named is not None:
        return named["date"]
    asked = {one.text() for line in lines if (one := line.get("prompt_hash")) is not None}
    return f"{len(lines)} {min(asked, default='')[:12]}".strip()


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like samples of lm-eval."""
    head = file.head().lstrip()
    return head.startswith("{") and '"doc_id"' in head and '"filtered_resps"' in head


READER = Reader("lm-eval-samples", "lm-eval samples_*.jsonl", read, looks_like, "**/samples_*.jsonl")
