"""Go's benchmarks: the lines that ``go test -bench`` prints, one for each ``-count``, as readings."""

import math
import re
from typing import NamedTuple

from noisewise.core.checks import check_choice
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile
from noisewise.study.readers.shared import TimeScale, listed, refuse_metric, same_unit, told_as

TIME = "ns/op"
#: A benchmark's name, how many iterations, and the rest: pairs of a number and its unit.
_LINE = re.compile(r"^(Benchmark(?:[^a-z\s]\S*)?)\s+(\d+)(?:\s+(.*))?$")
_PROCESSORS = re.compile(r"-\d+$")


class GoLine(NamedTuple):
    """A line of results."""

    line: int
    name: str  # with the package, if there are several
    numbers: dict[str, float]  # by unit


def read(
    file: ResultFile, *, unit: str | None = None, metric: str = TIME, processors: str = "auto"
) -> Readout:
    """Every line's mean, those of one benchmark together.

    Args:
        file: What ``go test -bench . -count 10`` printed.
        unit: The unit of the recorded times; default: nanoseconds, as they are.
        metric: ``"ns/op"``, or another unit of the lines, such as ``"B/op"``.
        processors: What becomes of GOMAXPROCS behind names (``-8``): ``"drop"``, ``"keep"``, or ``"auto"``:
            drop it if it is the same everywhere.
    """
    check_choice("processors", processors, ("auto", "drop", "keep"))
    lines, notes = _lines(file)
    if not lines:
        raise file.refuse("it has no line of results, such as 'BenchmarkSum-8  1000  1726 ns/op'.")
    scale = TimeScale("ns", unit) if metric == TIME else None
    ending = _common_ending(lines) if processors == "auto" else ""
    groups: dict[str, list[GoLine]] = {}
    for line in lines:
        name = line.name.removesuffix(ending) if processors == "auto" else line.name
        groups.setdefault(_PROCESSORS.sub("", name) if processors == "drop" else name, []).append(line)
    if ending:
        notes.append(f"Names are recorded without the number of processors, {ending}.")
    rows = []
    for name, group in groups.items():
        numbers = [_number(line, file, metric, scale) for line in group]
        rows.append(ReadRow(f"line {group[0].line}", {"option": name, **told_as(numbers)}))
    told_in = scale.unit if scale else same_unit(file, (metric, metric.removesuffix("/op")), unit)
    return Readout(rows, unit=told_in, notes=notes)


def _lines(file: ResultFile) -> tuple[list[GoLine], list[str]]:
    found: list[tuple[str, GoLine]] = []
    failed, package = [], ""
    for at, text in enumerate(_printed(file).split("\n"), start=1):
        text = text.strip()
        if text.startswith("pkg: "):
            package = text.removeprefix("pkg: ").strip()
        elif text.startswith("--- FAIL: "):
            failed.append(text.removeprefix("--- FAIL: ").split()[0])
        elif matched := _LINE.match(text):
            found.append((package, GoLine(at, matched[1], _numbers(file, at, matched[3] or ""))))
    several = len({package for package, _ in found}) > 1
    lines = [line._replace(name=f"{of}.{line.name}") if several and of else line for of, line in found]
    return lines, [f"Left out, because they failed: {listed(failed)}."] if failed else []


def _printed(file: ResultFile) -> str:
    """What was printed; ``go test -json`` wraps it in events, which may be those of several packages."""
    text = file.text()
    if not text.lstrip().startswith("{"):
        return text
    packages: dict[str, list[str]] = {}
    for event in file.json_lines():
        if event["Action"].text() == "output":
            package = event.get("Package")
            name = "" if package is None else package.text()
            packages.setdefault(name, []).append(event["Output"].text(empty=True))
    return "\n".join("".join(said) for said in packages.values())


def _numbers(file: ResultFile, at: int, rest: str) -> dict[str, float]:
    words = rest.split()
    if not words or len(words) % 2:
        raise file.refuse(
            f"line {at} must have pairs of a number and its unit, such as 1726 ns/op: is it cut off?"
        )
    numbers: dict[str, float] = {}
    for said, unit in zip(words[::2], words[1::2], strict=True):
        try:
            number = float(said)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise file.refuse(f"line {at}: {said[:40]!r} before {unit[:40]!r} must be a finite number.")
        if unit in numbers:
            raise file.refuse(f"line {at}: {unit[:40]!r} appears twice.")
        numbers[unit] = number
    return numbers


def _common_ending(lines: list[GoLine]) -> str:
    endings = {found[0] if (found := _PROCESSORS.search(line.name)) else "" for line in lines}
    return endings.pop() if len(endings) == 1 else ""


def _number(line: GoLine, file: ResultFile, metric: str, scale: TimeScale | None) -> float:
    if metric not in line.numbers:
        problem = refuse_metric(file, metric, list(line.numbers))
        raise ValueError(str(problem).replace(": there", f": line {line.line}: there", 1))
    number = line.numbers[metric]
    if scale is None:
        return number
    if number < 0.0:
        raise file.refuse(f"line {line.line}: a time must be at least 0; got {number:g}.")
    return scale(number)


def looks_like(file: ResultFile) -> bool:
    """Whether a file has a line of Go's benchmarks."""
    lines = file.head().replace("\r", "").split("\n")
    events = lines[0].startswith("{") and '"Action"' in lines[0] and "Benchmark" in file.head()
    return events or any(_LINE.match(line) and "/op" in line for line in lines)


READER = Reader("go-bench", "what go test -bench prints", read, looks_like)
