"""pytest-benchmark: the rounds of every benchmark (``--benchmark-json``, or what it saves), as readings."""

from typing import Any

from noisewise.core.checks import check_choice
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.shared import TimeScale, check_version, refuse_twice, told_as, told_as_scatter

#: Versions of the tool whose files are alike in what is read here.
KNOWN = (3, 4, 5)


def read(
    file: ResultFile, *, unit: str | None = None, names: str = "fullname", version: str = "known"
) -> Readout:
    """The rounds of every benchmark; where they were not kept, their mean and standard deviation.

    Args:
        file: What ``pytest --benchmark-json`` wrote, or a file in ``.benchmarks``.
        unit: The unit of the recorded times; default: seconds, as they are.
        names: What options are called by: ``"fullname"``, ``"name"`` or ``"param"``.
        version: ``"any"`` reads files of versions that are not known.
    """
    check_choice("names", names, ("fullname", "name", "param"))
    scale, root = TimeScale("s", unit), file.json()
    check_version(root["version"], KNOWN, "pytest-benchmark", version)
    run = root["datetime"].text()
    rows, lost = [], 0
    for benchmark in root["benchmarks"].list(least=1):
        told = _measured(benchmark["stats"], scale)
        lost += "sd" in told
        key = f"pytest-benchmark {run} {benchmark['fullname'].text()}"
        rows.append(ReadRow(benchmark.place, {"option": benchmark[names].text(), **told, "key": key}))
    refuse_twice(rows, file, ' Call them by `names="fullname"`.' if names != "fullname" else "")
    return Readout(rows, unit=scale.unit, notes=_about_lost(lost))


def _measured(stats: JsonPart, scale: TimeScale) -> dict[str, Any]:
    rounds, data = stats["rounds"].count(least=1), stats.get("data")
    if data is not None:
        readings = data.numbers(least=0.0, at_least=1)
        if len(readings) != rounds:
            raise data.refuse(f"must have {rounds} readings, one for each round; it has {len(readings)}.")
        return told_as([*map(scale, readings)])
    mean, sd = stats["mean"].number(least=0.0), stats["stddev"].number(least=0.0)
    return told_as_scatter(scale(mean), scale(sd), rounds)


def _about_lost(lost: int) -> list[str]:
    if not lost:
        return []
    return [
        "The single rounds were not saved, so their mean, standard deviation and number are recorded; "
        "--benchmark-save-data keeps them."
    ]


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like one of pytest-benchmark."""
    head = file.head()
    return '"machine_info"' in head and '"commit_info"' in head


READER = Reader("pytest-benchmark", "pytest --benchmark-json", read, looks_like)
