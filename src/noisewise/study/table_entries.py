"""Tables of results, as a study takes them: all rows or none, each row once however often it is told."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast

from noisewise.core.checks import check_choice, nearest
from noisewise.core.sequences import without_collector
from noisewise.core.text import counted, printable, some_of
from noisewise.study.item_entries import ItemEntries, options_in
from noisewise.study.log.events import Event, Happened
from noisewise.study.telling.batch import Batch, Parsed, Taken, check_batch, sheet_of
from noisewise.study.telling.changes import require_reason
from noisewise.study.telling.finding import Watch
from noisewise.study.telling.known_rows import Repeat
from noisewise.study.telling.rows import refuse_other_arms

if TYPE_CHECKING:
    from noisewise.study.log.specification import Specification
    from noisewise.study.telling.item_rows import TakenItems
    from noisewise.study.telling.understanding import HowToRead, Understood


Unknown = Literal["refuse", "add", "skip"]
#: What can become of options that are not in the catalogue.
UNKNOWN = ("refuse", "add", "skip")


class TableEntries(ItemEntries):
    """Whole tables."""

    def tell_many(
        self,
        measurements: Any,
        *,
        match: bool = False,
        repeat: Repeat = False,
        amend: str | None = None,
        unknown: Unknown = "refuse",
        dry_run: bool = False,
        watch: Callable[[str, int, int], None] | None = None,
        **reading: "Unpack[HowToRead]",
    ) -> "Taken | TakenItems":
        """Take a table of results (a file or a frame); if one row is bad, none is taken.

        Telling a table again is harmless: rows are known by their key, their suggestion, or, without these,
        if all rows of a table that was told before stand in this one, in the same places with the same
        content. So a table may get more rows at its end, and repeats inside it count; the certificate names
        what was known so. Rows without keys that have an option and a value in common with another table are
        refused until `repeat` or `amend` says what they are.

        Columns are named like the arguments of `tell`; intervals are ``lo`` and ``hi``, asymmetric errors
        ``se_up`` and ``se_down``, and repeated readings in one cell are separated by semicolons. In a table
        with a column of error bars, a row that has none says ``none``. A table with a column ``item`` has one
        row for an option and an item: ``option``, ``item``, ``value``. It is told option by option.

        Args:
            measurements: The table, or what `noisewise.readers.read` made of other tools' files.
            match: Take a row that names only its option, or its difference, for the answer to the oldest
                suggestion of it that is under way, if possible one for the row's block; leave rows without
                any result for later.
            repeat: True: all rows without keys were measured again, whatever was told before. ``"others"``:
                those were that do not belong to a known table, or that were voided; if all of this table was
                told before and counts, all were.
            amend: Why rows that say something else than before are right: each is corrected, in one event.
                Without keys they are the rows in the same places of the table that has most in common.
            unknown: What becomes of options that are not in the catalogue: ``"refuse"``, ``"add"`` (they are
                added with the rows, or not at all), ``"skip"`` (their rows are left out).
            dry_run: Only look: nothing is told. The answer's ``understood`` shows how the table is read.
            watch: Is called with what is being done, how many rows are done, and how many there are.
            reading: ``map={"value": "HV", "se": "HV_se"}``, which column is what, where they are not called
                so; ``ignore=["weather"]``, columns that are left out on purpose; ``decimal=","``, the
                decimal sign, where the cells leave it open; ``allow_missing_se=True`` takes rows whose error
                bar is blank as rows without one. ``layout="network"`` takes a table of studies with one row
                for each difference (treatment 1, treatment 2, effect, error, study), ``layout="arms"`` one
                with a row for each arm: studies of more than two arms then count exactly as they are, with
                the errors that their differences share. With ``"arms"``, ``counts="shares"`` keeps events out
                of n as shares instead of making log odds of them.
        """
        from noisewise.study.telling.readouts import check_fits
        from noisewise.study.telling.understanding import check_reading, understand

        seen = watch or (lambda doing, done, of: None)
        if not isinstance(repeat, bool):
            check_choice("repeat", repeat, ("others",))
        amend = None if amend is None else require_reason(amend, "amend")
        check_reading(reading, "tell_many")
        settled = reading.get("map") or reading.get("layout")  # then columns may be left over
        others = () if settled else described_columns(self.specification)
        understood = understand(measurements, others=others, **reading)
        check_unit(self.specification.unit, understood)
        if understood.layout is not None and self.specification.value_scale.log:
            raise ValueError(
                'a study with `scale="log"` takes no table of studies (layout=): its rows are '
                "differences, or "
                "log odds. Make a study without `scale=`."
            )
        if understood.reader is not None:
            self._catch_up()
            check_fits(self._state, understood)
        understood = self._about_known(understood, check_choice("unknown", unknown, UNKNOWN))
        with understood.table.placed():
            taken: Taken | TakenItems
            if "item" in understood.frame.columns:
                taken = self._tell_items(understood.frame, match, amend, dry_run, seen, unknown == "add")
            else:
                taken = self._tell_sheet(understood, match, repeat, amend, dry_run, seen, unknown == "add")
        taken.understood = understood
        return taken

    def _about_known(self, understood: "Understood", unknown: str) -> "Understood":
        """The same without rows about options that the study does not have; or they are refused."""
        if unknown == "add" or (unknown == "refuse" and understood.reader is None):
            return understood  # a plain table is refused row by row
        self._catch_up()
        named = options_in(understood.frame)
        strange = [name for name in named if name not in self._state.index]
        if strange and unknown == "refuse":
            raise KeyError(not_known(understood, strange, named, self._state.ids))
        return without_options(understood, strange) if strange else understood

    def _tell_sheet(
        self,
        understood: "Understood",
        match: bool,
        repeat: Repeat,
        amend: str | None,
        dry_run: bool,
        seen: Watch,
        add: bool,
    ) -> Taken:
        with without_collector():
            sheet = sheet_of(understood.frame)
            question = self.specification
            parsed = Parsed(
                sheet, question.noise_floor, not match, seen, question.bounds, question.log_limits
            )
        batch: Batch | None = None

        def read(news: list[Event]) -> Happened:
            nonlocal batch
            if understood.layout is not None:
                refuse_other_arms(self._state, understood.frame.to_dicts())
            # Parsed once; only what came in meanwhile can make another check necessary.
            state, added = self._with_options(understood.frame if add else None)
            if batch is None or added or not batch.untouched_by(news):
                batch = check_batch(
                    state,
                    parsed,
                    now=self._clock(),
                    match=match,
                    repeat=repeat,
                    watch=seen,
                    amend=amend,
                )
            batch.first = len(self._state.told) + 1
            return [*added, *batch.happened()] if added and len(batch.happened()) else batch.happened()

        if dry_run:
            self._catch_up()
            read([])
            return Taken(cast(Batch, batch))
        call = ("tell_many", sheet, match, repeat, amend, add)
        with without_collector():
            taken = self._record(
                read, call, lambda: Taken(cast(Batch, batch)), before=lambda: read(self._catch_up())
            )
        return taken


def not_known(understood: "Understood", strange: list[str], named: list[str], ids: list[str]) -> str:
    """A sentence on options of a file that a study does not have, and what can be done about it."""
    one = len(strange) == 1
    of = "" if len(strange) == len(named) else f" of {len(named)}"
    are = f"is not in the catalogue ({counted(len(ids), 'option')})"
    what = f"{strange[0]!r} {are}" if one else f"{len(strange)}{of} options are not in the catalogue"
    listed = "" if one else f" ({counted(len(ids), 'option')}): {some_of(strange)}"
    hint = nearest(strange[0], ids) if one else ""
    them = "it" if one else "them"
    return (
        f"{understood.table.name}: {printable(what)}{printable(listed)}.{hint} "
        f'`unknown="add"` adds {them}, `unknown="skip"` leaves {them} out.'
    )


def without_options(understood: "Understood", strange: list[str]) -> "Understood":
    """A table without the rows about some options, which is said."""
    import polars as pl

    frame, table = understood.frame, understood.table
    probes = [name for name in ("option", "plus", "minus") if name in frame.columns]
    hit = pl.any_horizontal(
        [pl.col(name).cast(pl.String).str.strip_chars().is_in(strange) for name in probes]
    )
    kept = ~frame.select(hit.fill_null(False)).to_series()
    lines = None if table.lines is None else table.lines[kept.to_numpy()]
    left = f"Left out, because they are not in the catalogue: {some_of(strange)}."
    return replace(
        understood,
        frame=frame.filter(kept),
        table=replace(table, lines=lines),
        remarks=(*understood.remarks, left),
    )


def described_columns(specification: "Specification") -> list[str]:
    """Columns that describe options, and say nothing about a measurement: tables of results may have them."""
    from noisewise.study.tables.names import key_of
    from noisewise.study.telling.roles import ROLE

    return [one.name for one in specification.catalogue.features if key_of(one.name) not in ROLE]


def check_unit(unit: str | None, understood: "Understood") -> None:
    """Refuse values in another unit than the study's: a factor of a thousand is quickly overlooked."""
    said = understood.units.get("value")
    if unit is None or said is None or unit == said:
        return
    if understood.reader is not None:
        raise ValueError(
            f"{understood.table.name} is in {said}, and the values of this study are in {unit}: read it with "
            f"`unit={unit!r}`, if its reader can convert it."
        )
    raise ValueError(
        f"column {understood.sources['value']!r} is in {said}, and the values of this study are in {unit}: "
        f"convert them; if both are the same unit, write {unit} in the header."
    )
