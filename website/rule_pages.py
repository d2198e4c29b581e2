"""A page for each rule, made from its declaration and docstring, and their list."""

import inspect
from typing import Any

from noisewise.cli.research import describe_all, facts

#: The functions of a rule that make its algorithm, in the order in which they run.
FUNCTIONS = (
    "prepare",
    "start",
    "choose",
    "learn",
    "imagine",
    "recommend",
    "beta",
    "candidates",
    "bound",
    "certificate",
)


def pages() -> dict[str, str]:
    """All pages by their file names: one per rule, and their list."""
    from noisewise.rules.registry import rule_named

    rows = describe_all()
    made = {f"{row['name']}.md": _page(row, rule_named(row["name"])) for row in rows}
    return {"README.md": _list(rows)} | made


def _list(rows: list[dict[str, Any]]) -> str:
    lines = [
        "# All rules",
        "",
        "| rule | what it does | sees sigma | guarantee | cost per round | source |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        told = facts(row)
        source = told["source"] + (" (our reconstruction)" if row["reconstruction"] else "")
        cells = [row["what"], told["sees sigma"], told["guarantee"], told["cost per round"], source]
        lines.append(f"| [{row['name']}]({row['name']}.md) | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _page(row: dict[str, Any], rule: Any) -> str:
    from noisewise.rules.registry import POLICIES

    lines = [f"# {row['name']}", "", "| | |", "|---|---|"]
    lines += [f"| {title} | {text} |" for title, text in facts(row).items()]
    lines += [f"| {title} | {'yes' if row[name] else 'no'} |" for title, name in DECLARED.items()]
    text = inspect.getdoc(POLICIES[row["name"]]) or ""
    signature = ", ".join(f"{name}={default!r}" for name, default in row["options"].items())
    lines += [
        "",
        "## How to call it",
        "",
        "```text",
        f"nw.rules.{row['name']}(actions, {signature})",
        "",
        text,
        "```",
    ]
    lines += ["", "## Where the code is", "", "| file | functions of the rule in it |", "|---|---|"]
    lines += [f"| [{path}](../../src/noisewise/{path}) | {names} |" for path, names in _files(rule).items()]
    return "\n".join(lines) + "\n"


def _files(rule: Any) -> dict[str, str]:
    """The files in which the rule's functions are: its own first, then what it shares."""
    from noisewise.rules.registry import POLICIES

    found: dict[str, list[str]] = {}
    for name in FUNCTIONS:
        found.setdefault(_path(getattr(rule, name)), []).append(f"`{name}`")
    own = _path(POLICIES[rule.name])
    return {path: ", ".join(found[path]) for path in sorted(found, key=lambda path: (path != own, path))}


def _path(function: Any) -> str:
    """The file of a function, from the package's folder on."""
    return str(function.__module__).removeprefix("noisewise.").replace(".", "/") + ".py"


DECLARED = {
    "needs to know the number of rounds": "needs_horizon",
    "needs the same actions in every round": "fixed_set",
    "measurements of an action may be pooled": "pools",
}
