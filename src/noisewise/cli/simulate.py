"""``noisewise simulate``: compare rules in a simulated world."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from noisewise.cli.options import parse_named, split_list
from noisewise.cli.output import console, number, print_json, progress, summary_row


def simulate(
    policies: Annotated[
        list[str],
        typer.Option(
            "--policies",
            "-p",
            metavar="RULES",
            help="Rules, with commas or repeatedly; options as name:option=value.",
        ),
    ] = ["vaee", "widest", "round_robin", "uniform"],  # noqa: B006 - typer reads it, nobody changes it
    instance: Annotated[str, typer.Option(help="The problem, as name:option=value.")] = "sphere",
    schedule: Annotated[
        str | None, typer.Option(help="The sigmas, as name:option=value; default: rare-quiet.")
    ] = None,
    noise: Annotated[
        str,
        typer.Option(
            help="The law, as name:option=value: gaussian, rademacher, uniform, laplace, student-t, pareto, "
            "lognormal or contaminated."
        ),
    ] = "gaussian",
    announced: Annotated[bool, typer.Option("--announced", help="Sigma is known before the choice.")] = False,
    horizon: Annotated[int, typer.Option(help="Rounds per replication.")] = 1000,
    replications: Annotated[int, typer.Option(help="Repetitions.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Threads; default: one per processor.")] = None,
    stop: Annotated[str | None, typer.Option(help="glr, gap, glr-log-log or glr-log.")] = None,
    eps: Annotated[float | None, typer.Option(help="With --stop gap: the bound to reach.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write everything to this Parquet file.")] = None,
    chart: Annotated[Path | None, typer.Option(help="Draw regret over rounds (.png .svg .html).")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Compare rules on the same simulated measurements."""
    import noisewise as nw

    problem_name, problem_options = parse_named(instance, "instance")
    if problem_name == "case-study":
        problem_options.setdefault("horizon", horizon)
    problem = nw.instances.named(problem_name, **problem_options)
    law_name, law_options = parse_named(noise, "noise")
    law = nw.noise.named(law_name, **law_options)
    env = problem.environment(_schedule(schedule, problem), noise=law, announced=announced)
    specs = [parse_named(text, "policies") for text in split_list(policies)]
    if not specs:
        raise ValueError("`policies` must name at least one rule; got none.")
    templates = [(_label(*spec), nw.make_policy(spec[0], problem.actions, **spec[1])) for spec in specs]
    _check_folders(out, chart)
    if chart is not None:
        from noisewise.charts.save import check_suffix

        check_suffix(chart)
    results: list[Any] = []
    interrupted = False
    with progress(quiet=json) as bars:
        for label, policy in templates:
            bar = bars.add_task(label, total=replications, note="compiling, once")
            try:
                simulation = nw.simulate(
                    policy,
                    env,
                    horizon=horizon,
                    replications=replications,
                    seed=seed,
                    threads=jobs,
                    stop=stop,
                    eps=eps,
                    progress=_advance(bars, bar),
                )
            except nw.SimulationInterrupted:
                # What is finished stays; half a rule would not compare.
                interrupted = True
                break
            results.append(replace(simulation, policy=label))
    if results and out is not None:
        nw.save_simulations(results, out)
    if results and chart is not None:
        draw_regret(results, chart)
    _report(results, [path for path in (out, chart) if path is not None], json)
    if interrupted:
        typer.echo(f"Interrupted: {len(results)} of {len(templates)} rules are complete.", err=True)
        raise typer.Exit(130)


def _advance(bars: Any, bar: Any) -> Callable[[int, int], None]:
    return lambda done, _: bars.update(bar, completed=done, note="")


def draw_regret(results: list[Any], path: Path) -> None:
    """Regret over rounds with bands, saved by the ending of the path."""
    import polars as pl

    from noisewise import charts

    charts.save_chart(charts.regret_over_rounds(pl.concat(r.summary() for r in results)), path)


def regret_table(results: list[Any], title: str) -> Any:
    """The table that people see: best first."""
    from rich.table import Table

    table = Table(title=title, box=None, padding=(0, 2, 0, 0), title_justify="left")
    table.add_column("rule")
    for head in ("simple regret", "± se", "best found", "bound", "rounds", "against the first, 95 %"):
        table.add_column(head, justify="right")
    first = results[0].simple_regret[:, -1]
    for row, simulation in sorted(
        ((summary_row(r), r) for r in results), key=lambda pair: pair[0]["simple_regret"]
    ):
        difference = simulation.simple_regret[:, -1] - first
        paired = "" if simulation is results[0] else _paired(difference)
        table.add_row(
            row["policy"],
            number(row["simple_regret"]),
            number(row["standard_error"]),
            f"{row['best_found']:.1%}",
            number(row["regret_bound"]),
            f"{row['rounds']:.0f}",
            paired,
        )
    return table


def _paired(difference: Any) -> str:
    from noisewise.simulation.results import mean_interval

    _, high = mean_interval(difference, 0.95)
    return f"{difference.mean():+.2g} ± {high - difference.mean():.1g}"


def _report(results: list[Any], written: list[Path], json: bool) -> None:
    if json:
        content = {"runs": [summary_row(r) for r in results], "written": [str(p) for p in written]}
        world = results[0].world if results else None
        print_json("simulate", {"world": world, **content})
        return
    if results:
        console().print(regret_table(results, "Simple regret at the end, on common random numbers"))
    for path in written if results else ():
        typer.echo(f"Wrote {path}")


def _schedule(text: str | None, problem: Any) -> Any:
    from noisewise.world import schedules

    if text is None:
        return problem.schedule or schedules.named("rare-quiet")
    name, options = parse_named(text, "schedule")
    if name == "flat":
        options.setdefault("dim", problem.actions.dim)
    return schedules.named(name, **options)


def _label(name: str, options: dict[str, Any]) -> str:
    return name + (f"({', '.join(f'{key}={value}' for key, value in options.items())})" if options else "")


def _check_folders(*paths: Path | None) -> None:
    """Refuse a bad place before the work, not after it."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise FileNotFoundError(
                f"`--out` and `--chart` must be in a folder that exists; got {str(path)!r}."
            )
        if path is not None and path.is_dir():
            raise IsADirectoryError(f"`--out` and `--chart` must be files; got the folder {str(path)!r}.")
