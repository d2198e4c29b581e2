"""What several readers share: readings as fields of `tell`, versions of formats, units of time."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from noisewise.core.checks import nearest
from noisewise.core.text import printable
from noisewise.study.readers.readout import ReadRow
from noisewise.study.readers.result_file import JsonPart, ResultFile

#: Names that a sentence lists.
NAMED = 5


def told_as(readings: Sequence[float]) -> dict[str, Any]:
    """Readings as fields of `tell`: a single one has no error bar of its own."""
    return {"values": list(readings)} if len(readings) > 1 else {"value": readings[0]}


def told_as_scatter(mean: float, sd: float, n: int) -> dict[str, Any]:
    """The mean and the standard deviation of n readings, which are gone; of one reading the value alone."""
    return {"value": mean, "sd": sd, "n": n} if n > 1 else {"value": mean}


def check_version(part: JsonPart, known: Iterable[int], tool: str, version: str) -> None:
    """Refuse a format of another version, unless ``version`` is "any".

    Args:
        part: The version in the file: a number, or a text such as "5.1.0".
        known: The (first) numbers that are read.
        tool: What they are versions of.
        version: What the person said.
    """
    if version not in ("known", "any"):
        raise ValueError(f"`version` must be 'known' or 'any'; got {version!r}.")
    if version == "any":
        return
    said = part.value if isinstance(part.value, str) else str(part.count())
    first = said.split(".")[0]
    numbers = sorted(known)
    if not first.isdecimal() or int(first) not in numbers:
        listed = ", ".join(map(str, numbers))
        raise part.refuse(
            f"must be {listed}, the versions of {tool} that are read; got {printable(said[:40])!r}. If its "
            'fields are still the same, `version="any"` reads it all the same.'
        )


def refuse_twice(rows: Sequence[ReadRow], file: ResultFile, way_out: str = "") -> None:
    """Refuse an option that appears twice where a file has each once."""
    first: dict[str, str] = {}
    for row in rows:
        name = str(row.fields["option"])
        if name in first:
            raise file.refuse(
                f"{row.place}: {printable(name)!r} is in {first[name]} as well; each result needs a name of "
                f"its own.{way_out}"
            )
        first[name] = row.place


def listed(names: Sequence[str]) -> str:
    """Some names for a sentence."""
    shown = ", ".join(printable(name) for name in names[:NAMED])
    return shown + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def refuse_metric(file: ResultFile, metric: str, known: Sequence[str]) -> ValueError:
    """An error for a metric that a file does not have."""
    there = f"it has {listed(known)}" if known else "it has none"
    return file.refuse(f"there is no metric {metric!r}; {there}.{nearest(metric, list(known))}")


def same_unit(file: ResultFile, measured_in: Sequence[str], unit: str | None) -> str:
    """The unit of something other than time, which is never converted; another one is refused.

    Args:
        file: The file.
        measured_in: Its unit, in several spellings.
        unit: The unit that is wanted; None: as it is.
    """
    if unit is not None and unit not in measured_in:
        raise file.refuse(f"its values are in {measured_in[0]}, and cannot be recorded in {unit!r}.")
    return unit or measured_in[0]


#: Seconds in a unit, exactly.
SECONDS = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
#: How else people write them.
_ALSO = {
    "µs": "us", "μs": "us", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "nanoseconds": "ns",
    "microseconds": "us", "milliseconds": "ms", "minutes": "min", "hours": "h",
}  # fmt: skip


def is_time(unit: str) -> bool:
    """Whether a unit is one of time."""
    return _ALSO.get(unit, unit) in SECONDS


class TimeScale:
    """From the unit of a file to the unit of a study."""

    def __init__(self, measured_in: str, told_in: str | None) -> None:
        """Refuse anything but a unit of time.

        Args:
            measured_in: The unit of the file.
            told_in: The unit that is wanted; None: as it is.
        """
        self.unit = measured_in if told_in is None else told_in
        for unit in (measured_in, self.unit):
            if not is_time(unit):
                hint = nearest(unit, [*SECONDS, *_ALSO])
                raise ValueError(
                    f"times in {measured_in} cannot be recorded in {unit!r}: the unit must be one of "
                    f"{', '.join(SECONDS)}.{hint}"
                )
        ratio = SECONDS[_ALSO.get(measured_in, measured_in)] / SECONDS[_ALSO.get(self.unit, self.unit)]
        self._up, self._down = float(ratio.numerator), float(ratio.denominator)

    def __call__(self, time: float) -> float:
        """A time in the wanted unit. One of both factors is 1 for all decimal units: it rounds once."""
        return time * self._up / self._down
