"""Measurements and suggestions: ``ask tell fail release void amend``."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli.studies.error_bars import read_error_bar, with_error_bar
from noisewise.cli.studies.items import Batch, sheet_of_items
from noisewise.cli.studies.model import size
from noisewise.cli.studies.session import (
    Json,
    Name,
    Probe,
    Reason,
    Store,
    in_words,
    job_in_words,
    open_study,
    report,
    seconds_of,
    told_warnings,
)
from noisewise.cli.terminal.tables import write_csv
from noisewise.core.support.files import written_whole

By = Annotated[str | None, typer.Option(help="The name of the person or process that measures.")]
Job = Annotated[str, typer.Argument(help="A suggestion, such as ask-17.")]
Jobs = Annotated[list[str], typer.Argument(metavar="JOB...", help="Suggestions, such as ask-17.")]
Id = Annotated[str, typer.Argument(metavar="MEASUREMENT", help="The measurement's id (m-17) or key.")]
Key = Annotated[
    str | None, typer.Option(help="A name of your own for the measurement; told twice, it counts once.")
]
Cost = Annotated[float | None, typer.Option(help="What the measurement cost.")]
Note = Annotated[str | None, typer.Option(help="Anything worth keeping in the log.")]
Sheet = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write a sheet (.csv) to fill in and import.")
]


def ask(
    store: Store,
    n: Annotated[int, typer.Option("-n", help="The number of suggestions.")] = 1,
    sigma: Annotated[
        str | None, typer.Option(metavar="SIGMA", help="The standard error to expect, if known.")
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            help="The day, plate or judge they are for; default: the last one, for several a new one."
        ),
    ] = None,
    probe: Probe = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show them; reserve nothing.")] = False,
    lease: Annotated[float | None, typer.Option(help="For how many days they are reserved.")] = None,
    by: By = None,
    items: Batch = None,
    out: Sheet = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Suggest what to measure next, and why. The suggestions are reserved for you."""
    from noisewise.study.plain import job_row

    if out is not None and out.suffix != ".csv":
        raise ValueError(f"`out` must end in .csv; got {str(out)!r}.")
    opened = open_study(store, study, write=not dry_run)
    probed: Any = probe  # checked there
    seconds = seconds_of(lease)
    # The sheet is begun first: what cannot be written down is not reserved.
    with nullcontext() if out is None else written_whole(out) as draft:
        jobs = opened.ask(
            n, size(sigma), block=block, probe=probed, dry_run=dry_run, lease=seconds, by=by, items=items
        )
        if draft is not None:
            _write_sheet(jobs, draft)
    words = [f"{job_in_words(job)}  {job.why}" for job in jobs] + ([f"Wrote {out}."] if out else [])
    content = {
        "jobs": [job_row(job) for job in jobs],
        "dry_run": dry_run,
        "written": [str(out)] if out else [],
    }
    report("ask", opened, json, content, words)


def _write_sheet(jobs: list[Any], draft: Path) -> None:
    import polars as pl

    on_items = any(job.items or job.fresh for job in jobs)
    columns = sheet_of_items(jobs) if on_items else _sheet(jobs)
    used = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
    write_csv(pl.DataFrame(used, schema=dict.fromkeys(used, pl.String)), draft)


def _sheet(jobs: list[Any]) -> dict[str, list[str | None]]:
    return {
        "job": [job.id for job in jobs],
        "option": [job.option if job.minus is None else None for job in jobs],
        "plus": [None if job.minus is None else job.option for job in jobs],
        "minus": [job.minus for job in jobs],
        # Empty where the block is new: it is filled in.
        "block": [job.block or ("" if job.together else None) for job in jobs],
        "why": [job.why for job in jobs],
        "expires": [job.expires.isoformat() for job in jobs],
        "value": [""] * len(jobs),
        "se": [""] * len(jobs),
    }


@with_error_bar
def tell(
    store: Store,
    what: Annotated[str | None, typer.Argument(help="A suggestion (ask-17) or an option.")] = None,
    value: Annotated[str | None, typer.Argument(help='A number, or "12.34(5)".')] = None,
    plus: Annotated[str | None, typer.Option(help="A difference of two options: this one ...")] = None,
    minus: Annotated[str | None, typer.Option(help="... minus this one.")] = None,
    note: Note = None,
    key: Key = None,
    by: By = None,
    cost: Cost = None,
    study: Name = None,
    json: Json = False,
    **told: Any,
) -> None:
    """Tell the study a result, with its error bar if you know one. It need not have been suggested."""
    from noisewise.study.plain import measurement_row

    opened = open_study(store, study, write=True)
    told |= {"key": key, "by": by, "cost": cost, "note": note}
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
    with told_warnings() as warned:
        measured = opened.tell(job, value, **read_error_bar(told))
    content = {"measurement": measurement_row(measured), "warnings": warned}
    report("tell", opened, json, content, in_words(measured))


@with_error_bar
def amend(
    store: Store,
    measurement: Id,
    reason: Reason,
    value: Annotated[str | None, typer.Option(help="The corrected value.")] = None,
    option: Annotated[str | None, typer.Option(help="The option that was really measured.")] = None,
    note: Note = None,
    study: Name = None,
    json: Json = False,
    **told: Any,
) -> None:
    """Correct a measurement. What is given here replaces what was told; the old stays in the log."""
    from noisewise.study.plain import measurement_row

    opened = open_study(store, study, write=True)
    told |= {"option": option, "note": note}
    measured = opened.amend(measurement, reason, value, **read_error_bar(told))
    report("amend", opened, json, {"measurement": measurement_row(measured)}, in_words(measured))


def void(store: Store, measurement: Id, reason: Reason, study: Name = None, json: Json = False) -> None:
    """Take a measurement out of the analysis; it stays in the log."""
    opened = open_study(store, study, write=True)
    opened.void(measurement, reason)
    content = {"measurement": measurement, "reason": reason}
    report("void", opened, json, content, f"{measurement} no longer counts: {reason}.")


def fail(store: Store, job: Job, reason: Reason, study: Name = None, json: Json = False) -> None:
    """Report that a suggestion could not be measured. It is free again, and the reason is kept."""
    opened = open_study(store, study, write=True)
    opened.fail(job, reason)
    report("fail", opened, json, {"job": job, "reason": reason}, f"{job} failed: {reason}.")


def release(
    store: Store,
    jobs: Jobs,
    reason: Annotated[str | None, typer.Option(help="The reason, in a few words.")] = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Give suggestions back unmeasured, all of them or none."""
    opened = open_study(store, study, write=True)
    opened.release(jobs, reason)
    report("release", opened, json, {"jobs": jobs}, f"Released {', '.join(jobs)}.")
