"""hyperfine: the times of every command (``--export-json``), as readings."""

from collections import Counter

from noisewise.core.checks import check_choice
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.shared import TimeScale, listed, told_as


def read(file: ResultFile, *, unit: str | None = None, exit_codes: str = "0") -> Readout:
    """The times of every command.

    Args:
        file: What ``hyperfine --export-json`` wrote.
        unit: The unit of the recorded times; default: seconds, as they are.
        exit_codes: ``"any"`` takes the times of runs that failed, too (``hyperfine -i``).
    """
    check_choice("exit_codes", exit_codes, ("0", "any"))
    scale = TimeScale("s", unit)
    results = file.json()["results"].list(least=1)
    rows = []
    for result, option in zip(results, _options(results), strict=True):
        if exit_codes == "0":
            _check_exit_codes(result, option)
        times = result["times"].numbers(least=0.0, at_least=1)
        rows.append(ReadRow(result.place, {"option": option, **told_as([*map(scale, times)])}))
    return Readout(rows, unit=scale.unit, notes=_about_repeats(rows))


def _options(results: list[JsonPart]) -> list[str]:
    """The commands, or the names they were given, in one line; with parameters where these differ."""
    commands = [" ".join(result["command"].text().split()) for result in results]
    parameters = [_parameters(result) for result in results]
    kinds: dict[str, set[str]] = {}
    for command, said in zip(commands, parameters, strict=True):
        kinds.setdefault(command, set()).add(said)
    return [
        f"{command} ({said})" if said and len(kinds[command]) > 1 else command
        for command, said in zip(commands, parameters, strict=True)
    ]


def _parameters(result: JsonPart) -> str:
    found = result.get("parameters")
    said = []
    for name, part in found.items() if found is not None else ():
        value = " ".join(part.text(empty=True).split()) if part.is_a(str) else f"{part.number():g}"
        said.append(f"{name}={value}")
    return ", ".join(said)


def _check_exit_codes(result: JsonPart, option: str) -> None:
    codes = result.get("exit_codes")
    for run, code in enumerate(codes.list() if codes is not None else [], start=1):
        if code.value is None or code.count(least=-(2**31)) != 0:
            ended = "was killed by a signal" if code.value is None else f"ended with exit code {code.value}"
            raise result.refuse(
                f"({option!r}): run {run} {ended}, so its time is not that of a success; "
                '`exit_codes="any"` takes it all the same.'
            )


def _about_repeats(rows: list[ReadRow]) -> list[str]:
    times = Counter(str(row.fields["option"]) for row in rows)
    twice = [name for name, count in times.items() if count > 1]
    return (
        [f"Commands that stand there several times are several measurements: {listed(twice)}."]
        if twice
        else []
    )


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like one of hyperfine."""
    head = file.head()
    return all(f'"{name}"' in head for name in ("results", "command", "median", "times"))


READER = Reader("hyperfine", "hyperfine --export-json", read, looks_like)
