"""The model of a study: ``switch`` to another for the same log."""

from typing import Annotated

import typer

from noisewise.cli.studies.session import Json, Name, Store, open_study, report

Eps = Annotated[
    str | None,
    typer.Option(metavar="AMOUNT", help="How far from the best is good enough; with --scale log such as 2%."),
]
Span = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT", help="The most by which two options can differ; with --scale log a factor."
    ),
]
Deviation = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="How far options deviate from a linear model: a number, or estimate."),
]
ExtraScatter = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Scatter that every error bar lacks: a number, or estimate; 0 for none."
    ),
]


def switch(
    store: Store,
    model: Annotated[
        str | None, typer.Option(help="independent, linear or linear+deviation; default: the present one.")
    ] = None,
    deviation: Deviation = None,
    extra_scatter: ExtraScatter = None,
    span: Span = None,
    final: Annotated[
        bool,
        typer.Option("--final", help="All is measured: bounds hold for one look only; there is no way back."),
    ] = False,
    reason: Annotated[str | None, typer.Option(help="The reason, in a few words; it is kept.")] = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Use another model from now on. The measurements stay, and the log keeps the change."""
    from noisewise.study.log.looks import COST
    from noisewise.study.plain import certificate_of

    opened = open_study(store, study, write=True)
    was = opened.model
    opened.switch(
        model, deviation=size(deviation), extra_scatter=size(extra_scatter), span=size(span),
        looks="once" if final else None, reason=reason,
    )  # fmt: skip
    content = {
        "model": opened.model,
        "deviation": opened.deviation,
        "extra_scatter": opened.extra_scatter,
        "was": was,
        "looks": opened.looks,
        "certificate": certificate_of(opened),
    }
    costs = [COST] if final else []
    report("switch", opened, json, content, [*costs, *repr(opened).splitlines()])


def size(given: str | None) -> float | str | None:
    """A number where there is one; words are judged by the study."""
    try:
        return None if given is None else float(given)
    except ValueError:
        return given
