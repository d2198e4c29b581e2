"""Units of time: what a tool measured in one, told in another."""

from fractions import Fraction

from noisewise.core.support.checks import nearest

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
        """Refuse what is no unit of time.

        Args:
            measured_in: The unit of the file.
            told_in: The unit that is wanted; None: as it is.
        """
        self.unit = measured_in if told_in is None else told_in
        for unit in (measured_in, self.unit):
            if not is_time(unit):
                hint = nearest(unit, [*SECONDS, *_ALSO])
                raise ValueError(
                    f"times in {measured_in} cannot be told in {unit!r}: the unit must be one of "
                    f"{', '.join(SECONDS)}.{hint}"
                )
        ratio = SECONDS[_ALSO.get(measured_in, measured_in)] / SECONDS[_ALSO.get(self.unit, self.unit)]
        self._up, self._down = float(ratio.numerator), float(ratio.denominator)

    def __call__(self, time: float) -> float:
        """A time in the wanted unit. One of both factors is 1 for all decimal units: it rounds once."""
        return time * self._up / self._down
