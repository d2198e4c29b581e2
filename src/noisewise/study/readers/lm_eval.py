"""lm-eval: what a model got on every question, as items that models share; or one number for each task.

lm-eval computes its error bar from the same answers as the value, and no weight may rest on such a one. So a
metric that is 0 or 1 for every question becomes successes out of trials, and any other the standard deviation
of n readings. Which it is, the two numbers say themselves: values x between 0 and 1 have Σx² = Σx only if all
are 0 or 1, and then the square of the error bar is p(1 - p)/(n - 1).
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from noisewise.core.checks import check_choice, nearest
from noisewise.core.text import counted, printable
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.scores import COUNTS, VALUES, ItemScore, Telling, choose_one, quoted, tell_scores

GOALS = {"higher": "max", "lower": "min"}


def choose_metric(file: ResultFile, known: Sequence[str], asked: str | None) -> str:
    """A metric with its filter, such as "acc,none"; the filter may be left out where there is one only."""
    names = list(dict.fromkeys(known))
    fits = names if asked is None else [one for one in names if asked in (one, one.rpartition(",")[0])]
    if len(fits) == 1:
        return fits[0]
    if fits:
        what = "metrics" if asked is None else f"filters of the metric {printable(asked)!r}"
        raise file.refuse(f"it has several {what}; choose one with `metric=`: {quoted(fits)}.")
    asked = asked or ""
    raise file.refuse(
        f"it has no metric {printable(asked)!r}; it has {quoted(names) or 'none'}.{nearest(asked, names)}"
    )


def model_of(results: JsonPart) -> str | None:
    """The name of the model that a file of results is about, if it says so."""
    for name in ("model_name", "model_name_sanitized"):
        if (found := results.get(name)) is not None and found.is_a(str) and found.text().strip():
            return found.text()
    config = results.get("config")
    given = None if config is None else config.get("model_args")
    if given is not None and given.is_a(str):
        named = re.search(r"(?:^|,)(?:pretrained|model)=([^,]+)", str(given.value))
        return None if named is None else named[1]
    if given is not None and given.is_a(dict):
        parts = (given.get("pretrained"), given.get("model"))
        return next((one.text() for one in parts if one is not None), None)
    return None


def questions_of(results: JsonPart, task: str) -> JsonPart | None:
    """The number of questions of a task, if the results say it."""
    result = results["results"].get(task)
    n = None if result is None else result.get("sample_len")
    if n is None and (numbers := results.get("n-samples")) is not None and numbers.get(task) is not None:
        n = numbers[task]["effective"]
    return n


def about_limit(results: JsonPart | None) -> list[str]:
    """What must be known of questions that were not all asked."""
    config = None if results is None else results.get("config")
    limit = None if config is None else config.get("limit")
    if limit is None or not limit.value:
        return []
    return [f"Only the first questions were asked (limit {printable(limit.value)}): no random sample."]


def goal_of(results: JsonPart | None, task: str, metric: str, better: str | None) -> str | None:
    """Whether more or less is better, as it was said or as the file says it; None: it does not."""
    if better is not None:
        return GOALS[check_choice("better", better, tuple(GOALS))]
    part = None if results is None else results.get("higher_is_better")
    for name in (task, metric.rpartition(",")[0]):
        part = None if part is None else part.get(name)
    if part is None:
        return None
    if not part.is_a(bool):
        raise part.refuse("must be true or false.")
    return "max" if part.value else "min"


#: Metrics that are 0 or 1 for every question.
_RIGHT_OR_WRONG = re.compile(r"(acc|exact_match|em|pass@1)(_.*)?$")
_ROUNDING = 1e-6


class _Mean(NamedTuple):
    """A mean over questions."""

    part: JsonPart  # its place
    metric: str
    value: float
    se: float | None
    n: int

    @property
    def successes(self) -> int | None:
        """How many questions were right, if the mean is a share of them."""
        right = round(self.value * self.n)
        whole = 0 <= right <= self.n and abs(self.value * self.n - right) <= _ROUNDING * max(1, right)
        return right if whole else None

    @property
    def is_share(self) -> bool | None:
        """Whether every question was right or wrong; None if these numbers do not say so."""
        if (right := self.successes) is None:
            return False
        by_name = True if _RIGHT_OR_WRONG.match(self.metric) else None
        if self.se is None or self.n < 2:
            return by_name
        expected = right / self.n * (1.0 - right / self.n) / (self.n - 1)
        if abs(self.se**2 - expected) > _ROUNDING * expected:
            return False
        return by_name if right in (0, self.n) else True  # all 1 may be a length as well

    def fields(self, how: str | None) -> dict[str, Any]:
        """The fields of the row."""
        share = self.is_share if how is None else how == COUNTS
        if share is None:
            raise self.part.refuse(
                f"is {self.value:g} for {self.n} questions"
                f"{'' if self.se is not None else ' without an error bar'}"
                ', which does not say whether each is right or wrong: say `how="counts"` if so, or '
                '`how="values"`.'
            )
        if share and self.successes is None:
            raise self.part.refuse(f"is {self.value!r}, which is not a share of {self.n} questions.")
        if share:
            return {"successes": self.successes, "trials": self.n}
        if self.se is None or self.n < 2:
            raise self.part.refuse(
                "has no error bar (N/A), and without one a mean says nothing about how far it can be off: "
                "import the samples (--log_samples), or a metric that has one."
            )
        return {"value": self.value, "sd": self.se * math.sqrt(self.n), "n": self.n}


def read(
    file: ResultFile,
    *,
    task: str | None = None,
    metric: str | None = None,
    option: str | None = None,
    how: str | None = None,
    better: str | None = None,
) -> Readout:
    """The value of one task, or of a group of tasks.

    Args:
        file: What lm-eval wrote as ``results_*.json``.
        task: Which task, or which group; not needed if there is one.
        metric: Such as ``"acc"``, or with its filter ``"exact_match,strict"``.
        option: What the model is called in the study; default: as the file calls it.
        how: ``"counts"`` or ``"values"``, where the numbers leave open which they are.
        better: ``"higher"`` or ``"lower"``, if the file says the wrong one.
    """
    if how is not None:
        check_choice("how", how, (COUNTS, VALUES))
    whole = file.json()
    results = whole["results"]
    groups = _groups(whole)
    chosen = choose_one(
        file, "task", [*groups, *(one for one in results.object() if one not in groups)], task
    )
    leaves = groups.get(chosen, [chosen])
    # A group averages some of the metrics of its tasks.
    named = _metrics(results[chosen]) or _metrics(results[leaves[0]])
    key = choose_metric(file, named, metric)
    means = [_mean(whole, leaf, key) for leaf in leaves]
    fields = means[0].fields(how) if chosen not in groups else _together(results[chosen], key, means)
    model = model_of(whole)
    if option is None and model is None:
        raise file.refuse("it does not say which model it is about: say `option=`.")
    date = whole.get("date")
    fields |= {
        "option": option or model,
        "key": f"lm-eval {model or option} {chosen} {key} {'' if date is None else date.value}".strip(),
    }
    row = ReadRow(f"{results[chosen].place}, {key}", fields)
    return Readout(
        [row], notes=_notes(whole, fields), better=goal_of(whole, chosen, key, better), of_items=True
    )


def _groups(whole: JsonPart) -> dict[str, list[str]]:
    """Groups and the tasks that they are made of, down to those that have questions of their own."""
    listed = whole.get("group_subtasks")
    parts = {name: [one.text() for one in part.list()] for name, part in listed.items()} if listed else {}
    parts = {name: inside for name, inside in parts.items() if inside}

    def leaves(name: str, above: tuple[str, ...] = ()) -> list[str]:
        if name not in parts:
            return [name]
        if name in above:
            raise whole.refuse(f"has the group {printable(name)!r} inside itself.")
        return [leaf for one in parts[name] for leaf in leaves(one, (*above, name))]

    known = whole["results"].object()
    # A task may stand in several groups; here it counts once.
    found = {name: list(dict.fromkeys(leaves(name))) for name in parts}
    return {
        name: inside
        for name, inside in found.items()
        if name in known and all(map(known.__contains__, inside))
    }


def _metrics(result: JsonPart) -> list[str]:
    named = [name for name in result.object() if "," in name and "_stderr," not in name]
    if not named and any(name.endswith("_stderr") for name in result.object()):
        raise result.refuse(
            "names metrics as lm-eval did before version 0.4: write it anew with 0.4 or later."
        )
    return named


def _mean(whole: JsonPart, task: str, key: str) -> _Mean:
    result = whole["results"][task]
    part = result[key]
    metric, _, kind = key.rpartition(",")
    error = result.get(f"{metric}_stderr,{kind}")
    said = error is not None and error.value != "N/A"
    n = questions_of(whole, task)
    if n is None:
        raise result.refuse("must have 'sample_len', the number of its questions (or 'n-samples' beside it).")
    se = error.number(least=0.0) if said and error is not None else None
    return _Mean(part, metric, part.number(), se, n.count(least=1))


def _together(group: JsonPart, key: str, means: list[_Mean]) -> dict[str, Any]:
    """The questions of all tasks of a group as one count."""
    for one in means:
        if not one.is_share:
            raise one.part.refuse(
                "is not a share of right answers, and only those are added up for a group: choose one of its "
                "tasks."
            )
    right, trials = sum(one.successes or 0 for one in means), sum(one.n for one in means)
    reported = group.get(key)
    if reported is not None and abs(reported.number() - right / trials) > _ROUNDING:
        raise reported.refuse(
            f"is {reported.number():g}, and its questions taken together give {right / trials:g}: its tasks "
            "have weights of their own; choose one of them."
        )
    return {"successes": right, "trials": trials}


def _notes(whole: JsonPart, fields: dict[str, Any]) -> list[str]:
    notes = about_limit(whole)
    if "trials" in fields:
        notes.append(
            "Options that answered the same questions are compared with fewer of them in pairs: import the "
            "samples (lm_eval --log_samples) with the reader lm-eval-samples."
        )
    return notes


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like results of lm-eval."""
    head = file.head().lstrip()
    return head.startswith("{") and '"results"' in head and re.search(r'_stderr,[^"]+"', head) is not None


RESULTS = Reader("lm-eval", "lm-eval results_*.json", read, looks_like, "**/results_*.json")


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


def read_samples(
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
        missing: The score of a question without one.
        better: ``"higher"`` or ``"lower"``, if the file says the wrong one.
    """
    telling = Telling(how, missing).check()
    named = _named(file)
    if task is not None and named is not None and named["task"] != task:
        return Readout([], aside=f"its name says that it is of task {named['task']!r}, and not of {task!r}.")
    beside = _beside(file, task, option)
    lines = file.json_lines()
    known = [f"{name},{_filter(line)}" for line in lines for name in _metrics_of(line)]
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
            "say `task=`."
        )
    found = None if named is None else file.sibling(f"results_{named['date']}.json")
    results = None if found is None else found.json()
    model = option or (None if results is None else model_of(results))
    if model is None:
        wanted = "" if named is None else f", because there is no results_{named['date']}.json beside it"
        raise file.refuse(f"it does not say which model answered{wanted}: say `option=`.")
    return _Beside(task or (named["task"] if named is not None else ""), model, results)


def _filter(line: JsonPart) -> str:
    found = line.get("filter")
    return "none" if found is None else found.text()


def _metrics_of(line: JsonPart) -> list[str]:
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


def looks_like_samples(file: ResultFile) -> bool:
    """Whether a file begins like samples of lm-eval."""
    head = file.head().lstrip()
    return head.startswith("{") and '"doc_id"' in head and '"filtered_resps"' in head


SAMPLES = Reader(
    "lm-eval-samples", "lm-eval samples_*.jsonl", read_samples, looks_like_samples, "**/samples_*.jsonl"
)
READERS = (RESULTS, SAMPLES)
