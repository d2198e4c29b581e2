"""What both files of lm-eval share: models, metrics with their filters, and which of them is better."""

import re
from collections.abc import Sequence

from noisewise.core.support.checks import check_choice, nearest
from noisewise.core.support.text import printable
from noisewise.study.readers.evaluations.choosing import listed
from noisewise.study.readers.json_part import JsonPart
from noisewise.study.readers.result_file import ResultFile

GOALS = {"higher": "max", "lower": "min"}


def choose_metric(file: ResultFile, known: Sequence[str], asked: str | None) -> str:
    """A metric with its filter, such as "acc,none"; the filter may be left out where there is one only."""
    names = list(dict.fromkeys(known))
    fits = names if asked is None else [one for one in names if asked in (one, one.rpartition(",")[0])]
    if len(fits) == 1:
        return fits[0]
    if fits:
        what = "metrics" if asked is None else f"filters of the metric {printable(asked)!r}"
        raise file.refuse(f"it has several {what}; choose one with metric=: {listed(fits)}.")
    asked = asked or ""
    raise file.refuse(
        f"it has no metric {printable(asked)!r}; it has {listed(names) or 'none'}.{nearest(asked, names)}"
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
