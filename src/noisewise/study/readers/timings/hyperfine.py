"""hyperfine: the times of every command (``--export-json``), as readings."""

from noisewise.core.support.checks import check_choice
from noisewise.study.readers.json_part import JsonPart
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import Readout, ReadRow
from noisewise.study.readers.result_file import ResultFile
from noisewise.study.readers.shared import listed, told_as
from noisewise.study.readers.time_units import TimeScale


def read(file: ResultFile, *, unit: str | None = None, exit_codes: str = "0") -> Readout:
    """The times of every command.

    Args:
        file: What ``hyperfine --export-json`` wrote.
        unit: The unit to tell the times in; default: seconds, as they are.
        exit_codes: ``"any"`` takes the times of runs that failed, too (``hyperfine -i``).
    """
    check_choice("exit_codes", exit_codes, ("0", "any"))
    scale = TimeScale("s", unit)
    rows = []
    for result in file.json()["results"].list(least=1):
        if exit_codes == "0":
            _check_exit_codes(result)
        times = result["times"].numbers(least=0.0, at_least=1)
        rows.append(ReadRow(result.place, {"option": _option(result), **told_as([*map(scale, times)])}))
    return Readout(rows, unit=scale.unit, notes=_about_repeats(rows))


def _option(result: JsonPart) -> str:
    """The command, or the name it was given, in one line, with the parameters that it does not show."""
    command = " ".join(result["command"].text().split())
    parameters = result.get("parameters")
    hidden = []
    for name, part in parameters.items() if parameters is not None else ():
        value = " ".join(part.text().split()) if part.is_a(str) else f"{part.number():g}"
        if value not in command:
            hidden.append(f"{name}={value}")
    return f"{command} ({', '.join(hidden)})" if hidden else command


def _check_exit_codes(result: JsonPart) -> None:
    codes = result.get("exit_codes")
    for run, code in enumerate(codes.list() if codes is not None else [], start=1):
        if code.value is None or code.count(least=-(2**31)) != 0:
            ended = "was killed by a signal" if code.value is None else f"ended with exit code {code.value}"
            raise result.refuse(
                f"({_option(result)!r}): run {run} {ended}, so its time is not that of a success; "
                'exit_codes="any" takes it all the same.'
            )


def _about_repeats(rows: list[ReadRow]) -> list[str]:
    names = [str(row.fields["option"]) for row in rows]
    twice = list(dict.fromkeys(name for name in names if names.count(name) > 1))
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
