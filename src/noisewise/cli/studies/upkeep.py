"""Studies and their options: ``init add exclude include rename export rebuild``."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli.studies.columns import (
    TABLES,
    AllowMissing,
    Arms,
    Counts,
    Decimal,
    HowMany,
    Ignore,
    Map,
    Network,
    Studies,
    Where,
    read_options,
)
from noisewise.cli.studies.imports import Choose, first_results
from noisewise.cli.studies.items import Pool, read_pool
from noisewise.cli.studies.model import Deviation, Eps, ExtraScatter, Span, size
from noisewise.cli.studies.session import (
    Json,
    Name,
    Reason,
    Store,
    open_study,
    report,
    say,
    seconds_of,
    told_warnings,
)
from noisewise.cli.terminal.options import parse_named, split_list
from noisewise.cli.terminal.output import print_json
from noisewise.cli.terminal.tables import write_table

Options = Annotated[
    list[str],
    typer.Argument(help=f"A table ({TABLES}), or names."),
]
FirstOptions = Annotated[
    list[str],
    typer.Argument(help=f"A table ({TABLES}), or names; not needed with --from."),
]
Results = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TABLE",
        help="Results to begin with: options, their features and the measurements come from this table; "
        "hyperfine:run.json is a file of another tool (see import --from).",
    ),
]
Features = Annotated[
    list[str],
    typer.Option(
        "--features", "-f", metavar="COLUMNS", help="Columns for a linear model, with commas between them."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only show how the table of --from is understood; make nothing.")
]
IdColumn = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column with the names.")]
AddedIdColumn = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="The column with the names; default: as in init."),
]
Budget = Annotated[
    int | None, typer.Option(help="The number of measurements there will be, if that is fixed.")
]
Final = Annotated[
    bool,
    typer.Option("--final", help="The table is all there will be: smaller bounds, valid for one look."),
]
Bounds = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="LO HI", help="The least and the largest that a single reading can be."),
]
Scatter = Annotated[
    str | None,
    typer.Option(
        help="own: readings of every option scatter in their own way; pooled: alike; "
        "default: what fits the first measurement."
    ),
]
Noise = Annotated[
    str, typer.Option(help="normal, or heavy: errors may have any tails; error bars are standard errors.")
]
Cost = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column with the cost of a measurement.")
]
NoiseFloor = Annotated[
    str | None,
    typer.Option(metavar="AMOUNT", help="The least standard error; smaller ones are raised to it."),
]
Scale = Annotated[
    str, typer.Option(metavar="SCALE", help="linear, or log where ratios matter: then --eps is in per cent.")
]
Lease = Annotated[float | None, typer.Option(help="For how many days a suggestion is reserved; default: 7.")]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Seed of the order of --items and the rule's random choices; default: a new one, or 0."
    ),
]
Policy = Annotated[str | None, typer.Option(help="The rule that makes suggestions, as name:option=value.")]
Exported = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The file: .jsonl for the log; .csv, .parquet or .jsonl for a table."),
]


#: Parameters of init that are about the question; `create_study` has them all, and `run --new` takes them.
QUESTION = (
    "decimal", "id", "features", "cost", "model", "goal", "eps", "confidence", "span", "deviation",
    "extra_scatter", "budget", "final", "bounds", "scatter", "noise", "items", "unit", "scale",
    "policy", "noise_floor", "lease", "seed",
)  # fmt: skip
#: What init cannot do without.
NEEDS_OPTIONS = (
    "init needs options, or --from TABLE; --map, --ignore, --choose, --network, --arms and --dry-run go with "
    "--from."
)


def init(
    store: Store,
    options: FirstOptions = [],  # noqa: B006 - typer reads it; it is never changed
    results: Results = None,
    map: Map = [],  # noqa: B006
    ignore: Ignore = [],  # noqa: B006
    decimal: Decimal = None,
    where: Where = None,
    n: HowMany = None,
    allow_missing_se: AllowMissing = False,
    network: Network = False,
    arms: Arms = False,
    counts: Counts = None,
    choose: Choose = [],  # noqa: B006
    dry_run: DryRun = False,
    id: IdColumn = None,
    features: Features = [],  # noqa: B006
    cost: Cost = None,
    model: Annotated[str, typer.Option(help="independent, linear or linear+deviation.")] = "independent",
    goal: Annotated[str, typer.Option(help="max or min.")] = "max",
    eps: Eps = None,
    confidence: Annotated[float, typer.Option(help="The confidence of the certificate.")] = 0.95,
    span: Span = None,
    deviation: Deviation = None,
    extra_scatter: ExtraScatter = None,
    budget: Budget = None,
    final: Final = False,
    bounds: Bounds = None,
    scatter: Scatter = None,
    noise: Noise = "normal",
    items: Pool = None,
    unit: Annotated[str | None, typer.Option(help="The unit of the values, such as ms or %.")] = None,
    scale: Scale = "linear",
    policy: Policy = None,
    noise_floor: NoiseFloor = None,
    lease: Lease = None,
    seed: Seed = None,
    name: Annotated[str, typer.Option("--study", "-s", metavar="NAME", help="The study's name.")] = "study",
    json: Json = False,
) -> None:
    """Begin a study: which of these options is the best?"""
    typed = locals()
    described = split_list(features)
    if results is None and (map or ignore or choose or dry_run or network or arms or not options):
        raise ValueError(NEEDS_OPTIONS)
    understood = None if results is None else first_results(
        results, unit, choose, map, ignore, decimal, allow_missing_se,
        [*described, *([cost] if cost else [])], None if options else id, Studies(network, arms, counts),
        where, n,
    )  # fmt: skip
    question = {part: typed[part] for part in QUESTION} | {"id": id if options else None}
    with told_warnings():
        listed = read_options(options) if options else None
    study = create_as_typed(":memory:" if dry_run else store, name, listed, understood, question)
    asked = {part: typed[part] for part in ("model", "goal", "budget")}
    _report_made(study, store, json, asked, understood, dry_run)


def create_as_typed(store: str, name: str, options: Any, results: Any, question: dict[str, Any]) -> Any:
    """A new study.

    Args:
        store: Where it is kept.
        name: Its name.
        options: What `read_options` returned, or None.
        results: A table of results that was understood, or None.
        question: The parameters of init that `QUESTION` names, as they were typed.
    """
    chosen, policy_options = parse_named(question["policy"], "policy") if question["policy"] else (None, {})
    sizes = ("eps", "span", "noise_floor", "deviation", "extra_scatter")
    read = (
        {part: given for part, given in question.items() if part != "final"}
        | {name: size(question[name]) for name in sizes}
        | {
            "policy": chosen,
            "policy_options": policy_options,
            "features": split_list(question["features"]) or None,
            "items": read_pool(question["items"]),
            "lease": seconds_of(question["lease"]),
            "looks": "once" if question.get("final") else "any time",
        }
    )
    import noisewise as nw

    with told_warnings():
        return nw.create_study(store, name=name, options=options, results=results, **read)


def _report_made(study: Any, store: str, json: bool, asked: Any, understood: Any, dry: bool) -> None:
    from noisewise.core.support.words import counted
    from noisewise.study.answer import one_look_at
    from noisewise.study.intake.columns.directions import about_direction
    from noisewise.study.stores.secrets import without_secrets

    content = {"options": len(study.options), "notes": study.notes, "policy": study.policy, **asked}
    content["looks"] = study.looks
    budget, sought = content["budget"], "largest" if content["goal"] == "max" else "smallest"
    if understood is not None:
        content |= {"told": study.n_measurements, "dry_run": dry, "understood": understood.to_plain()}
    parts = [
        f"the {sought} of {counted(content['options'], 'option')}",
        *([counted(content["told"], "measurement")] if understood is not None else []),
        f"{content['model']} model{' on a log scale' if study.specification.value_scale.log else ''}",
        *([f"a budget of {counted(budget, 'measurement')}"] if budget is not None else []),
        *(["a finished table"] if study.looks == "once" else []),
    ]
    place = "(a dry run: nothing was made)" if dry else f"in {without_secrets(store)}"
    words = [f"Study {study.name!r} {place}: {', '.join(parts)}.", *content["notes"]]
    if understood is not None:
        words = [*(understood.describe() if dry else filter(None, [understood.sentence])), *words]
        if understood.layout is None and "item" not in understood.sources:
            empty = understood.frame.height - study.n_measurements
            words += [f"{counted(empty, 'row')} without a result."] if empty else []
        if understood.unused and not dry:
            words.append(f"Columns not used: {', '.join(understood.unused)}.")
        words += filter(None, [about_direction(understood, content["goal"])])
        if study.looks != "once" and (seen := one_look_at(study)) is not None:
            content["one_look"] = seen.sentence
            words.append(f"If this table were all there will be (--final): {seen.sentence}")
    report("init", study, json, content, words)


def add(
    store: Store,
    options: Options,
    id: AddedIdColumn = None,
    decimal: Decimal = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Add options, with the same columns as the first ones."""
    from noisewise.core.support.words import counted

    opened = open_study(store, study, write=True)
    added = opened.add_options(read_options(options), id=id, decimal=decimal)
    words = f"Added {', '.join(added)}: {counted(len(opened.options), 'option')}."
    report("add", opened, json, {"added": added}, words)


def exclude(store: Store, option: str, reason: Reason, study: Name = None, json: Json = False) -> None:
    """Take an option out of the comparison; its measurements stay."""
    opened = open_study(store, study, write=True)
    opened.exclude(option, reason)
    report("exclude", opened, json, {"option": option, "reason": reason}, f"Excluded {option}: {reason}.")


def include(store: Store, option: str, study: Name = None, json: Json = False) -> None:
    """Take an excluded option back into the comparison."""
    opened = open_study(store, study, write=True)
    opened.include(option)
    report("include", opened, json, {"option": option}, f"{option} is back.")


def rename(store: Store, name: str, new: str, json: Json = False) -> None:
    """Give a study another name; work on it goes on undisturbed."""
    import noisewise as nw

    nw.open_store(store).rename(name, new)
    if json:
        print_json("rename", {"study": new, "was": name})
    else:
        say(f"{name} is now called {new}.")


def export(
    store: Store,
    what: Annotated[str, typer.Option(help="log, measurements, options, events or items.")] = "log",
    out: Exported = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Write a study as JSON lines (see rebuild), or one of its tables."""
    from noisewise.core.support.checks import check_choice
    from noisewise.stores import find_study
    from noisewise.study.inputs.delimited import write_delimited
    from noisewise.study.log.export import log_lines, write_log

    check_choice("what", what, ("log", "measurements", "options", "events", "items"))
    if what == "log":
        # No study is made of it: a log that cannot be replayed can be exported.
        with told_warnings():
            storage, name = find_study(store, study)
        if out is None:
            for line in log_lines(storage, name):
                typer.echo(line)
            return
        write_log(storage, name, out)
        count = len(storage.read(name))
        if json:
            print_json("export", {"study": name, "what": what, "rows": count, "written": str(out)})
        else:
            say(f"Wrote {out}.")
        return
    opened = open_study(store, study)
    frame = opened.frame(what)  # type: ignore[arg-type]
    count = len(frame)
    if out is None and json:
        print_json("export", {"study": opened.name, "what": what, "rows": _rows(frame)})
        return
    if out is None:
        typer.echo(write_delimited(frame), nl=False)
        return
    write_table(frame, out)
    report("export", opened, json, {"what": what, "rows": count, "written": str(out)}, f"Wrote {out}.")


def _rows(frame: Any) -> Any:
    import json

    return [json.loads(line) for line in frame.write_ndjson().splitlines()]


def rebuild(
    store: Store,
    log: Annotated[str, typer.Argument(help="An exported log; - for standard input.")],
    study: Annotated[
        str | None,
        typer.Option("--study", "-s", metavar="NAME", help="The study's name; default: as in the log."),
    ] = None,
    json: Json = False,
) -> None:
    """Rebuild a study from an exported log. It has the same events, certificate and next suggestion."""
    import noisewise as nw
    from noisewise.core.support.words import counted

    with told_warnings():
        name = nw.rebuild_study(sys.stdin.read().splitlines() if log == "-" else Path(log), store, study)
        opened = nw.load_study(store, name, read_only=True)
    count = len(opened.events())
    words = f"Rebuilt study {name!r} with {counted(count, 'event')}."
    report("rebuild", opened, json, {"events": count}, words)
