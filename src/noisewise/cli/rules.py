"""``noisewise rules``: all rules, and what they see, need and promise."""

import inspect
from typing import Annotated, Any

from noisewise.cli.printing import console, print_json
from noisewise.operations.table import Opt

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
