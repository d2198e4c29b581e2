"""Correcting: `void`, `amend`, `exclude`, `add` and `switch`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from noisewise.core.refusals import RefusedError
from noisewise.operations import tables
from noisewise.operations.measure import NEVER_INVENT, MeasuredFields, TellOutcome, measurement_in
from noisewise.operations.start import Deviation, ExtraScatter
from noisewise.operations.table import Api, Arg, Group, Opt, Result, Role, operation
from noisewise.operations.tables import Decimal, Options
from noisewise.operations.values import OptionName, Reason

if TYPE_CHECKING:
    from noisewise.study.study import Study

MeasurementId = Annotated[str, Arg("The measurement's id (m-17) or key.", metavar="MEASUREMENT")]


@dataclass
class VoidOutcome(Result):
    """A measurement that no longer counts."""

    measurement: str
    reason: str

    def lines(self) -> list[str]:
        """Return it in a sentence."""
        return [f"{self.measurement} no longer counts: {self.reason}."]


@operation(Group.CORRECT, role=Role.OWNER, corrects=True)
def void(study: "Study", measurement: MeasurementId, reason: Reason) -> VoidOutcome:
    """Take a measurement out of the analysis; it stays in the log."""
    study.void(measurement, reason)
    return VoidOutcome(measurement, reason)


def _amended_again(events: list[Any]) -> dict[str, Any]:
    from noisewise.study.log.told import measurement_of
    from noisewise.study.plain import measurement_row

    body = events[0].body
    return {"measurement": measurement_row(measurement_of(body["number"], body["content"]))}


@operation(
    Group.CORRECT, role=Role.OWNER, corrects=True, returns=measurement_in, again=_amended_again,
    advice=NEVER_INVENT, numbers=True,
)  # fmt: skip
def amend(
    study: "Study",
    measurement: MeasurementId,
    reason: Reason,
    value: Annotated[float | str | None, Opt("The corrected value.")] = None,
    option: Annotated[str | None, Opt("The option that was really measured.")] = None,
    **told: Unpack[MeasuredFields],
) -> TellOutcome:
    """Correct a measurement. What is given replaces what was recorded; the old values stay in the log."""
    from noisewise.study.plain import measurement_row

    given: dict[str, Any] = {name: part for name, part in told.items() if part is not None}
    given |= {} if option is None else {"option": option}
    measured = study.amend(measurement, reason, value, **given)
    return TellOutcome(measurement_row(measured), measured)


@dataclass
class ExcludeOutcome(Result):
    """An option that was taken out of the comparison, or back into it."""

    option: str
    reason: str | None
    undone: bool

    def lines(self) -> list[str]:
        """Return it in a sentence."""
        return [f"{self.option} is back." if self.undone else f"Excluded {self.option}: {self.reason}."]


@operation(Group.CORRECT, role=Role.OWNER, corrects=True)
def exclude(
    study: "Study",
    option: OptionName,
    reason: Annotated[str | None, Arg("The reason, in a few words; it is kept.")] = None,
    undo: Annotated[bool, Opt("Take an excluded option back into the comparison.")] = False,
) -> ExcludeOutcome:
    """Take an option out of the comparison; its measurements stay."""
    if undo:
        study.include(option)
    elif reason is None:
        raise RefusedError("reason", "must say why the option is excluded")
    else:
        study.exclude(option, reason)
    return ExcludeOutcome(option, reason, undo)


@dataclass
class AddOutcome(Result):
    """Options that were added."""

    added: list[str]
    _count: int

    def lines(self) -> list[str]:
        """Return them, and how many options there are now."""
        from noisewise.core.text import counted

        return [f"Added {', '.join(self.added)}: {counted(self._count, 'option')}."]


@operation(
    Group.CORRECT, role=Role.OWNER, method="add_options", path="options",
    returns=lambda content: content["added"], again=lambda events: {"added": list(events[0].body["ids"])},
)  # fmt: skip
def add(
    study: "Study",
    options: Annotated[Options, Arg(f"A table ({tables.TABLES}), or names.")],
    *,
    id: Annotated[
        str | None, Opt("The column with the names; default: as in init.", metavar="COLUMN")
    ] = None,
    decimal: Decimal = None,
) -> AddOutcome:
    """Add options, with the same columns as the first ones."""
    added = study.add_options(tables.columns_of(options), id=id, decimal=decimal)
    return AddOutcome(added, len(study.options))


@dataclass
class SwitchOutcome(Result):
    """The model from now on."""

    model: str
    deviation: float | None
    extra_scatter: float | None
    was: str
    looks: str
    certificate: dict[str, Any]
    _words: Any = field(default=list, repr=False)

    def lines(self) -> list[str]:
        """Return where the study is now."""
        found: list[str] = self._words()
        return found


@operation(Group.CORRECT, role=Role.OWNER, corrects=True)
def switch(
    study: "Study",
    model: Annotated[
        Literal["independent", "linear", "linear+deviation", "smooth"] | None,
        Opt("independent, linear, linear+deviation or smooth; default: the present one."),
    ] = None,
    *,
    deviation: Deviation = None,
    extra_scatter: ExtraScatter = None,
    final: Annotated[
        bool, Opt("All is measured: bounds hold for one look only; there is no way back.")
    ] = False,
    reason: Annotated[str | None, Opt("The reason, in a few words; it is kept.")] = None,
) -> SwitchOutcome:
    """Use another model from now on. The measurements stay, and the log keeps the change."""
    from noisewise.study.log.looks import COST
    from noisewise.study.plain import certificate_of

    was = study.model
    study.switch(model, deviation=deviation, extra_scatter=extra_scatter, final=final or None, reason=reason)
    return SwitchOutcome(
        study.model, study.deviation, study.extra_scatter, was, study.looks, certificate_of(study),
        lambda: [*([COST] if final else []), *repr(study).splitlines()],
    )  # fmt: skip


@dataclass
class PolicyOutcome(Result):
    """The rule that makes suggestions from now on."""

    policy: str


@operation(Group.CORRECT, role=Role.OWNER, on="http")
def policy(
    study: "Study",
    name: Annotated[str | None, Api("The rule; default: the present one, as it is installed now.")] = None,
    options: Annotated[dict[str, Any] | None, Api("Its options.")] = None,
) -> PolicyOutcome:
    """Let another rule make suggestions from now on."""
    study.set_policy(name, **options or {})
    return PolicyOutcome(study.policy)
