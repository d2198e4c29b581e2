"""What is told of a measurement, and the measurement as people get it back; a worker needs no more of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from noisewise.core.checks import nearest
from noisewise.core.text import printable

#: How keys begin that a client made, so that what it sends again is known: no one reads them.
GENERATED = "sent-"


class MeasurementWarning(UserWarning):
    """A measurement that looks like a slip: it counts as it was told."""


class Told(TypedDict, total=False):
    """What `tell` takes besides a job and a value."""

    option: str | None
    plus: str | None
    minus: str | None
    se: float | Sequence[float] | None
    var: float | None
    sd: float | None
    n: int | None
    ci: Sequence[float] | None
    level: float | None
    values: Sequence[float] | None
    successes: int | None
    trials: int | None
    items: Mapping[str, float] | None
    block: str | None
    arm: bool | None
    instrument: str | None
    key: str | None
    by: str | None
    cost: float | None
    at: float | None
    note: str | None


#: What others call the arguments of `tell`.
_ELSEWHERE = {
    "sigma": "se", "stderr": "se", "sem": "se", "error": "se", "err": "se", "std": "sd", "variance": "var",
    "mean": "value", "result": "value", "y": "value", "name": "option", "arm_name": "option", "day": "block",
    "batch": "block", "k": "successes",
}  # fmt: skip


def check_arguments(told: Mapping[str, Any], method: str) -> None:
    """Refuse arguments that `tell` or `amend` does not have."""
    known = list(Told.__annotations__)
    for argument in told:
        if argument not in known:
            meant = _ELSEWHERE.get(argument)
            hint = nearest(argument, known) if meant is None else f" Did you mean {meant!r}?"
            first = "job, value" if method == "tell" else "value"
            raise TypeError(
                f"{method}() has no argument {argument!r}; it has {first}, {', '.join(known)}.{hint}"
            )


@dataclass(frozen=True)
class Measurement:
    """What was told, as it entered the study."""

    number: int
    option: str
    minus: str | None  # the option it was compared with, if a difference was measured
    value: float
    se: float | None  # the standard error, as people expect it
    sigma: float | None  # the standard error as it enters the fit
    kind: str  # whether the error bar is known, or comes from readings or counts
    block: str | None  # the day, batch or instrument whose offset it shares
    notes: tuple[str, ...]  # what was noticed about it

    @property
    def id(self) -> str:
        """How messages call it."""
        return f"m-{self.number}"

    def __repr__(self) -> str:
        what = self.option if self.minus is None else f"{self.option} - {self.minus}"
        error = "" if self.se is None else f" ± {self.se:.3g}"
        notes = "".join(f"; {note}" for note in self.notes)
        return printable(f"Measurement({self.id}: {what} = {self.value:.6g}{error}{notes})")


def measurement_of(number: int, body: dict[str, Any]) -> Measurement:
    """The measurement that a body describes."""
    return Measurement(
        number=number,
        option=body["option"],
        minus=body.get("minus"),
        value=body["value"],
        se=body.get("shown"),
        sigma=body.get("sigma"),
        kind=body["kind"],
        block=body.get("block"),
        notes=tuple(body.get("notes", ())),
    )
