"""Measuring: `ask`, `tell`, `import` and `release`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, Unpack

from noisewise.core.refusals import RefusedError
from noisewise.operations import tables
from noisewise.operations.table import Api, Arg, Between, Group, Opt, Result, Role, operation
from noisewise.operations.tables import (
    AllowMissing,
    Arms,
    Chosen,
    Counts,
    Decimal,
    HowMany,
    Ignore,
    Map,
    Network,
    Tables,
    Where,
)
from noisewise.operations.values import Interval, ItemValues, Readings, Seconds, Sides, Sigma

if TYPE_CHECKING:
    from noisewise.study.log.jobs import Job
    from noisewise.study.log.told import Measurement
    from noisewise.study.study import Study

By = Annotated[str | None, Opt("The name of the person or process that measures.")]
NEVER_INVENT = (
    "Never invent an error bar: give single readings as `values`, counts as `successes` and `trials`, `se` "
    "only if it is known, and nothing otherwise. Tell only what was measured."
)


class MeasuredFields(TypedDict, total=False):
    """What can be said about a measurement, when it is recorded or corrected."""

    plus: Annotated[str | None, Opt("For a measured difference: the first option.")]
    minus: Annotated[str | None, Opt("For a measured difference: the option that is subtracted.")]
    se: Annotated[Sides | None, Opt("The standard error; if asymmetric, two of them: 0.3/0.4 (down/up).")]
    var: Annotated[float | None, Opt("The square of the standard error.")]
    sd: Annotated[float | None, Opt("The standard deviation of single readings; needs {n}.")]
    n: Annotated[int | None, Opt("The number of readings.", "--n"), Between(1, 10**12)]
    ci: Annotated[Interval | None, Opt("A confidence interval.")]
    level: Annotated[float | None, Opt("The level of the interval; default: 0.95.")]
    values: Annotated[Readings | None, Opt("The readings themselves, instead of a value.")]
    successes: Annotated[
        int | None, Opt("The number of successes, instead of a value; needs {trials}."), Between(0, 10**12)
    ]
    trials: Annotated[int | None, Opt("The number of trials."), Between(1, 10**12)]
    items: Annotated[ItemValues | None, Opt("The values of items, instead of a value: q17=1,q18=0.")]
    block: Annotated[str | None, Opt("The day, plate or judge; its measurements share an unknown offset.")]
    instrument: Annotated[str | None, Opt("The instrument; its readings scatter alike.")]
    note: Annotated[str | None, Opt("Anything worth keeping in the log.")]
    cost: Annotated[float | None, Opt("The cost of the measurement.")]
    arm: Annotated[bool | None, Api("Whether the block is a trial of which this is an arm.")]
    at: Annotated[float | None, Api("The time of the measurement, in seconds since 1970.")]


class ToldFields(MeasuredFields, total=False):
    """What can only be said when a measurement is recorded."""

    key: Annotated[str | None, Opt("A name of your own for the measurement; recorded twice, it counts once.")]
    by: By
    option: Annotated[str | None, Api("The option, if {what} does not name it.")]
    job: Annotated[str | None, Api("The suggestion, if {what} does not name it.")]


class OneResult(ToldFields, total=False):
    """One of several results."""

    value: Annotated[float | str | None, Api('A number, or "12.34(5)".')]


@dataclass
class AskOutcome(Result):
    """What to measure next."""

    jobs: list[dict[str, Any]]
    dry_run: bool
    written: list[str]
    _jobs: "list[Job]" = field(default_factory=list, repr=False)

    def lines(self) -> list[str]:
        """Return what to measure, and why."""
        words = [f"{job_in_words(job)}  {job.why}" for job in self._jobs]
        return [*words, *(f"Wrote {path}." for path in self.written)]


def _jobs_in(content: dict[str, Any]) -> "list[Job]":
    from noisewise.operations.objects import job_from

    return [job_from(row) for row in content["jobs"]]


def _jobs_again(events: list[Any]) -> dict[str, Any]:
    from noisewise.study.log.state import job_of
    from noisewise.study.plain import job_row

    return {"jobs": [job_row(job_of(event.body)) for event in events], "dry_run": False, "written": []}


@operation(
    Group.MEASURE, role=Role.WORKER, path="asks", status=201, returns=_jobs_in, again=_jobs_again,
    most={"n": 500},
)  # fmt: skip
def ask(
    study: "Study",
    n: Annotated[int, Opt("The number of suggestions.", "-n"), Between(1, 10_000)] = 1,
    sigma: Annotated[Sigma | None, Opt("The standard error to expect, if known.")] = None,
    *,
    block: Annotated[
        str | None, Opt("The day, plate or judge they are for; default: the last one, for several a new one.")
    ] = None,
    probe: Annotated[
        Literal["option", "difference"] | None,
        Opt("option or difference; default: differences if nothing else was measured so far."),
    ] = None,
    dry_run: Annotated[bool, Opt("Only show them; reserve nothing.")] = False,
    lease: Annotated[Seconds | None, Opt("How long they are reserved, in days.")] = None,
    by: By = None,
    items: Annotated[
        int | None,
        Opt("The number of items of a suggestion, where options are measured on items."),
        Between(1, 10_000),
    ] = None,
    at_once: Annotated[bool, Api("For a run: one decision serves many workers.")] = False,
    out: Annotated[
        Path | None, Opt("Write a sheet (.csv) to fill in and import.", "--out", "-o", local=True)
    ] = None,
) -> AskOutcome:
    """Suggest what to measure next, and why. The suggestions are reserved for you."""
    from noisewise.study.plain import job_row

    if out is not None and out.suffix != ".csv":
        raise RefusedError("out", "must end in .csv", got=str(out))
    asked: dict[str, Any] = {
        "block": block, "probe": probe, "dry_run": dry_run, "lease": lease, "by": by, "items": items,
    }  # fmt: skip
    # The sheet is begun first: what cannot be written down is not reserved.
    with _sheet(out) as write:
        jobs = study._ask(n, sigma, **asked, at_once=True) if at_once else study.ask(n, sigma, **asked)
        write(jobs)
    return AskOutcome([job_row(job) for job in jobs], dry_run, [str(out)] if out else [], jobs)


def job_in_words(job: "Job") -> str:
    """What to measure, and in which block."""
    return ", ".join(part for part in (f"{job.id}  {job.what}", job.on_items, job.where) if part)


@contextmanager
def _sheet(path: Path | None) -> Iterator[Any]:
    """A function that writes suggestions to a table, which people fill in and import."""
    if path is None:
        yield lambda jobs: None
        return
    from noisewise.core.files import written_whole

    with written_whole(path) as draft:
        yield lambda jobs: _write_sheet(jobs, draft)


def _write_sheet(jobs: "list[Job]", draft: Path) -> None:
    import polars as pl

    from noisewise.study.tables.grid import write_delimited

    on_items = any(job.items or job.fresh for job in jobs)
    rows = [
        _row(job, item) for job in jobs for item in ((*job.items, *[""] * job.fresh) if on_items else (None,))
    ]
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}
    used = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
    frame = pl.DataFrame(used, schema=dict.fromkeys(used, pl.String))
    draft.write_text(write_delimited(frame), encoding="utf-8", newline="\n")


def _row(job: "Job", item: str | None) -> dict[str, str | None]:
    """A line of the sheet; a block that is new is left to be filled in."""
    on_items, single = item is not None, job.minus is None
    return {
        "job": job.id,
        "option": job.option if single or on_items else None,
        "plus": None if single or on_items else job.option,
        "minus": None if on_items else job.minus,
        "item": item,
        "block": None if on_items else job.block or ("" if job.together else None),
        "why": job.why,
        "expires": job.expires.isoformat(),
        "value": "",
        "se": None if on_items else "",
    }


@dataclass
class TellOutcome(Result):
    """A measurement as it was recorded."""

    measurement: dict[str, Any]
    _measured: "Measurement"

    def lines(self) -> list[str]:
        """Return the measurement and its notes."""
        one = self._measured
        what = one.option if one.minus is None else f"{one.option} - {one.minus}"
        error = "" if one.se is None else f" ± {one.se:.3g}"
        return [f"{one.id}: {what} = {one.value:.6g}{error}", *one.notes]


def measurement_in(content: dict[str, Any]) -> "Measurement":
    """The measurement of an answer."""
    from noisewise.operations.objects import measurement_from

    return measurement_from(content["measurement"])


@operation(
    Group.MEASURE, role=Role.WORKER, path="tells", status=201, returns=measurement_in, advice=NEVER_INVENT,
    numbers=True,
)  # fmt: skip
def tell(
    study: "Study",
    what: Annotated[str | None, Arg("A suggestion (ask-17) or an option.")] = None,
    value: Annotated[float | str | None, Arg('A number, or "12.34(5)".')] = None,
    **told: Unpack[ToldFields],
) -> TellOutcome:
    """Record a result, with its error bar if you know one. It need not have been suggested."""
    from noisewise.study.plain import measurement_row

    given: dict[str, Any] = {name: part for name, part in told.items() if part is not None}
    if "plus" in given or "minus" in given:
        if what is not None and value is not None:
            problem = "what was measured is given twice, as {what!r} and by {plus} and {minus}"
            raise RefusedError(None, problem, what=what)
        value = what if value is None else value  # the only word that was typed
    elif what is not None:
        is_job = what.startswith("ask-") and what[4:].isdecimal() and what not in study.options
        given.setdefault("job" if is_job else "option", what)
    measured = study.tell(given.pop("job", None), value, **given)
    return TellOutcome(measurement_row(measured), measured)


@dataclass
class TellAllOutcome(Result):
    """Measurements as they were recorded."""

    measurements: list[dict[str, Any]]


@operation(
    Group.MEASURE, role=Role.WORKER, path="tells/all", status=201, on="http client",
    returns=lambda content: [measurement_in({"measurement": row}) for row in content["measurements"]],
)  # fmt: skip
def tell_all(
    study: "Study", results: Annotated[list[OneResult], Api("Each with what {tell()} takes.")]
) -> TellAllOutcome:
    """Record several results: all of them, or none if one is refused."""
    from noisewise.study.plain import measurement_row

    rows: list[dict[str, Any]] = [{name: part for name, part in row.items()} for row in results]

    return TellAllOutcome([measurement_row(one) for one in study.tell_all(rows)])


@dataclass
class ImportOutcome(Result):
    """What became of a table's rows."""

    told: int
    items: int
    known: int
    amended: list[str]
    missing: list[str]
    voided: int
    empty: int
    unasked: int
    pending: int
    unused_columns: list[str]
    dry_run: bool
    understood: dict[str, Any]
    notes: list[str]
    _understood: Any = field(default=None, repr=False)

    def lines(self) -> list[str]:
        """Return it in sentences."""
        if self.dry_run:
            would = self._in_words()[0]
            return [*self._understood.describe(), f"Dry run: nothing was written. It would be: {would}"]
        first, *others = self._in_words()
        return [*filter(None, [self._understood.sentence]), first[0].upper() + first[1:], *others]

    def _in_words(self) -> list[str]:
        from noisewise.core.text import counted, some_of

        unused = [f"Columns not used: {', '.join(self.unused_columns)}."] if self.unused_columns else []
        others = (self.told, self.voided, self.empty, self.amended, self.missing, self.notes)
        if self.known and not any(others):
            return [f"{counted(self.known, 'row')}, all known already.", *unused]
        on_items = f" with {counted(self.items, 'item')}" if self.items else ""
        parts = [f"recorded {counted(self.told, 'result')}{on_items}"]
        parts += [f"corrected {len(self.amended)}"] if self.amended else []
        parts += [f"{self.known} known already"] if self.known else []
        parts += [f"{self.voided} voided before and not counted"] if self.voided else []
        parts += [f"{counted(self.empty, 'row')} still empty"] if self.empty else []
        if not any((self.told, self.known, self.voided, self.empty, self.amended)):
            parts = ["recorded nothing, because the table has no rows"]
        if self.unasked and (self.pending or self.unasked < self.told):
            parts.append(f"{self.unasked} never asked for (fine)")
        under_way = f"; {counted(self.pending, 'suggestion')} under way" if self.pending else ""
        lines = [f"{', '.join(parts)}{under_way}."]
        if self.missing:
            are, they = ("is", "it counts") if len(self.missing) == 1 else ("are", "they count")
            lines.append(
                f"{some_of(self.missing)}, recorded from this table before, {are} no longer in it; {they} "
                "until voided."
            )
        more = len(self.notes) - SHOWN
        left = [f"And {more} more notes; see export --what measurements."] if more > 0 else []
        return [*lines, *unused, *self.notes[:SHOWN], *left]


#: The number of notes that are shown.
SHOWN = 20


def _taken_again(events: list[Any]) -> dict[str, Any]:
    tables = [len(event.body["columns"]["option"]) for event in events if event.kind == "table"]
    return {"told": sum(tables) + sum(event.kind == "tell" for event in events), "dry_run": False}


@operation(
    Group.MEASURE, name="import", role=Role.WORKER, path="imports", method="tell_many", on="shell http mcp",
    again=_taken_again, advice=NEVER_INVENT,
)  # fmt: skip
def import_table(
    study: "Study",
    table: Annotated[
        Tables | None, Arg(f"{tables.TABLES}; with {{reader}} files of another tool, or a folder.")
    ] = None,
    *,
    reader: Annotated[
        str | None,
        Opt(
            "The tool that wrote the files: hyperfine, pytest-benchmark, lm-eval, ... (an unknown name "
            "lists all); auto: detect it.",
            "--from",
            metavar="READER",
        ),
    ] = None,
    map: Map = None,
    ignore: Ignore = None,
    decimal: Decimal = None,
    where: Where = None,
    n: HowMany = None,
    allow_missing_se: AllowMissing = False,
    network: Network = False,
    arms: Arms = False,
    counts: Counts = None,
    only: Annotated[
        str | None,
        Opt("With {reader}: only these options of the file; * stands for anything.", metavar="OPTIONS"),
    ] = None,
    called: Annotated[
        str | None,
        Opt(
            "With {reader}: what the only option of the file is called in the study.",
            "--as",
            metavar="OPTION",
        ),
    ] = None,
    metric: Annotated[str | None, Opt("With {reader}: which of several metrics.")] = None,
    task: Annotated[str | None, Opt("With {reader}: which of several tasks.")] = None,
    unit: Annotated[
        str | None, Opt("With {reader}: the unit to record values in; default: the study's.")
    ] = None,
    block: Annotated[
        str | None, Opt("With {reader}: the day, machine or run that all of it was measured in.")
    ] = None,
    choose: Chosen = None,
    add: Annotated[bool, Opt("Add options that the study does not have.", needs=Role.OWNER)] = False,
    skip: Annotated[bool, Opt("Leave out options that the study does not have.")] = False,
    dry_run: Annotated[bool, Opt("Only show how the table is understood; record nothing.")] = False,
    again: Annotated[
        bool,
        Opt(
            "Rows without keys that also appear in other tables are new measurements, and so is a whole "
            "table that was recorded before."
        ),
    ] = False,
    amend: Annotated[
        str | None,
        Opt(
            "Correct rows whose content has changed, for this reason.",
            metavar="REASON",
            needs=Role.OWNER,
        ),
    ] = None,
    repeat: Annotated[bool, Api("Whether rows that were recorded before count once more.")] = False,
    match: Annotated[
        bool, Api("Whether rows may answer suggestions, and may wait for their results.")
    ] = True,
    by: Annotated[str | None, Api("Who measured.")] = None,
    columns: Annotated[
        dict[str, list[Any]] | None,
        Api("Instead of {table}: columns by what they are, with nothing to guess."),
    ] = None,
) -> ImportOutcome:
    """Record a table of results, or files of other tools. All of it, or nothing if a row is bad.

    A row that is imported again counts once.
    """
    from noisewise.core.remarks import progress
    from noisewise.study.plain import import_content

    if add and skip:
        raise RefusedError(None, "unknown options are added ({add}) or left out ({skip}), not both")
    reading = tables.reading_of(map, ignore, decimal, allow_missing_se, network, arms, counts, where, n)
    of_tables = {"map": map, "ignore": ignore, "decimal": decimal, "allow_missing_se": allow_missing_se,
                 "network": network, "arms": arms, "counts": counts, "where": where, "n": n}  # fmt: skip
    choices = {"metric": metric, "task": task, "unit": unit}
    wanted = {"only": only, "called": called, "block": block}
    of_readers = {**choices, **wanted, "choose": choose}
    for name, given in (of_readers if reader is None else of_tables).items():
        if given:
            problem = "goes with {reader=READER}" if reader is None else "is for tables, without {reader}"
            raise RefusedError(name, problem)
    tables.check_choices(choose)
    source = _source_of(table, columns, reader)
    if columns is not None:
        understood = tables.understood_columns(columns, reading)
    elif reader is not None:
        said = {name: part for name, part in (choices | (choose or {})).items() if part is not None}
        understood = tables.understood_files(
            source, reader, lambda files: study.read_from(files, reader, **wanted, **said)
        )
    else:
        understood = tables.understood_table(source, reading, _described(study, reading))
    if by is not None and "item" not in understood.frame.columns:
        understood = _told_by(understood, by)
    watch: Any = progress
    how: Any = {"unknown": "add" if add else "skip" if skip else "refuse",
                "repeat": "others" if again else repeat}  # fmt: skip
    taken = study.tell_many(understood, match=match, amend=amend, dry_run=dry_run, watch=watch, **how)
    content = import_content(taken, len(study.pending), taken.understood, dry_run)
    return ImportOutcome(**content, _understood=taken.understood)


def _source_of(table: Any, columns: Any, reader: str | None) -> Any:
    if (table is None) == (columns is None):
        raise RefusedError(None, "results are given as {table} or as {columns}: as one of them")
    if reader is not None or not isinstance(table, list):
        return table
    if len(table) > 1:
        raise RefusedError(None, "import takes one table at a time; got {count}", count=len(table))
    return table[0]


def _described(study: "Study", reading: dict[str, Any]) -> Any:
    from noisewise.study.telling.table_rows import described_columns

    settled = reading["roles"] or reading["layout"]
    return () if settled else described_columns(study.specification)


def _told_by(understood: Any, by: str) -> Any:
    from dataclasses import replace

    import polars as pl

    return replace(understood, frame=understood.frame.with_columns(pl.lit(by).alias("by")))


@dataclass
class ReleaseOutcome(Result):
    """Suggestions that are free again."""

    jobs: list[str]
    failed: str | None

    def lines(self) -> list[str]:
        """Return which they are."""
        listed = ", ".join(self.jobs)
        return [f"Released {listed}." if self.failed is None else f"{listed} failed: {self.failed}."]


@operation(Group.MEASURE, role=Role.WORKER)
def release(
    study: "Study",
    jobs: Annotated[list[str], Arg("Suggestions, such as ask-17.", metavar="JOB...")],
    reason: Annotated[str | None, Opt("The reason, in a few words.")] = None,
    failed: Annotated[
        str | None, Opt("They could not be measured, for this reason; it is kept.", metavar="REASON")
    ] = None,
) -> ReleaseOutcome:
    """Give suggestions back unmeasured, all of them or none."""
    if failed is not None and reason is not None:
        raise RefusedError("reason", "goes without {failed}, which is a reason itself")
    if failed is None:
        study.release(jobs, reason)
    else:
        study.fail(jobs, failed)
    return ReleaseOutcome(jobs, failed)
