"""HELM ``per_instance_stats.json``: what a model got on every question, as items that models share."""

from typing import Any

from noisewise.study.readers.evaluations.helm_runs import choose_stat, plain_stats, run_of
from noisewise.study.readers.evaluations.scores import ItemScore, Telling, averaged, tell_scores
from noisewise.study.readers.json_part import JsonPart
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout
from noisewise.study.readers.result_file import ResultFile


def read(
    file: ResultFile,
    *,
    metric: str | None = None,
    split: str | None = None,
    option: str | None = None,
    task: str | None = None,
    how: str | None = None,
    missing: Any = None,
) -> Readout:
    """What a model got on every question. Train trials of a question are averaged: they are one item.

    Args:
        file: ``per_instance_stats.json`` of a run.
        metric: Such as ``"exact_match"``.
        split: ``"test"`` or ``"valid"``; not needed if there is one.
        option: What the model is called in the study; default: as ``run_spec.json`` calls it.
        task: What was run; default: the name of the run, without its model.
        how: ``"items"``, ``"counts"`` or ``"values"``; default: items where scores lie from 0 to 1.
        missing: What stands for a question without a score.
    """
    telling = Telling(how, missing).check()
    instances = [one for one in file.json().list(least=1) if one.get("perturbation") is None]
    found = [(one, plain_stats(one["stats"].list())) for one in instances]
    known = list(dict.fromkeys(key for _, stats in found for key in stats))
    name, place = choose_stat(file, known, metric, split)
    run = run_of(file, option, task)
    # Questions of other splits have other statistics; those of this one have at least some.
    mine = [(one, stats) for one, stats in found if any(at == place for _, at in stats)]
    scores = [
        ItemScore(
            one.place, run.model, f"{run.scenario}/{place}/{one['instance_id'].text()}",
            _value(stats.get((name, place))),
        )
        for one, stats in mine
    ]  # fmt: skip
    key = f"helm {run.scenario} {name} {place}".strip()
    return tell_scores(file, averaged(scores), telling, lambda model: f"{key} {model}")


def _value(stat: JsonPart | None) -> float | None:
    if stat is None or stat["count"].count() == 0:
        return None
    return stat["mean"].number()


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like the statistics of every question."""
    head = file.head().lstrip()
    return head.startswith("[") and '"instance_id"' in head and '"sum_squared"' in head


READER = Reader(
    "helm-instances", "HELM per_instance_stats.json", read, looks_like, "**/per_instance_stats.json"
)
