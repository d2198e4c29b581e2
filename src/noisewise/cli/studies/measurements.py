"""Measuring: ``ask tell import fail release void amend``."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli.studies.columns import apply_map, parse_map, without_words
from noisewise.cli.studies.session import (
    Json,
    Name,
    Reason,
    Store,
    in_words,
    job_row,
    measurement_row,
    open_study,
    report,
)
from noisewise.cli.studies.upkeep import read_stdin
from noisewise.cli.terminal.output import import_progress

By = Annotated[str | None, typer.Option(help="Who measures.")]
Jobs = Annotated[list[str], typer.Argument(metavar="JOB...", help="Suggestions, such as ask-17.")]
Told = Annotated[str, typer.Argument(metavar="MEASUREMENT", help="Its id (m-17) or its key.")]
#: Each says an error bar, or a part of one.
Se = Annotated[str | None, typer.Option(help="Standard error; two if asymmetric: 0.3/0.4 (down/up).")]
Var = Annotated[float | None, typer.Option(help="Its square.")]
Sd = Annotated[float | None, typer.Option(help="Scatter of single readings, with --n.")]
N = Annotated[int | None, typer.Option("--n", help="How many readings.")]
Ci = Annotated[str | None, typer.Option(metavar="LO,HI", help="Confidence interval.")]
Level = Annotated[float | None, typer.Option(help="Of the interval; default: 0.95.")]
Values = Annotated[str | None, typer.Option(metavar="A;B;...", help="Readings instead of a value.")]
Successes = Annotated[int | None, typer.Option(help="With --trials, instead of a value.")]
Trials = Annotated[int | None, typer.Option(help="How many were tried.")]
Block = Annotated[str | None, typer.Option(help="Day, plate, judge: shares an unknown offset.")]
Instrument = Annotated[str | None, typer.Option(help="Whose readings scatter alike.")]
Key = Annotated[str | None, typer.Option(help="Telling a key again is harmless.")]
Cost = Annotated[float | None, typer.Option(help="What it cost.")]
Note = Annotated[str | None, typer.Option(help="Anything worth keeping.")]
#: Notes that are shown.
SHOWN = 20
# Values may be negative: what looks like an option but is none is an argument.
NUMBERS = {"ignore_unknown_options": True}


def ask(
    store: Store,
    n: Annotated[int, typer.Option("-n", help="How many suggestions.")] = 1,
    sigma: Annotated[float | None, typer.Option(help="The standard error to come, if known.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only look; reserve nothing.")] = False,
    lease: Annotated[float | None, typer.Option(help="Days they are reserved.")] = None,
    by: By = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a sheet (.csv) to fill in and import.")
    ] = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """What to measure next, reserved for you, and why."""
    if out is not None and out.suffix != ".csv":
        raise ValueError(f"`out` must end in .csv; got {str(out)!r}.")
    opened = open_study(store, study, write=not dry_run)
    seconds = None if lease is None else lease * 86400.0
    jobs = opened.ask(n, sigma, dry_run=dry_run, lease=seconds, by=by)
    if out is not None:
        _write_sheet(jobs, out)
    words = [f"{job.id}  {job.option}  {job.why}" for job in jobs] + ([f"Wrote {out}."] if out else [])
    content = {
        "jobs": [job_row(job) for job in jobs],
        "dry_run": dry_run,
        "written": [str(out)] if out else [],
    }
    report("ask", opened, json, content, words)


def _write_sheet(jobs: list[Any], path: Path) -> None:
    import polars as pl

    from noisewise.core.support.files import written_whole
    from noisewise.study.inputs.delimited import write_delimited

    rows = [{"job": j.id, "option": j.option, "why": j.why, "expires": j.expires.isoformat()} for j in jobs]
    with written_whole(path) as draft:
        sheet = pl.DataFrame(rows).with_columns(value=pl.lit(""), se=pl.lit(""))
        draft.write_text(write_delimited(sheet), encoding="utf-8", newline="\n")


def tell(
    store: Store,
    what: Annotated[str | None, typer.Argument(help="A suggestion (ask-17) or an option.")] = None,
    value: Annotated[str | None, typer.Argument(help='A number, or "12.34(5)".')] = None,
    plus: Annotated[str | None, typer.Option(help="A difference of two options: this one ...")] = None,
    minus: Annotated[str | None, typer.Option(help="... minus this one.")] = None,
    se: Se = None,
    var: Var = None,
    sd: Sd = None,
    n: N = None,
    ci: Ci = None,
    level: Level = None,
    values: Values = None,
    successes: Successes = None,
    trials: Trials = None,
    block: Block = None,
    instrument: Instrument = None,
    key: Key = None,
    by: By = None,
    cost: Cost = None,
    note: Note = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Tell the result of a measurement, asked for or not, with exactly one error bar."""
    opened = open_study(store, study, write=True)
    told = _error_bar(se, var, sd, n, ci, level, values, successes, trials)
    told |= {"block": block, "instrument": instrument, "key": key, "by": by, "cost": cost, "note": note}
    job: str | None = None
    if plus is not None or minus is not None:
        # The only argument left is the value.
        if value is not None:
            raise ValueError(f"say what was measured in one way: --plus and --minus, or {what!r}.")
        what, value = None, what
        told |= {"plus": plus, "minus": minus}
    elif what is not None and re.fullmatch(r"ask-\d+", what) and what not in opened.options:
        job = what
    elif what is not None:
        told["option"] = what
    measured = opened.tell(job, value, **_given(told))
    report("tell", opened, json, {"measurement": measurement_row(measured)}, in_words(measured))


def amend(
    store: Store,
    measurement: Told,
    reason: Reason,
    value: Annotated[str | None, typer.Option(help="The corrected value.")] = None,
    option: Annotated[str | None, typer.Option(help="The option it really was.")] = None,
    se: Se = None,
    var: Var = None,
    sd: Sd = None,
    n: N = None,
    ci: Ci = None,
    level: Level = None,
    values: Values = None,
    successes: Successes = None,
    trials: Trials = None,
    block: Block = None,
    instrument: Instrument = None,
    note: Note = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Correct a measurement: what is said anew replaces what was told; the old stays in the log."""
    opened = open_study(store, study, write=True)
    told = _error_bar(se, var, sd, n, ci, level, values, successes, trials)
    told |= {"option": option, "block": block, "instrument": instrument, "note": note}
    measured = opened.amend(measurement, reason, value, **_given(told))
    report("amend", opened, json, {"measurement": measurement_row(measured)}, in_words(measured))


def void(store: Store, measurement: Told, reason: Reason, study: Name = None, json: Json = False) -> None:
    """Let a measurement count no more; it stays in the log."""
    opened = open_study(store, study, write=True)
    opened.void(measurement, reason)
    content = {"measurement": measurement, "reason": reason}
    report("void", opened, json, content, f"{measurement} counts no more: {reason}.")


def mend(
    store: Store,
    event: Annotated[int, typer.Argument(help="The number of an event that is ignored; see status.")],
    reason: Reason,
    study: Name = None,
    json: Json = False,
) -> None:
    """Settle that an event which cannot be used stays ignored; a measurement may be amended instead."""
    opened = open_study(store, study, write=True)
    opened.mend(event, reason)
    report(
        "mend", opened, json, {"event": event, "reason": reason}, f"Event {event} stays ignored: {reason}."
    )


def fail(
    store: Store,
    job: Annotated[str, typer.Argument(help="A suggestion, such as ask-17.")],
    reason: Reason,
    study: Name = None,
    json: Json = False,
) -> None:
    """A suggestion could not be measured; it is free again, and the reason is kept."""
    opened = open_study(store, study, write=True)
    opened.fail(job, reason)
    report("fail", opened, json, {"job": job, "reason": reason}, f"{job} failed: {reason}.")


def release(
    store: Store,
    jobs: Jobs,
    reason: Annotated[str | None, typer.Option(help="Why.")] = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Give suggestions back unmeasured, all of them or none."""
    opened = open_study(store, study, write=True)
    opened.release(jobs, reason)
    report("release", opened, json, {"jobs": jobs}, f"Released {', '.join(jobs)}.")


def import_(
    store: Store,
    table: Annotated[str, typer.Argument(help="csv, tsv, parquet or arrow; - for CSV on standard input.")],
    map: Annotated[
        list[str],
        typer.Option(
            "--map",
            metavar="NAME=COLUMN,...",
            help='Where things are: "value=HV,se=HV_se,key={plate}:{well}".',
        ),
    ] = [],  # noqa: B006 - typer reads it, nobody changes it
    again: Annotated[
        bool, typer.Option("--again", help="Take a table without keys though all of it was told before.")
    ] = False,
    study: Name = None,
    json: Json = False,
) -> None:
    """Tell a table of results; if one row is bad, none is taken, and keys make a second time harmless."""
    from noisewise.study.inputs.tables import read_table

    frame = read_stdin("table") if table == "-" else read_table("table", Path(table))
    frame, unused = apply_map(frame, parse_map(map)) if map else (frame, [])
    frame = without_words(frame)
    opened = open_study(store, study, write=True)
    with import_progress() as watch:
        taken = opened.tell_many(frame, match=True, repeat=again, watch=watch)
    notes = [f"{one.id}: {note}" for one in taken.with_notes() for note in one.notes]
    content = {
        "told": len(taken),
        "known": taken.known,
        "voided": len(taken.voided),
        "empty": taken.empty,
        "unasked": taken.unasked,
        "pending": len(opened.pending),
        "unused_columns": unused,
        "notes": [*taken.voided, *notes],
    }
    report("import", opened, json, content, _import_in_words(content))


def _import_in_words(content: dict[str, Any]) -> list[str]:
    from noisewise.core.support.words import counted

    parts = [f"told {content['told']}"]
    if content["known"]:
        parts.append(f"{content['known']} known already")
    if content["voided"]:
        parts.append(f"{content['voided']} voided before and not counted")
    if content["empty"]:
        parts.append(f"{counted(content['empty'], 'row')} still empty")
    if content["unasked"]:
        parts.append(f"{content['unasked']} never asked for (fine)")
    lines = [f"{', '.join(parts)}; {counted(content['pending'], 'suggestion')} under way."]
    if content["unused_columns"]:
        lines.append(f"Columns not used: {', '.join(content['unused_columns'])}.")
    notes, more = content["notes"][:SHOWN], len(content["notes"]) - SHOWN
    return [
        *lines,
        *notes,
        *([f"And {more} more notes; see export --what measurements."] if more > 0 else []),
    ]


def _error_bar(
    se: str | None,
    var: float | None,
    sd: float | None,
    n: int | None,
    ci: str | None,
    level: float | None,
    values: str | None,
    successes: int | None,
    trials: int | None,
) -> dict[str, Any]:
    return {
        "se": None if se is None else _sides(se),
        "var": var,
        "sd": sd,
        "n": n,
        "ci": None if ci is None else tuple(_numbers("ci", ci, ",")),
        "level": level,
        "values": None if values is None else _numbers("values", values, ";"),
        "successes": successes,
        "trials": trials,
    }


def _sides(text: str) -> float | list[float]:
    """One standard error, or two for an asymmetric one; 0,4 is neither, but a decimal comma."""
    if "/" in text:
        return _numbers("se", text, "/")
    if re.fullmatch(r"\s*\d+,\d+\s*", text):
        down, up = text.strip().split(",")
        raise ValueError(
            f"`se` must have a decimal point: {down}.{up}. For an asymmetric error, down and up, write "
            f"{down}/{up}; got {text!r}."
        )
    sides = _numbers("se", text, ",")
    return sides if len(sides) > 1 else sides[0]


def _numbers(name: str, text: str, separator: str) -> list[float]:
    from noisewise.study.inputs.numbers import read_number

    try:
        return [read_number(name, part) for part in text.split(separator)]
    except ValueError:
        raise ValueError(
            f"`{name}` must be numbers with {separator!r} between them and points in them; got {text!r}."
        ) from None


def _given(told: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if value is not None}
