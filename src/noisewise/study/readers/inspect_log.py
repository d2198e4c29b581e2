"""Inspect logs (``.eval``, or ``.json``): what a model got on every sample, as items that models share."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from noisewise.core.checks import check_choice
from noisewise.core.text import printable
from noisewise.study.readers.archive import Archive
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.scores import ItemScore, Telling, averaged, choose_one, tell_scores

#: The version of the log format that is read.
VERSION = 2
#: What Inspect counts texts as: correct, partial, incorrect, no answer.
LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_ZIP = "PK\x03\x04"


class _Log(NamedTuple):
    """The parts of a log."""

    header: JsonPart
    samples: list[JsonPart]  # whole, or in summary; for every epoch
    reductions: list[JsonPart]  # one for each scorer and reducer; empty: Inspect wrote none


def read(
    file: ResultFile,
    *,
    task: str | None = None,
    metric: str | None = None,
    reducer: str | None = None,
    option: str | None = None,
    how: str | None = None,
    missing: Any = None,
    status: str = "success",
) -> Readout:
    """What a model got on every sample. Epochs of a sample are reduced to one score, as Inspect reduces them.

    Args:
        file: A log of Inspect.
        task: The task that is meant: of many logs, those of other tasks are not read.
        metric: The scorer, such as ``"match"``; of one with several values ``"rubric/fluent"``.
        reducer: How epochs are reduced, if the log has several: ``"mean"``, ``"at_least_2"``.
        option: What the model is called in the study; default: as the log calls it.
        how: ``"items"``, ``"counts"`` or ``"values"``; default: items where scores lie from 0 to 1.
        missing: The score of a sample without one.
        status: ``"any"`` takes logs of evaluations that did not succeed as well.
    """
    telling = Telling(how, missing).check()
    check_choice("status", status, ("success", "any"))
    log = _opened(file)
    spec = log.header["eval"]
    called = spec["task"].text()
    if task not in (None, called):
        return Readout([], aside=f"it is of task {printable(called)!r}, and not of {printable(task)!r}.")
    if status == "success":
        _check_complete(log.header)
    model = option or _model(spec)
    found = {name: part for name, part in _scored(file, log, reducer)}
    name = choose_one(file, "metric", list(found), metric)
    scores = [one._replace(option=model, item=f"{called}/{one.item}") for one in found[name]]
    run = spec["eval_id" if spec.get("eval_id") is not None else "created"].text()
    told = tell_scores(file, scores, telling, lambda model: f"inspect {run} {called} {name}")
    return replace(told, notes=[*told.notes, *_about_limit(spec)])


def _about_limit(spec: JsonPart) -> list[str]:
    """What must be known of samples that were not all asked."""
    config, dataset = spec.get("config"), spec.get("dataset")
    limit = None if config is None else config.get("limit")
    shuffled = None if dataset is None else dataset.get("shuffled")
    if limit is None or (shuffled is not None and shuffled.value is True):
        return []
    return [f"Only the first samples were asked (limit {printable(limit.value)}): no random sample."]


def _opened(file: ResultFile) -> _Log:
    if not file.head().startswith(_ZIP):
        whole = file.json()
        return _Log(_of_version(whole), _list(whole.get("samples")), _list(whole.get("reductions")))
    with Archive(file) as archive:
        return _unpacked(file, archive)


def _unpacked(file: ResultFile, archive: Archive) -> _Log:
    if "header.json" not in archive.names:
        if "_journal/start.json" in archive.names:
            raise file.refuse(
                "its evaluation has not ended (it has no header.json): wait for it, or retry it."
            )
        raise file.refuse("it is a zip archive without header.json, and so no log of Inspect.")
    header = _of_version(archive.json("header.json"))
    reduced = archive.json("reductions.json") if "reductions.json" in archive.names else None
    if "summaries.json" in archive.names:
        return _Log(header, archive.json("summaries.json").list(), _list(reduced))
    inside = sorted(name for name in archive.names if name.startswith("samples/") and name.endswith(".json"))
    return _Log(header, [archive.json(name) for name in inside], _list(reduced))


def _list(part: JsonPart | None) -> list[JsonPart]:
    return [] if part is None else part.list()


def _of_version(header: JsonPart) -> JsonPart:
    version = header["version"].count()
    if version != VERSION:
        raise header["version"].refuse(f"is {version}; logs of version {VERSION} are read.")
    return header


def _check_complete(header: JsonPart) -> None:
    status = header["status"].text()
    if status != "success":
        error = header.get("error")
        said = "" if error is None or error.get("message") is None else f": {error['message'].text()[:120]}"
        raise header["status"].refuse(
            f"is {status!r}{printable(said)}. Samples that came first are no random part of all: run it "
            'again (inspect eval-retry), or say `status="any"`.'
        )
    if (invalid := header.get("invalidated")) is not None and invalid.value is True:
        raise invalid.refuse(
            'is true: samples of it were invalidated; `status="any"` takes them all the same.'
        )


def _model(spec: JsonPart) -> str:
    model = spec["model"].text()
    if model in ("none", "none/none"):
        raise spec["model"].refuse("names no model, and so nothing to compare: say `option=`.")
    return model


def _scored(file: ResultFile, log: _Log, reducer: str | None) -> Iterator[tuple[str, list[ItemScore]]]:
    """The scores by scorer, one for every sample."""
    if not log.samples:
        raise file.refuse("it has no samples: it was written without them.")
    everything = {_id(one): one for one in log.samples}
    if not log.reductions:
        if reducer is not None:
            raise file.refuse(f"it has no reduced scores, and so no reducer {printable(reducer)!r}.")
        yield from _by_scorer(log.samples)
        return
    several = sorted({name for one in log.reductions if (name := _reducer(one)) is not None})
    wanted = choose_one(file, "reducer", several, reducer) if several else None
    for one in log.reductions:
        if _reducer(one) != wanted:
            continue
        reduced = {_id(sample, "sample_id"): sample for sample in one["samples"].list()}
        parts = {id: _values(reduced.get(id), one["scorer"].text()) for id in everything}
        for name in dict.fromkeys(name for values in parts.values() for name in values):
            yield name, [
                ItemScore(
                    f"sample {id!r}", "", id, values.get(name),
                    "" if values.get(name) is not None else _why(everything[id], reduced.get(id)),
                )
                for id, values in parts.items()
            ]  # fmt: skip


def _by_scorer(samples: list[JsonPart]) -> Iterator[tuple[str, list[ItemScore]]]:
    """The mean of all epochs, which is how Inspect reduces them unless it is configured otherwise."""
    parts = []
    # A sample that was run again appears twice: the later one counts.
    for sample in {(_id(one), _epoch(one)): one for one in samples}.values():
        found = sample.get("scores")
        values: dict[str, float | None] = {}
        for scorer, score in found.items() if found is not None else ():
            values |= _values(score, scorer)
        parts.append((sample, values))
    for name in dict.fromkeys(name for _, values in parts for name in values):
        yield name, averaged([
            ItemScore(f"sample {_id(sample)!r}", "", _id(sample), values.get(name), _why(sample, None))
            for sample, values in parts
        ])  # fmt: skip


def _reducer(reduction: JsonPart) -> str | None:
    found = reduction.get("reducer")
    return None if found is None else found.text()


def _id(sample: JsonPart, name: str = "id") -> str:
    part = sample[name]
    return part.text() if part.is_a(str) else str(part.count(least=-(2**63)))


def _epoch(sample: JsonPart) -> int:
    found = sample.get("epoch")
    return 1 if found is None else found.count()


def _why(sample: JsonPart, score: JsonPart | None) -> str:
    """Why a sample has no score, in the words of the log."""
    for part in (sample.get("error"), None if score is None else score.get("explanation")):
        if part is not None:
            return part["message"].text() if part.is_a(dict) else str(part.value)
    return ""


def _values(score: JsonPart | None, scorer: str) -> dict[str, float | None]:
    """The values of a score: one, or several by name; None: not scored."""
    if score is None:
        return {}
    value = score.get("value")
    if value is None:
        return {scorer: None}
    if value.is_a(dict):
        return {f"{scorer}/{name}": _number(part) for name, part in value.items()}
    if value.is_a(list):
        return {f"{scorer}/{at}": _number(part) for at, part in enumerate(value.list())}
    return {scorer: _number(value)}


def _number(value: JsonPart) -> float | None:
    """A score as a number, as Inspect makes one of it; a text that it knows not is refused, not 0."""
    if value.is_a(bool):
        return float(value.value)
    if value.is_a(str):
        text = value.text()
        found = LETTERS.get(text, WORDS.get(text.lower()))
        if found is None:
            raise value.refuse(
                f"is {printable(text)[:40]!r}, which is neither a number nor one of C, I, P, N."
            )
        return found
    if value.value is None or (value.is_a(float) and math.isnan(value.value)):
        return None
    return value.number()


def looks_like(file: ResultFile) -> bool:
    """Whether a file is a log of Inspect."""
    head = file.head()
    if head.startswith(_ZIP):
        return "_journal/start.json" in head or "header.json" in head or file.name.endswith(".eval")
    return head.lstrip().startswith("{") and '"run_id"' in head and '"task_id"' in head


READER = Reader("inspect", "Inspect logs, .eval or .json", read, looks_like, "**/*.eval")
