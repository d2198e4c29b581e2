"""Measurements on their way into a log: checked, recognised if recorded already, appended all or none.

One measurement, several, a table, a table of items and what a reader found are all rows. Each becomes the
body of an event (`rows.read_told`); `rows.recognise` finds those that are recorded already, by their keys or
the suggestions they answer. What else a table takes is in `table_rows`, which is loaded when there is one.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from noisewise.core.checks import check_choice
from noisewise.core.remarks import warn
from noisewise.core.sequences import without_collector
from noisewise.study.log.events import Event, Happened
from noisewise.study.log.log import Log
from noisewise.study.log.state import State
from noisewise.study.log.told import Measurement, MeasurementWarning, measurement_of
from noisewise.study.telling.changes import require_reason
from noisewise.study.telling.error_bars import ITEMS
from noisewise.study.telling.finding import Watch
from noisewise.study.telling.item_rows import check_next
from noisewise.study.telling.rows import Body, ToldOtherwiseError, read_told, recognise, still_void
from noisewise.study.telling.slips import slips_in

if TYPE_CHECKING:
    from noisewise.study.telling.known_rows import Repeat
    from noisewise.study.telling.table_rows import Taken

Unknown = Literal["refuse", "add", "skip"]
#: What can become of options that are not in the catalogue.
UNKNOWN = ("refuse", "add", "skip")


def record_rows(
    state: State, given: Sequence[Mapping[str, Any]], now: float
) -> tuple[list[tuple[int, Body]], Happened]:
    """Return the number and content of each measurement, and the events of those that are new.

    Args:
        state: The study before them.
        given: What `read_told` takes, for each.
        now: The time, which decides which leases have expired.
    """
    several = len(given) > 1
    bodies = [
        read_told(state, dict(one), now=now, row=at if several else None) for at, one in enumerate(given, 1)
    ]
    for row, body in enumerate(bodies, start=1):
        if several and body["kind"] == ITEMS:
            raise ValueError(f"row {row}: items are recorded one option at a time; tell them by themselves.")
    fates = recognise(state, bodies)
    for change in fates.changes:
        raise ToldOtherwiseError(
            f"key {change.body['key']} already told with {change.differs}. Use amend on m-{change.number} if "
            "this is a correction."
        )
    for place, number in fates.voided.items():
        raise ValueError((f"row {place + 1}: " if several else "") + still_void(state, number))
    numbers = {place: len(state.told) + 1 + at for at, place in enumerate(fates.fresh)}
    numbers |= fates.known
    numbers |= {place: numbers[above] for place, above in fates.again.items()}
    for place in fates.fresh:
        if bodies[place]["kind"] == ITEMS:
            check_next(state, bodies[place])
    found = [
        (numbers[at], state.told[numbers[at] - 1] if at in fates.known else body)
        for at, body in enumerate(bodies)
    ]
    return found, [("tell", bodies[place]) for place in fates.fresh]


class Recorder:
    """Records measurements in a log: one, several or a table, all of them or none.

    Args:
        log: The log of a study.
    """

    def __init__(self, log: Log) -> None:
        self._log = log

    def record(self, given: list[Body], call: Any) -> list[Measurement]:
        """Record measurements and warn about slips in new ones.

        Args:
            given: The arguments of `Study.tell`, for each.
            call: What was called, with its arguments (see `Log.change`).
        """
        found: list[tuple[int, Body]] = []
        known = 0

        def read(news: list[Event]) -> Happened:
            nonlocal known
            state = self._log.state
            known = len(state.told)
            found[:], happened = record_rows(state, given, self._log.clock())
            return happened

        measured = self._log.change(read, call, lambda: [measurement_of(*one) for one in found])
        # Nothing is found where an earlier call, whose answer was lost, had written it.
        new = {
            number: one.get("value") for (number, _), one in zip(found, given, strict=False) if number > known
        }
        for number, written in sorted(new.items()):
            for slip in slips_in(self._log.state, number, written):
                warn(f"m-{number}: {slip}", MeasurementWarning, stacklevel=3)
        return measured

    def record_table(
        self,
        measurements: Any,
        *,
        match: bool = False,
        repeat: "Repeat" = False,
        amend: str | None = None,
        unknown: Unknown = "refuse",
        dry_run: bool = False,
        watch: Watch | None = None,
        **reading: Any,
    ) -> "Taken":
        """Record a table of results; if one row is bad, none is taken (see `Study.tell_many`).

        Args:
            measurements: The table.
            match: Whether rows answer the suggestions under way.
            repeat: Whether rows without keys that equal recorded ones were measured again.
            amend: Why rows that differ from what is recorded are right.
            unknown: What becomes of options that are not in the catalogue.
            dry_run: Whether only to look.
            watch: Called with what is being done, how many rows are done, and how many there are.
            reading: How to read the table.
        """
        from noisewise.study.telling import table_rows

        if not isinstance(repeat, bool):
            check_choice("repeat", repeat, ("others",))
        amend = None if amend is None else require_reason(amend, "amend")
        log, taken, add = self._log, cast("Taken", None), check_choice("unknown", unknown, UNKNOWN) == "add"
        understood = table_rows.understood_for(log, measurements, unknown, reading)
        with without_collector(), understood.table.placed():
            table = table_rows.table_of(
                understood.frame, match=match, repeat=repeat, amend=amend, watch=watch
            )

            def read(news: list[Event], first: bool = False) -> Happened:
                nonlocal taken
                state, added = log.state, list[tuple[str, Body]]()
                if understood.layout is not None:
                    table_rows.refuse_other_arms(state, understood.frame.to_dicts())
                if add:
                    state, added = table_rows.with_options(log, table_rows.options_in(understood.frame))
                # Read once; only what came in meanwhile can make it necessary to read again.
                if first or taken is None or added or not table.untouched_by(news):
                    taken = table_rows.take_table(state, table, log.clock())
                taken.first = len(state.told) + 1
                happened = taken.happened()
                return [*added, *happened] if added and len(happened) else happened

            def prepare() -> None:
                log.catch_up()
                read([], first=True)

            if dry_run:
                prepare()
            else:
                call = ("tell_many", table.columns or understood.frame, match, repeat, amend, add)
                taken = log.change(read, call, lambda: taken, before=prepare)
        taken.understood = understood
        return taken
