"""``noisewise simulate``: compare rules in a simulated world."""

import inspect
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import click

from noisewise.cli.exits import INTERRUPTED
from noisewise.cli.options import Json, On, Seed
from noisewise.cli.printing import console, number, print_json, summary_row
from noisewise.operations.table import Opt
from noisewise.operations.values import named_with_options, names

EVERY_RULE = "all"
#: For rules that know more or less than the others, or may differ from the original.
MARKS = {
    "↑": "privileged, sees sigma before the choice",
    "↓": "handicapped, never sees sigma",
    "*": "our reconstruction",
}


def choose_racers(
    texts: list[str], env: Any, horizon: int, replications: int, seed: int
) -> tuple[dict[str, Any], dict[str, str]]:
    """The policies to compare by their labels, and of ``all`` those left out, with the reason."""
    from noisewise.rules.registry import POLICIES, load_plugins, make_policy
    from noisewise.simulation.simulate import misfit

    racers: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name, options in (named_with_options(text, "policies") for text in texts):
        if name != EVERY_RULE:
            constructor = POLICIES.get(name)
            known = _known(constructor, horizon) if constructor else {}
            racers[_label(name, options)] = make_policy(name, env.actions, **known | options)
            continue
        load_plugins()
        smallest = min(float(env.sigmas(horizon, seed, r).min()) for r in range(replications))
        for each, constructor in POLICIES.items():
            known = _known(constructor, horizon)
            radius = inspect.signature(constructor).parameters.get("radius")
            if radius is not None and radius.default == "paper":
                known["sigma_min"] = smallest * float(env.action_sigma.min())
            try:
                policy = make_policy(each, env.actions, **options | known)
            except (ValueError, TypeError) as problem:
                left_out[each] = str(problem)
                continue
            reason = misfit(policy, env)
            if reason is None:
                racers[_label(each, options)] = policy
            else:
                left_out[each] = reason
    return racers, left_out


def marks(policy: Any) -> str:
    """The marks that stand behind a rule's name."""
    rule = policy.rule
    found = {"before": "↑", "never": "↓"}.get(rule.sees_sigma, "") + "*" * rule.reconstruction
    return f" {found}" if found else ""


def legend(policies: Iterable[Any]) -> str:
    """What the marks of these policies mean; nothing if there are none."""
    used = "".join(marks(policy) for policy in policies)
    return " ".join(f"{mark} {meaning}." for mark, meaning in MARKS.items() if mark in used)


def _known(constructor: Any, horizon: int) -> dict[str, Any]:
    """What a simulation can tell a rule that asks for it."""
    return {"horizon": horizon} if "horizon" in inspect.signature(constructor).parameters else {}


def _label(name: str, options: dict[str, Any]) -> str:
    return name + (f"({', '.join(f'{key}={value}' for key, value in options.items())})" if options else "")


Rules = Annotated[
    list[str],
    Opt(
        "Rules, with commas or repeatedly; options as name:option=value; all: every rule that fits.",
        "--policies",
        "-p",
        metavar="RULES",
    ),
]


def simulate(
    policies: Rules = ["vaee", "widest", "round_robin", "uniform"],  # noqa: B006 - it is never changed
    instance: Annotated[str, Opt("The problem, as name:option=value.")] = "sphere",
    schedule: Annotated[str | None, Opt("The sigmas, as name:option=value; default: rare-quiet.")] = None,
    noise: Annotated[
        str,
        Opt(
            "The law of the noise, as name:option=value: gaussian, rademacher, uniform, laplace, "
            "student-t, pareto, lognormal or contaminated."
        ),
    ] = "gaussian",
    announced: Annotated[bool, Opt("Rules see sigma before they choose.", "--announced")] = False,
    horizon: Annotated[int, Opt("Rounds per replication.")] = 1000,
    replications: Annotated[int, Opt("Independent repetitions.")] = 200,
    seed: Seed = 0,
    on: On = None,
    stop: Annotated[str | None, Opt("The stopping rule: glr, gap, glr-log-log or glr-log.")] = None,
    eps: Annotated[
        float | None,
        Opt("The bound to reach with --stop gap; otherwise the regret that is small enough."),
    ] = None,
    out: Annotated[Path | None, Opt("Write everything to this Parquet file.")] = None,
    chart: Annotated[Path | None, Opt("Draw regret over rounds (.png .svg .html).")] = None,
    json: Json = False,
) -> None:
    """Compare rules on the same simulated measurements."""
    import noisewise as nw

    env = _world(instance, schedule, noise, announced, horizon)
    racers, left_out = choose_racers(names(policies), env, horizon, replications, seed)
    if not racers:
        raise ValueError("`policies` must name at least one rule that fits; got none.")
    _check_folders(out, chart)
    if chart is not None:
        from noisewise.charts.files import check_suffix

        check_suffix(chart)
    how = {"horizon": horizon, "replications": replications, "seed": seed, "stop": stop, "eps": eps}
    results, interrupted = _simulated(racers, env, how | {"on": on})
    if results and out is not None:
        nw.simulation.save_simulations(results, out)
    if results and chart is not None:
        draw_regret(results, chart, racers)
    _report(results, racers, left_out, [path for path in (out, chart) if path is not None], json)
    if interrupted:
        click.echo(f"Interrupted: {len(results)} of {len(racers)} rules are complete.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


def _simulated(racers: dict[str, Any], env: Any, how: dict[str, Any]) -> tuple[list[Any], bool]:
    """The complete simulations of the rules, in their order, and whether Ctrl-C ended them."""
    import warnings

    import noisewise as nw

    results: list[Any] = []
    try:
        for label, policy in racers.items():
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "theta exceeds")  # it is said below the table
                results.append(replace(nw.simulate(policy, env, **how), policy=label))
    except nw.simulation.SimulationInterrupted:
        return results, True
    return results, False


def _world(instance: str, schedule: str | None, noise: str, announced: bool, horizon: int) -> Any:
    import noisewise as nw

    name, options = named_with_options(instance, "instance")
    if name == "case-study":
        options.setdefault("horizon", horizon)
    problem = nw.instances.named(name, **options)
    law_name, law_options = named_with_options(noise, "noise")
    law = nw.noise.named(law_name, **law_options)
    return problem.environment(_schedule(schedule, problem), noise=law, announced=announced)


def draw_regret(results: list[Any], path: Path, racers: dict[str, Any]) -> None:
    """Regret over rounds with bands, saved by the ending of the path."""
    import polars as pl

    from noisewise import charts

    named = [replace(r, policy=r.policy + marks(racers[r.policy])) for r in results]
    frame = pl.concat(r.summary() for r in named)
    explained = legend(racers[r.policy] for r in results)
    subtitle = f"Bands are 95 % confidence intervals of the mean. {explained}" if explained else None
    charts.save_chart(charts.regret_over_rounds(frame, subtitle=subtitle), path)


def regret_table(results: list[Any], title: str, racers: dict[str, Any]) -> Any:
    """The table that people see: best first."""
    from rich.table import Table

    table = Table(title=title, box=None, padding=(0, 2, 0, 0), title_justify="left")
    table.add_column("rank", justify="right")
    table.add_column("rule", no_wrap=True)
    for head in ("simple regret", "± se", "best found", "bound", "rounds", "against the first, 95 %"):
        table.add_column(head, justify="right")
    first = results[0].simple_regret[:, -1]
    for row, simulation in zip(ranked(results), _best_first(results), strict=True):
        difference = simulation.simple_regret[:, -1] - first
        paired = "" if simulation is results[0] else _paired(difference)
        table.add_row(
            str(row["rank"]),
            row["policy"] + marks(racers[row["policy"]]),
            number(row["simple_regret"]),
            number(row["standard_error"]),
            f"{row['best_found']:.1%}",
            number(row["regret_bound"]),
            f"{row['rounds']:.0f}",
            paired,
        )
    return table


def ranked(results: list[Any]) -> list[dict[str, Any]]:
    """The rows of the table, best first; equal means share a rank."""
    rows = [summary_row(r) for r in _best_first(results)]
    means = [row["simple_regret"] for row in rows]
    return [row | {"rank": 1 + means.index(row["simple_regret"])} for row in rows]


def _best_first(results: list[Any]) -> list[Any]:
    return sorted(results, key=lambda r: float(r.simple_regret[:, -1].mean()))


def _paired(difference: Any) -> str:
    from noisewise.simulation.results import mean_interval

    _, high = mean_interval(difference, 0.95)
    return f"{difference.mean():+.2g} ± {high - difference.mean():.1g}"


def _report(
    results: list[Any], racers: dict[str, Any], left_out: dict[str, str], written: list[Path], json: bool
) -> None:
    if json:
        ranks = {row["policy"]: row["rank"] for row in ranked(results)}
        runs = [
            summary_row(r)
            | {"rank": ranks[r.policy], "sees_sigma": racers[r.policy].rule.sees_sigma}
            | {"reconstruction": racers[r.policy].rule.reconstruction}
            for r in results
        ]
        skipped = [{"policy": name, "reason": reason} for name, reason in left_out.items()]
        world = results[0].world if results else None
        files = [str(path) for path in written]
        print_json("simulate", {"world": world, "runs": runs, "left_out": skipped, "written": files})
        return
    screen = console()
    if results:
        screen.print(regret_table(results, "Simple regret at the end, on common random numbers", racers))
        explained = legend(racers[r.policy] for r in results)
        screen.print(*([explained] if explained else []))
        for simulation in results:
            if simulation.caveat:
                screen.print(f"{simulation.caveat}.", markup=False)
    if left_out:
        screen.print("Left out, because they do not fit:")
        for name, reason in left_out.items():
            screen.print(f"  {name}: {reason}", markup=False)
    for path in written if results else ():
        click.echo(f"Wrote {path}")


def _schedule(text: str | None, problem: Any) -> Any:
    from noisewise.simulation import schedules

    if text is None:
        return problem.schedule or schedules.named("rare-quiet")
    name, options = named_with_options(text, "schedule")
    if name == "flat":
        options.setdefault("dim", problem.actions.dim)
    return schedules.named(name, **options)


def _check_folders(*paths: Path | None) -> None:
    """Refuse a bad place before the work, not after it."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise FileNotFoundError(
                f"`--out` and `--chart` must be in a folder that exists; got {str(path)!r}."
            )
        if path is not None and path.is_dir():
            raise IsADirectoryError(f"`--out` and `--chart` must be files; got the folder {str(path)!r}.")
