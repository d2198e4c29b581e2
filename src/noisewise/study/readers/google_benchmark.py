"""Google Benchmark: the repetitions of every benchmark (``--benchmark_out_format=json``), as readings."""

from typing import Any

from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.shared import (
    TimeScale,
    check_version,
    is_time,
    listed,
    refuse_metric,
    told_as,
    told_as_scatter,
)

TIMES = ("real_time", "cpu_time")
#: Numbers of a row that are no metric.
_NO_METRIC = (
    "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
)  # fmt: skip


def read(
    file: ResultFile, *, unit: str | None = None, metric: str = "real_time", version: str = "known"
) -> Readout:
    """The repetitions of every benchmark; where only aggregates were kept, mean and standard deviation.

    Args:
        file: What ``--benchmark_out`` wrote.
        unit: The unit of the recorded times; default: that of the first benchmark.
        metric: ``"real_time"``, ``"cpu_time"``, or the name of a counter.
        version: ``"any"`` reads files of versions that are not known.
    """
    root = file.json()
    context = root["context"]
    if (schema := context.get("json_schema_version")) is not None:
        check_version(schema, (1,), "Google Benchmark's JSON", version)
    run = " ".join(
        context[name].text() for name in ("date", "host_name", "executable") if context.get(name) is not None
    )
    results = root["benchmarks"].list(least=1)
    groups, failed = _groups(results)
    told_in = _unit(results, unit) if metric in TIMES else unit
    rows, passed_over = [], 0
    for name, group in groups.items():
        singles = [row for row in group if row["run_type"].text() == "iteration"]
        passed_over += len(group) - len(singles) if singles else 0
        told = (
            _of_singles(singles, file, metric, told_in) if singles else _of_aggregates(group, metric, told_in)
        )
        if told is not None:
            key = {"key": f"google-benchmark {run} {name} {metric}"} if run else {}
            rows.append(ReadRow((singles or group)[0].place, {"option": name, **told, **key}))
    notes = [f"Left out, because they failed: {listed(failed)}."] if failed else []
    if passed_over:
        notes.append("Means, medians and the like that the file has beside single repetitions are not used.")
    return Readout(rows, unit=told_in, notes=notes)


def _groups(results: list[JsonPart]) -> tuple[dict[str, list[JsonPart]], list[str]]:
    """The rows by the benchmark that they are of, and those that failed or were skipped."""
    groups: dict[str, list[JsonPart]] = {}
    failed: dict[str, None] = {}
    for row in results:
        name = row["run_name"].text()
        wrong = next((row[flag] for flag in ("error_occurred", "skipped") if row.get(flag) is not None), None)
        if wrong is not None and wrong.value is not False:
            why = row.get("error_message") or row.get("skip_message")
            failed[name if why is None else f"{name} ({why.text()})"] = None
            continue
        groups.setdefault(name, []).append(row)
    return groups, list(failed)


def _unit(results: list[JsonPart], unit: str | None) -> str:
    return unit or next((r["time_unit"].text() for r in results if r.get("time_unit") is not None), "ns")


def _of_singles(rows: list[JsonPart], file: ResultFile, metric: str, unit: str | None) -> dict[str, Any]:
    numbers = [_number(row, metric, unit) for row in rows]
    if any(number is None for number in numbers):
        known = [k for k, part in rows[0].items() if part.is_a(int, float) and k not in _NO_METRIC]
        raise refuse_metric(file, metric, known)
    _check_repetitions(rows)
    return told_as([number for number in numbers if number is not None])


def _check_repetitions(rows: list[JsonPart]) -> None:
    """Refuse a repetition that appears twice: two benchmarks of one name, or two runs in one file."""
    seen: dict[int, str] = {}
    for row in rows:
        if (index := row.get("repetition_index")) is not None:
            number = index.count()
            if number in seen:
                raise row.refuse(
                    f"is repetition {number} of {row['run_name'].text()!r}, and so is {seen[number]}: those "
                    "of several benchmarks of one name, or of several runs, belong in files of their own."
                )
            seen[number] = row.place


def _of_aggregates(rows: list[JsonPart], metric: str, unit: str | None) -> dict[str, Any] | None:
    """Mean and standard deviation of repetitions that were not kept; None for fits of complexity."""
    by_name = {row["aggregate_name"].text(): row for row in rows}
    if "mean" not in by_name or "stddev" not in by_name:
        return None
    mean, scatter = _number(by_name["mean"], metric, unit), _number(by_name["stddev"], metric, unit)
    if mean is None or scatter is None:
        raise by_name["mean"].refuse(f"has no metric {metric!r}.")
    return told_as_scatter(mean, scatter, by_name["mean"]["repetitions"].count(least=1))


def _number(row: JsonPart, metric: str, unit: str | None) -> float | None:
    found = row.get(metric)
    if found is None or metric in _NO_METRIC or not found.is_a(int, float):
        if metric in TIMES:
            return row[metric].number(least=0.0)  # which refuses it
        return None
    if metric not in TIMES:
        return found.number()
    measured_in = row["time_unit"]
    if not is_time(measured_in.text()):
        raise measured_in.refuse(f"must be ns, us, ms or s; got {measured_in.text()!r}.")
    return TimeScale(measured_in.text(), unit)(found.number(least=0.0))


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like one of Google Benchmark."""
    head = file.head()
    return '"context"' in head and '"benchmarks"' in head and ('"run_type"' in head or '"num_cpus"' in head)


READER = Reader("google-benchmark", "Google Benchmark's JSON (--benchmark_out)", read, looks_like)
