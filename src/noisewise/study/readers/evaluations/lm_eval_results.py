"""lm-eval results (``results_*.json``): one number for each task, as counts or as the scatter of readings.

lm-eval computes its error bar from the same answers as the value, and no weight may rest on such a one. So a
metric that is 0 or 1 for every question becomes successes out of trials, and any other the standard deviation
of n readings. Which it is, the two numbers say themselves: values x between 0 and 1 have Σx² = Σx only if all
are 0 or 1, and then the square of the error bar is p(1 - p)/(n - 1).
"""

import math
import re
from typing import Any, NamedTuple

from noisewise.core.support.checks import check_choice
from noisewise.core.support.text import printable
from noisewise.study.readers.evaluations.choosing import choose_one
from noisewise.study.readers.evaluations.lm_eval_metrics import (
    about_limit,
    choose_metric,
    goal_of,
    model_of,
    questions_of,
)
from noisewise.study.readers.evaluations.scores import COUNTS, VALUES
from noisewise.study.readers.json_part import JsonPart
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile

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
        """What is told of it."""
        share = self.is_share if how is None else how == COUNTS
        if share is None:
            raise self.part.refuse(
                f"is {self.value:g} for {self.n} questions"
                f"{'' if self.se is not None else ' without an error bar'}"
                ', which does not say whether each is right or wrong: say how="counts" if so, or '
                'how="values".'
            )
        if share and self.successes is None:
            raise self.part.refuse(f"is {self.value!r}, which is no share of {self.n} questions.")
        if share:
            return {"successes": self.successes, "trials": self.n}
        if self.se is None or self.n < 2:
            raise self.part.refuse(
                "has no error bar (N/A), and without one a mean says nothing about how far it can be off: "
                "tell the samples (--log_samples), or a metric that has one."
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
        raise file.refuse("it does not say which model it is about: say option=.")
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


READER = Reader("lm-eval", "lm-eval results_*.json", read, looks_like, "**/results_*.json")
