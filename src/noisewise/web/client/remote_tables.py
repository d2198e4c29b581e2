"""Tables of results for a study on a server: read and understood here, checked and told there."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from noisewise.study.log.told import Measurement
from noisewise.web.client.server_refusals import understanding

if TYPE_CHECKING:
    from noisewise.study.intake.columns.understanding import Understood
    from noisewise.web.client.remote_study import RemoteStudy

#: A row with its line, as `ReadTable.with_lines` writes it.
_LINE = re.compile(r"(row \d+)(?: \(line \d+\)|( \([^()]*), line \d+(?=\)))")


class CorrectedRow(NamedTuple):
    """A measurement that was corrected, by its name."""

    id: str


class TakenRemotely:
    """What became of the rows of a table: as many were told, known before, corrected or left out."""

    def __init__(self, said: dict[str, Any], understood: "Understood") -> None:
        self.understood = understood
        self._told = int(said["told"])
        self.items = int(said["items"])
        self.known = int(said["known"])
        self.equal = [(int(one["row"]), str(one["measurement"])) for one in said["equal"]]
        self.amended = [CorrectedRow(str(one)) for one in said["amended"]]
        self.missing = [str(one) for one in said["missing"]]
        notes, gone = [str(one) for one in said["notes"]], int(said["voided"])
        self.voided, self._notes = notes[:gone], notes[gone:]
        self.empty, self.unasked = int(said["empty"]), int(said["unasked"])

    def __len__(self) -> int:
        return self._told

    def with_notes(self) -> Iterator[Measurement]:
        """Those about which there is something to say."""
        for note in self._notes:
            name, _, said = note.partition(": ")
            yield Measurement(int(name.removeprefix("m-")), "", None, 0.0, None, None, "", None, (said,))

    def __repr__(self) -> str:
        from noisewise.core.support.words import counted

        return f"{counted(self._told, 'measurement')} told, {self.known} known before"


def tell_table(
    study: "RemoteStudy",
    measurements: Any,
    *,
    match: bool = False,
    repeat: Any = False,
    amend: str | None = None,
    unknown: str = "refuse",
    dry_run: bool = False,
    watch: Any = None,
    **reading: Any,
) -> TakenRemotely:
    """Tell a table; see `Study.tell_many`.

    Args:
        study: The study.
        measurements: The table.
        match: As in `tell_many`.
        repeat: As in `tell_many`.
        amend: As in `tell_many`.
        unknown: As in `tell_many`.
        dry_run: As in `tell_many`.
        watch: Is called when the table is sent, and when it is told.
        reading: How it is read.
    """
    from noisewise.study.intake.columns.understanding import check_reading, understand
    from noisewise.study.table_entries import check_unit, described_columns

    check_reading(reading, "tell_many")
    settled = reading.get("map") or reading.get("layout")
    others = () if settled else described_columns(study.specification)
    understood = understand(measurements, others=others, **reading)
    check_unit(study.specification.unit, understood)
    if understood.layout is not None:
        raise ValueError(
            "a table of studies (layout=) cannot be told to a server yet: tell it on the server's machine."
        )
    said = {
        "table": _text_of(understood),
        "map": {role: role for role in understood.frame.columns},
        "decimal": ".",
        "allow_missing_se": understood.allow_missing_se,
        "match": match,
        "repeat": repeat,
        "amend": amend,
        "unknown": unknown,
        "dry_run": dry_run,
    }
    rows = understood.frame.height
    if watch is not None:
        watch("sending", 0, rows)
    with understood.table.placed(), _without_lines():
        answer = study._change("imports", said, keyed=not dry_run, writes=not dry_run)
    if watch is not None:
        watch("sending", rows, rows)
    with understanding(study._connection.address):
        return TakenRemotely(answer, understood)


@contextmanager
def _without_lines() -> Iterator[None]:
    """Leave out the lines of the text that was sent, which nobody has seen."""
    try:
        yield
    except (ValueError, KeyError, TypeError) as problem:
        said = str(problem.args[0] if problem.args else problem)
        raise type(problem)(_LINE.sub(r"\1\2", said)) from None


def _text_of(understood: "Understood") -> str:
    """The table with its roles as headers."""
    from noisewise.study.inputs.delimited import write_delimited

    return write_delimited(understood.frame)
