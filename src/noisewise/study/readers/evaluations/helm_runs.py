"""What both files of a HELM run share: the model, the run without it, and statistics by metric and split."""

import re
from typing import NamedTuple

from noisewise.study.readers.evaluations.choosing import choose_one
from noisewise.study.readers.json_part import JsonPart
from noisewise.study.readers.result_file import ResultFile


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
