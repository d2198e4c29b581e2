"""``noisewise demo --rules``: a race of the rules in a world with a few quiet rounds, in seconds."""

from pathlib import Path
from typing import Any

import click

from noisewise.cli.printing import console, print_json, summary_row
from noisewise.cli.simulate import draw_regret, regret_table

HORIZON, REPLICATIONS = 400, 500
RACERS: list[tuple[str, str, dict[str, Any]]] = [
    ("vaee", "vaee", {}),
    ("weighted oful", "weighted_oful", {"noise": "sub-gaussian"}),
    ("thompson", "linear_thompson", {}),
    ("round robin", "round_robin", {}),
    ("oful, blind to sigma", "oful", {}),
]


def race(out: Path, seed: int, json: bool) -> None:
    """Let the rules race for the best of seven options when one measurement in fifty is quiet."""
    from dataclasses import replace

    from rich.live import Live

    import noisewise as nw

    instance = nw.instances.soare(6)
    env = instance.environment(nw.schedules.named("rare-quiet"))
    screen = console()
    results: list[Any] = []
    racers: dict[str, Any] = {}
    if not json:
        screen.print(INTRODUCTION)
    with Live(console=screen, refresh_per_second=8, transient=True) as live:
        for label, name, options in RACERS:
            if not json:
                live.update(_standings(results, racers, f"{label} is running …"))
            policy = nw.make_policy(name, instance.actions, **options)
            racers[label] = policy
            simulation = nw.simulate(policy, env, horizon=HORIZON, replications=REPLICATIONS, seed=seed)
            results.append(replace(simulation, policy=label))
    chart = _draw(results, racers, out)
    if json:
        print_json("race", {"runs": [summary_row(r) for r in results], "written": [chart] if chart else []})
        return
    screen.print(_standings(results, racers, ""))
    screen.print(_what_was_seen(results, env, seed))
    if chart:
        screen.print(f"\nThe race as a chart: {chart}")


INTRODUCTION = f"""\
Seven options; two are almost equally good, and only measuring a third, bad one tells them apart.
Each of {HORIZON} measurements has its own error bar: sigma is 1, but 0.01 in one round out of fifty,
and no rule knows beforehand which. {REPLICATIONS} races, the same noise for every rule.
"""


def _standings(results: list[Any], racers: dict[str, Any], note: str) -> Any:
    from rich.console import Group

    if not results:
        return note
    return Group(regret_table(results, f"After {HORIZON} measurements", racers), note)


def _draw(results: list[Any], racers: dict[str, Any], folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draw_regret(results, folder / "race.html", racers)
    except ModuleNotFoundError as missing:
        click.echo(str(missing), err=True)
        return None
    return str(folder / "race.html")


def _what_was_seen(results: list[Any], env: Any, seed: int) -> str:
    import numpy as np

    sigmas = np.array([env.sigmas(HORIZON, seed, r) for r in range(REPLICATIONS)])
    weights = sigmas**-2.0
    quiet = (weights * (sigmas < 1.0)).sum() / weights.sum()
    harmonic, arithmetic = 1.0 / weights.mean(), (sigmas**2).mean()
    regrets = {r.policy: r.simple_regret[:, -1].mean() for r in results}
    winner = min(regrets, key=lambda name: regrets[name])
    blind = regrets["oful, blind to sigma"] / max(regrets["vaee"], 1e-300)
    share = (sigmas < 1.0).mean()
    return f"""
What was seen: the quiet rounds, {share:.0%} of all, carry {quiet:.1%} of the precision (the sum of 1/sigma²).
So what governs the outcome is the harmonic mean of the variances, {harmonic:.2g},
not their average, {arithmetic:.2g}. {winner} won. vaee always measures what it knows least about, so a quiet
round, whenever it comes, is never spent on something already known. The rule that is blind
to sigma ends {blind:.0f} times further from the best than vaee."""
