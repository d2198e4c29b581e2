"""HELM ``stats.json``: the mean of a metric over a run, as counts, or as readings of its train trials.

The ``count`` of a statistic there is not the number of questions: HELM takes the mean of each train trial
first, so that it counts trials, and ``stddev`` is their (population) scatter.
"""

import math
from typing import Any

from noisewise.study.readers.evaluations.helm_runs import choose_stat, plain_stats, run_of
from noisewise.study.readers.json_part import JsonPart
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile

#: Metrics that are 0 or 1 for every question.
_RIGHT_OR_WRONG = {
    "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match", "math_equiv",
    "exact_match_indicator", "final_number_exact_match",
}  # fmt: skip
_QUESTIONS = "num_instances"


def read(
    file: ResultFile,
    *,
    metric: str | None = None,
    split: str | None = None,
    option: str | None = None,
    task: str | None = None,
) -> Readout:
    """The mean of a metric.

    Args:
        file: ``stats.json`` of a run.
        metric: Such as ``"exact_match"``.
        split: ``"test"`` or ``"valid"``; not needed if there is one.
        option: What the model is called in the study; default: as ``run_spec.json`` calls it.
        task: What was run; default: the name of the run, without its model.
    """
    stats = plain_stats(file.json().list(least=1))
    name, place = choose_stat(file, list(stats), metric, split)
    run = run_of(file, option, task)
    stat = stats[name, place]
    fields = {"option": run.model, **_measured(stat, name, stats.get((_QUESTIONS, place)))}
    fields["key"] = f"helm {run.scenario} {run.model} {name} {place}".strip()
    note = (
        "Models that answered the same questions are compared with fewer of them in pairs: import "
        "per_instance_stats.json with the reader helm-instances."
    )
    return Readout([ReadRow(stat.place, fields)], notes=[note], of_items=True)


def _measured(stat: JsonPart, metric: str, questions: JsonPart | None) -> dict[str, Any]:
    mean, trials = stat["mean"].number(), stat["count"].count(least=1)
    if trials > 1:
        # HELM divides by n, and a scatter that is told was divided by n - 1.
        return {
            "value": mean,
            "sd": stat["stddev"].number(least=0.0) * math.sqrt(trials / (trials - 1)),
            "n": trials,
        }
    if metric in _RIGHT_OR_WRONG and questions is not None:
        n = questions["mean"].count(least=1)
        right = round(mean * n)
        if not (0 <= right <= n and abs(mean * n - right) <= 1e-6 * max(1, right)):
            raise stat.refuse(f"has the mean {mean!r}, which is no share of {n} questions.")
        return {"successes": right, "trials": n}
    raise stat.refuse(
        f"({metric}) is of one train trial, and says nothing about how far it can be off: import "
        "per_instance_stats.json of the same run."
    )


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like the statistics of a run."""
    head = file.head().lstrip()
    return head.startswith("[") and '"sum_squared"' in head and '"instance_id"' not in head


READER = Reader("helm", "HELM stats.json", read, looks_like, "**/stats.json")
