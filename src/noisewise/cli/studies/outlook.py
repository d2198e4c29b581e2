"""What is ahead of a study, and what is behind it: ``plan worth slot report``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli.studies.model import Span, size
from noisewise.cli.studies.session import Json, Name, Probe, Store, open_study
from noisewise.cli.studies.session import report as say_report
from noisewise.cli.terminal.options import On
from noisewise.cli.terminal.tables import write_table

Noise = Annotated[
    list[str],
    typer.Option(
        "--noise",
        metavar="SIGMA[@SHARE]",
        help="How noisy measurements will be; repeat it for several levels: --noise 0.3 --noise 0.03@0.1.",
    ),
]
Menu = Annotated[
    list[str],
    typer.Option(
        "--menu", metavar="SIGMA@COST", help="Instead of --noise: levels to choose from, each with its cost."
    ),
]
BlockSize = Annotated[
    int | None,
    typer.Option(help="How many measurements a coming block (a day) will hold; default: as usual so far."),
]
Batch = Annotated[
    int | None, typer.Option(help="How many are asked for at once, in one block; default: one by one.")
]
Ledger = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write the ledger (.csv, .parquet, .jsonl).")
]
NOTHING: list[str] = []


def plan(
    store: Store,
    noise: Noise = NOTHING,
    menu: Menu = NOTHING,
    eps: Annotated[
        str | None, typer.Option(metavar="AMOUNT", help="The bound to reach; default: the study's.")
    ] = None,
    span: Span = None,
    paths: Annotated[int, typer.Option(help="Number of simulated futures.")] = 19,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    block: BlockSize = None,
    batch: Batch = None,
    on: On = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Forecast how many more measurements (and days) it takes."""
    opened = open_study(store, study)
    made = opened.plan(
        read_noise(noise), menu=read_menu(menu), eps=size(eps), span=size(span), paths=paths, seed=seed,
        block=block, batch=batch, on=on,
    )  # fmt: skip
    say_report("plan", opened, json, made.to_plain(), str(made).splitlines())


def worth(
    store: Store,
    by: Annotated[str | None, typer.Option(help="Sum the ledger up by block, instrument or option.")] = None,
    out: Ledger = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Show what each measurement contributed. That is precision, information, the bound before and after."""
    from noisewise.study.plain import worth_row

    opened = open_study(store, study)
    found = opened.worth()
    groups = None if by is None else found.by(by)
    if out is not None:
        write_table(found.ledger if groups is None else groups, out)
    content = worth_row(found, groups) | {"written": [str(out)] if out else []}
    words = str(found).splitlines() if groups is None else [found.sentence, *found.lines_by(str(by))]
    say_report("worth", opened, json, content, [*words, *([f"Wrote {out}."] if out else [])])


def slot(
    store: Store,
    sigma: Annotated[list[str], typer.Argument(metavar="SIGMA...", help="The standard error of each slot.")],
    budget: Annotated[float | None, typer.Option(help="The most that all slots may cost together.")] = None,
    block: Annotated[
        str | None, typer.Option(help="The day, plate or judge they are in; default: the last one goes on.")
    ] = None,
    probe: Probe = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Suggest what to measure with a known error bar. It says what that is worth; nothing is reserved."""
    opened = open_study(store, study)
    probed: Any = probe  # checked there
    slots = opened.slot([size(one) or one for one in sigma], budget=budget, block=block, probe=probed)
    words = [line for one in slots for line in str(one).splitlines()]
    say_report("slot", opened, json, {"slots": [one.to_plain() for one in slots]}, words)


def report(
    store: Store,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write (.html).")] = Path(
        "report.html"
    ),
    plan: Annotated[
        bool, typer.Option("--plan", help="Also say what it would take; that takes a while.")
    ] = False,
    noise: Noise = NOTHING,
    menu: Menu = NOTHING,
    study: Name = None,
    json: Json = False,
) -> None:
    """Write everything about a study as one HTML page. It needs neither a network nor scripts."""
    opened = open_study(store, study)
    asked = noise or menu
    made = opened.plan(read_noise(noise), menu=read_menu(menu)) if asked else plan
    written = opened.report(out, plan=made)
    content = {"sentence": opened.certificate().sentence, "written": [str(written)]}
    say_report("report", opened, json, content, f"Wrote {written}.")


def read_noise(texts: list[str]) -> list[tuple[float | str, float]] | None:
    """Levels with shares; those that name none divide what is left of 1."""
    if not texts:
        return None
    levels = [_level("noise", text) for text in texts]
    named = sum(share for _, share in levels if share is not None)
    silent = sum(share is None for _, share in levels)
    if silent and not named < 1.0:
        raise ValueError(
            f"`noise` must leave something of 1 to levels without a share; the shares sum to {named:g}."
        )
    return [(sigma, (1.0 - named) / silent if share is None else share) for sigma, share in levels]


def read_menu(texts: list[str]) -> list[tuple[float | str, float]] | None:
    """Levels with costs."""
    levels = [_level("menu", text) for text in texts]
    for text, (_, cost) in zip(texts, levels, strict=True):
        if cost is None:
            raise ValueError(f"`menu` must look like 0.3@5, a sigma and its cost; got {text!r}.")
    return [(sigma, cost) for sigma, cost in levels if cost is not None] or None


def _level(name: str, text: str) -> tuple[float | str, float | None]:
    sigma, at, second = text.partition("@")
    try:
        percent = sigma.strip().endswith("%")  # of a value, which a study on a log scale understands
        return sigma if percent else float(sigma), float(second) if at else None
    except ValueError:
        raise ValueError(f"`{name}` must look like 0.3 or 0.3@0.1; got {text!r}.") from None
