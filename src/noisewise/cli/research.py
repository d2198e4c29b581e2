"""`noisewise rules`, `noisewise design` and `noisewise paper`: lists, designs, and the paper in numbers."""

import inspect
from pathlib import Path
from typing import Annotated, Any

import click

from noisewise.cli.exits import DIFFERS, leave
from noisewise.cli.options import Json, On, Seed
from noisewise.cli.printing import console, print_json
from noisewise.operations.table import Arg, Opt
from noisewise.operations.values import names

SEES = {
    "before": "before the choice (privileged)",
    "if announced": "before the choice, if announced",
    "after": "after the measurement",
    "never": "never (handicapped)",
}


def rules(
    json: Annotated[bool, Opt("Print JSON instead of a list.", "--json")] = False,
) -> None:
    """List all rules. It says what each does, sees of sigma, promises and costs, and where it comes from."""
    rows = describe_all()
    if json:
        print_json("policies", {"policies": rows})
        return
    from rich.padding import Padding
    from rich.text import Text

    screen = console()
    for row in rows:
        screen.print(Text(row["name"], style="bold"))
        lines = [row["what"], *(f"{title}: {text}" for title, text in facts(row).items())]
        for line in lines:
            screen.print(Padding(Text(line), (0, 0, 0, 4)))


def describe_all() -> list[dict[str, Any]]:
    """What every rule says about itself, those of installed packages included."""
    from noisewise.rules.registry import POLICIES, load_plugins, rule_named

    load_plugins()
    return [_describe(rule_named(name), constructor) for name, constructor in POLICIES.items()]


def facts(row: dict[str, Any]) -> dict[str, str]:
    """The description of a rule as people read it."""
    return {
        "sees sigma": SEES[row["sees_sigma"]],
        "guarantee": row["guarantee"] or "not stated",
        "cost per round": row["cost"] or "not stated",
        "source": row["reference"] + (f" ({row['year']})" if row["year"] else ""),
        "faithful": "our reconstruction: the original could not be consulted"
        if row["reconstruction"]
        else "yes, up to what its documentation says",
    }


def _describe(rule: Any, constructor: Any) -> dict[str, Any]:
    parameters = inspect.signature(constructor).parameters.values()
    return {
        "name": rule.name,
        "what": (inspect.getdoc(constructor) or "").split("\n", 1)[0],
        "options": {p.name: p.default for p in parameters if p.default is not p.empty},
        "sees_sigma": rule.sees_sigma,
        "guarantee": rule.guarantee,
        "cost": rule.cost,
        "needs_horizon": rule.needs_horizon,
        "fixed_set": rule.fixed_set,
        "pools": rule.pools,
        "reconstruction": rule.reconstruction,
        "reference": rule.reference,
        "year": rule.year,
    }


def design(
    table: Annotated[Path, Arg("A CSV or Parquet file with one row per option.")],
    features: Annotated[
        list[str], Opt("Numeric columns, with commas.", "--features", "-f", metavar="COLUMNS")
    ],
    name: Annotated[str | None, Opt("The column that names the options.", "--id")] = None,
    gap: Annotated[float, Opt("Stop when proved to be this close to the optimum.")] = 1e-3,
    support: Annotated[str | None, Opt("core or caratheodory: shares on fewer options.")] = None,
    max_support: Annotated[int | None, Opt("The largest number of options with a share.")] = None,
    intercept: Annotated[bool, Opt("Add a column of ones.", "--intercept")] = False,
    chart: Annotated[Path | None, Opt("Draw the shares (.png .svg .html).")] = None,
    json: Json = False,
) -> None:
    """Find in which shares to measure options. Every option then becomes known equally well."""
    import noisewise as nw

    columns = names(features)
    vectors, labels = read_options(table, columns, name)
    if intercept:
        import numpy as np

        vectors = np.column_stack([np.ones(len(vectors)), vectors])
    found = nw.optimal_design(vectors, gap=gap, support=support, max_support=max_support)
    chosen = [labels[i] for i in found.indices.tolist()]
    if chart is not None:
        from noisewise import charts

        frame = {"option": chosen, "weight": found.weights}
        charts.save_chart(charts.design_weights(frame, g_value=found.g_value, rank=found.rank), chart)
    if json:
        content: dict[str, Any] = {
            "options": [
                {"row": int(i), "id": label, "weight": float(w)}
                for i, label, w in zip(found.indices, chosen, found.weights, strict=True)
            ],
            "g_value": found.g_value,
            "gap": found.gap,
            "rank": found.rank,
            "n_options": found.n_actions,
            "written": [] if chart is None else [str(chart)],
        }
        print_json("design", content)
        return
    _print(found, chosen)
    if chart is not None:
        click.echo(f"Wrote {chart}")


def _print(found: Any, chosen: list[str]) -> None:
    from rich.table import Table

    shown = Table(box=None, padding=(0, 2, 0, 0))
    shown.add_column("option")
    shown.add_column("share", justify="right")
    for weight, label in sorted(zip(found.weights, chosen, strict=True), key=lambda pair: -pair[0]):
        shown.add_row(label, f"{weight:.2%}")
    screen = console()
    screen.print(shown)
    least = (
        f"{found.rank} dimensions" if found.rank == found.dim else f"their span of {found.rank} dimensions"
    )
    screen.print(
        f"\n{len(chosen)} of {found.n_actions} options. The largest variance g is {found.g_value:.6g}; "
        f"in {least} no design has less than {found.rank}: "
        f"at most {found.gap:.2g} above the optimum, proved over all options."
    )


def read_options(path: Path, columns: list[str], name: str | None) -> tuple[Any, list[str]]:
    """The feature vectors and names of a table's rows; whatever is wrong is named by row and column."""
    import polars as pl

    from noisewise.study.tables.packed import PACKED, read_packed

    if not path.is_file():
        raise FileNotFoundError(f"`table` must be a CSV or Parquet file; there is no file {str(path)!r}.")
    try:
        frame = (
            read_packed(path)
            if path.suffix.lower() in PACKED
            else pl.read_csv(path, infer_schema_length=None)
        )
    except (pl.exceptions.PolarsError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise ValueError(
            f"`table` must be a CSV or Parquet file; {str(path)!r} cannot be read: {reason}"
        ) from None
    for column in [*columns, *([name] if name else [])]:
        if column not in frame.columns:
            listed = ", ".join(frame.columns)
            raise ValueError(f"`features` and `id` must be columns of the table ({listed}); got {column!r}.")
    labels = [str(value) for value in frame[name]] if name else [str(row) for row in range(len(frame))]
    for column in columns:
        series = frame[column]
        if not series.dtype.is_numeric():
            raise ValueError(f"`features` must be numbers; column {column!r} holds {series.dtype} values.")
        if series.null_count():
            row = series.is_null().arg_max() or 0
            raise ValueError(
                f"`features` must not be missing; column {column!r} is empty for option {labels[row]!r}."
            )
    if not columns:
        raise ValueError("`features` must name at least one column; got none.")
    return frame.select(pl.col(column).cast(pl.Float64) for column in columns).to_numpy(), labels


COLOURS = {
    "holds": "green",
    "holds with care": "yellow",
    "does not hold as printed": "blue",
    "NOT CONFIRMED": "bold red",
}


def paper(
    sections: Annotated[
        list[str] | None,
        Arg(
            "table1 table2 case-study theorem1 theorem2 theorem3 heavy-tails external; default: all.",
            metavar="[SECTIONS]...",
        ),
    ] = None,
    full: Annotated[bool, Opt("All replications, or what a few minutes allow.", "--full/--quick")] = False,
    out: Annotated[Path, Opt("Folder for the report; finished work in it is used again.")] = Path("paper"),
    seed: Seed = 0,
    on: On = None,
    json: Annotated[bool, Opt("Print JSON instead of a list.", "--json")] = False,
) -> None:
    """Check the paper: every theorem, table and claim in numbers."""
    from noisewise.paper import check_paper

    found = check_paper(sections or ("all",), full=full, out=out, seed=seed, on=on)
    if json:
        checks = [{"section": name, **check._asdict(), "label": check.label} for name, check in found.checks]
        print_json("paper", {"passed": found.passed, "checks": checks, "written": [str(found.report)]})
    else:
        screen = console()
        for section, check in found.checks:
            mark = f"[{COLOURS[check.label]}]{check.label}[/]"
            screen.print(f"{mark}  {section}: {check.name}: {check.detail}", highlight=False)
        screen.print(f"\nThe report: {found.report}")
    if not found.passed:
        leave("paper", DIFFERS)
