"""HELM (``per_instance_stats.json``): what a model got on every question, as items that models share."""

import re
from typing import Any, NamedTuple

from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.scores import ItemScore, Telling, averaged, choose_one, tell_scores


class HelmRun(NamedTuple):
    """A run of HELM."""

    model: str
    scenario: str  # the name of the run without its model: what makes items the same


def run_of(file: ResultFile, option: str | None, task: str | None) -> HelmRun:
    """The run that a file belongs to: ``run_spec.json`` beside it says so, or the name of its folder.

    Args:
        file: Of the run.
        option: The model, if it was said.
        task: The name of the run without its model, if it was said.
    """
    beside = file.sibling("run_spec.json")
    spec = None if beside is None else beside.json()
    folder = "" if file.path is None else file.path.resolve().parent.name
    name = spec["name"].text() if spec is not None else folder if "model=" in folder else ""
    adapter = None if spec is None else spec.get("adapter_spec")
    named = None if adapter is None else adapter.get("model")
    said = re.search(r"(?:^|[:,])model=([^,]+)", name)
    model = option or (named.text() if named is not None else said[1] if said is not None else None)
    if model is None:
        raise file.refuse(
            "there is no run_spec.json beside it that says which model it is about: say option=."
        )
    scenario = re.sub(r"(?<=[:,])model(?:_deployment)?=[^,]+,?", "", name).rstrip(":,")
    return HelmRun(model, task or scenario or "helm")


def plain_stats(stats: list[JsonPart]) -> dict[tuple[str, str], JsonPart]:
    """Statistics of questions as they are, without perturbations, by metric and split."""
    found: dict[tuple[str, str], JsonPart] = {}
    for stat in stats:
        name = stat["name"]
        if name.get("perturbation") is None and name.get("sub_split") is None:
            split = name.get("split")
            found[name["name"].text(), "" if split is None else split.text()] = stat
    return found


def choose_stat(
    file: ResultFile, known: list[tuple[str, str]], metric: str | None, split: str | None
) -> tuple[str, str]:
    """One metric of one split."""
    name = choose_one(file, "metric", [name for name, _ in known], metric)
    splits = [place for one, place in known if one == name]
    return name, choose_one(file, "split", splits, split)


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
        missing: The score of a question without one.
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
            _value_of(stats.get((name, place))),
        )
        for one, stats in mine
    ]  # fmt: skip
    key = f"helm {run.scenario} {name} {place}".strip()
    return tell_scores(file, averaged(scores), telling, lambda model: f"{key} {model}")


def _value_of(stat: JsonPart | None) -> float | None:
    if stat is None or stat["count"].count() == 0:
        return None
    return stat["mean"].number()


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like the statistics of every question."""
    head = file.head().lstrip()
    return head.startswith("[") and '"instance_id"' in head and '"sum_squared"' in head


READER = Reader("helm", "HELM per_instance_stats.json", read, looks_like, "**/per_instance_stats.json")
