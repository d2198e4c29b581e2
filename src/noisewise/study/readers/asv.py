"""asv: the samples of every benchmark (``results/machine/*.json``, version 2), as readings."""

import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

from noisewise.core.checks import check_choice
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.shared import TimeScale, check_version, listed, same_unit, told_as

#: Kinds of benchmarks by how their names begin.
KINDS = {"time": ("time", "timeraw"), "mem": ("mem",), "peakmem": ("peakmem",), "track": ("track",)}
#: The kind of a benchmark, from its name: time_sum, or TimeSum.
_KIND = re.compile(r"(timeraw|time|peakmem|mem|track|Timeraw|Time|PeakMem|Mem|Track)(?=_|[A-Z])")
#: The unit of memory, as asv and people call it.
BYTES = ("bytes", "B", "byte")
#: The level of the intervals that asv keeps.
LEVEL = 0.99


def read(
    file: ResultFile,
    *,
    unit: str | None = None,
    metric: str = "time",
    version: str = "known",
) -> Readout:
    """The samples of every benchmark and every combination of its parameters.

    Args:
        file: A file of results, ``results/machine/commit-environment.json``, or the folder.
        unit: The unit of the recorded times; default: seconds, as they are.
        metric: ``"time"``, ``"mem"``, ``"peakmem"`` or ``"track"``: which benchmarks.
        version: ``"any"`` reads files of versions that are not known.
    """
    check_choice("metric", metric, tuple(KINDS))
    root = file.json()
    check_version(root["version"], (2,), "asv's results", version)
    scale = TimeScale("s", unit) if metric == "time" else None
    run = f"asv {root['commit_hash'].text()} {root['params']['machine'].text()} {root['env_name'].text()}"
    columns = [name.text() for name in root["result_columns"].list(least=1)]
    rows, other, failed = [], [], []
    for name, result in root["results"].items():
        kind = _KIND.match(name.rpartition(".")[2])
        if kind is None or kind[1].lower() not in KINDS[metric]:
            other.append(name)
            continue
        for called, told in _results(name, result, columns, scale):
            if told is None:
                failed.append(called)
                continue
            rows.append(ReadRow(result.place, {"option": called, **told, "key": f"{run} {called}"}))
    told_in = scale.unit if scale else unit if metric == "track" else same_unit(file, BYTES, unit)
    return Readout(rows, unit=told_in, notes=_notes(rows, other, failed))


def _results(
    name: str, result: JsonPart, columns: list[str], scale: TimeScale | None
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Every combination of parameters, with what came out; None if it failed or was skipped."""
    cells = dict(zip(columns, result.list(least=1), strict=False))
    parameters = [one.list() for one in cells["params"].list()] if "params" in cells else []
    combinations = list(itertools.product(*parameters))
    values = cells.get("result")
    if values is None:
        raise result.refuse("must have 'result'.")
    if values.value is None:
        yield name, None
        return
    found = values.list()
    if len(found) != len(combinations):
        raise values.refuse(f"must be {len(combinations)}, one for each combination; it has {len(found)}.")
    for at, (value, combination) in enumerate(zip(found, combinations, strict=True)):
        said = ", ".join(part.text() for part in combination)
        called = f"{name}({said})" if combination else name
        missing = value.value is None or (isinstance(value.value, float) and math.isnan(value.value))
        yield called, None if missing else _measured(value, cells, at, scale)


def _measured(
    value: JsonPart, cells: dict[str, JsonPart], at: int, scale: TimeScale | None
) -> dict[str, Any]:
    convert = scale or float
    samples = _cell(cells, "samples", at)
    least = 0.0 if scale else None
    if samples is not None:
        return told_as([convert(one) for one in samples.numbers(least, at_least=1)])
    told: dict[str, Any] = {"value": convert(value.number(least))}
    low, high = _cell(cells, "stats_ci_99_a", at), _cell(cells, "stats_ci_99_b", at)
    if low is None or high is None or _is_infinite(low) or _is_infinite(high):
        return told  # of a few samples asv knows no interval
    ends = {"lo": convert(low.number()), "hi": convert(high.number())}
    # asv writes the ends with fewer digits than the value.
    ends = {"lo": min(ends["lo"], told["value"]), "hi": max(ends["hi"], told["value"])}
    return told | (ends | {"level": LEVEL} if ends["lo"] < ends["hi"] else {})


def _cell(cells: dict[str, JsonPart], name: str, at: int) -> JsonPart | None:
    if name not in cells or cells[name].value is None:
        return None
    several = cells[name].list()
    if at >= len(several):
        raise cells[name].refuse(f"must have a part for every combination; it has {len(several)}.")
    return None if several[at].value is None else several[at]


def _is_infinite(part: JsonPart) -> bool:
    return isinstance(part.value, float) and math.isinf(part.value)


def _notes(rows: list[ReadRow], other: list[str], failed: list[str]) -> list[str]:
    notes = []
    if any("lo" in row.fields for row in rows):
        notes.append(
            "The samples were not recorded, so medians with asv's intervals at 99 % are recorded, as if "
            "they were known; asv run --record-samples keeps the samples."
        )
    if other:
        notes.append(f"Benchmarks of another kind are left out: {listed(other)}.")
    if failed:
        notes.append(f"Left out, because they failed or were skipped: {listed(failed)}.")
    return notes


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like one of asv."""
    head = file.head()
    return '"result_columns"' in head and '"commit_hash"' in head


READER = Reader("asv", "asv's results/machine/*.json", read, looks_like, "**/*.json")
