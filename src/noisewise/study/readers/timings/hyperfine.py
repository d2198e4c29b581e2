"""hyperfine: the times of every command (``--export-json``), as readings."""

from noisewise.study.readers.json_part import JsonPart
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile
from noisewise.study.readers.time_units import TimeScale


def read(file: ResultFile, *, unit: str | None = None, exit_codes: str = "0") -> Readout:
    """The times of every command.

    Args:
        file: What ``hyperfine --export-json`` wrote.
        unit: The unit to tell the times in; default: seconds, as they are.
        exit_codes: ``"any"`` takes the times of runs that failed, too (``hyperfine -i``).
    """
    if exit_codes not in ("0", "any"):
        raise ValueError(f"`exit_codes` must be '0' or 'any'; got {exit_codes!r}.")
    scale = TimeScale("s", unit)
    rows = []
    for result in file.json()["results"].list(least=1):
        if exit_codes == "0":
            _check_exit_codes(result)
        fields = {"option": _option(result), **_measured(result, scale)}
        rows.append(ReadRow(result.place, fields))
    return Readout(rows, unit=scale.unit, notes=_about_repeats(rows))


def _option(result: JsonPart) -> str:
    """The command, or the name it was given, in one line, with the parameters that it does not show."""
    command = " ".join(result["command"].text().split())
    parameters = result.get("parameters")
    shown = []
    for name, part in parameters.items() if parameters is not None else ():
        value = part.text() if part.is_a(str) else f"{part.number():g}"
        if value not in command:
            shown.append(f"{name}={value}")
    return f"{command} ({', '.join(shown)})" if shown else command


def _measured(result: JsonPart, scale: TimeScale) -> dict[str, object]:
    times = result.get("times")
    if times is None:
        raise result.refuse("must have 'times', the single runs: export with --export-json.")
    readings = [scale(time) for time in times.numbers(least=0.0, at_least=1)]
    return {"values": readings} if len(readings) > 1 else {"value": readings[0]}


def _check_exit_codes(result: JsonPart) -> None:
    codes = result.get("exit_codes")
    for run, code in enumerate(codes.list() if codes is not None else [], start=1):
        if code.value != 0:
            ended = "was killed" if code.value is None else f"ended with exit code {code.count(-(2**31))}"
            raise result.refuse(
                f"({_option(result)!r}): run {run} {ended}, so its time is not that of a success; "
                'exit_codes="any" takes it all the same.'
            )


def _about_repeats(rows: list[ReadRow]) -> list[str]:
    names = [str(row.fields["option"]) for row in rows]
    twice = list(dict.fromkeys(name for name in names if names.count(name) > 1))
    return [
        f"{name!r} stands {names.count(name)} times in the file: each is a measurement." for name in twice
    ]


def looks_like(file: ResultFile) -> bool:
    """Whether a file begins like one of hyperfine."""
    head = file.head()
    return '"results"' in head and '"command"' in head and '"times"' in head and '"median"' in head


READER = Reader("hyperfine", "hyperfine --export-json", read, looks_like)
