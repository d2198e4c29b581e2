"""``noisewise policies``: all rules, and what they see, need and promise."""

import inspect
from typing import Annotated, Any

import typer

from noisewise.cli.output import console, print_json

SEES = {
    "before": "before the choice",
    "if announced": "before the choice, if announced",
    "after": "after the measurement",
    "never": "never",
}


def policies(
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List all rules: what each does, what it sees of sigma, where it comes from."""
    from noisewise.policies.registry import POLICIES, load_plugins, rule_named

    load_plugins()
    rows = [_describe(rule_named(name), constructor) for name, constructor in POLICIES.items()]
    if json:
        print_json("policies", {"policies": rows})
        return
    from rich.table import Table

    table = Table(title="Rules", box=None, padding=(0, 2, 0, 0), title_justify="left")
    for title in ("name", "what it does", "sees sigma", "source"):
        table.add_column(title, overflow="fold")
    for row in rows:
        source = row["reference"] + (" (our reconstruction)" if row["reconstruction"] else "")
        table.add_row(row["name"], row["what"], SEES[row["sees_sigma"]], source)
    console().print(table)


def _describe(rule: Any, constructor: Any) -> dict[str, Any]:
    parameters = inspect.signature(constructor).parameters.values()
    return {
        "name": rule.name,
        "what": (inspect.getdoc(constructor) or "").split("\n", 1)[0],
        "options": {p.name: p.default for p in parameters if p.default is not p.empty},
        "sees_sigma": rule.sees_sigma,
        "needs_horizon": rule.needs_horizon,
        "compiled": rule.compiled,
        "order_free": rule.order_free,
        "pools": rule.pools,
        "reconstruction": rule.reconstruction,
        "reference": rule.reference,
    }
