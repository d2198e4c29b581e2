"""The page of all public names, made from the public names and what the code says about them."""

import dataclasses
import importlib
import inspect
import textwrap
from typing import Any, NamedTuple

import noisewise as nw
from noisewise.rules.registry import POLICIES
from noisewise.rules.rule import Rule
from website.names import Line, described, explanation, members, public_names

#: The options that all rules have, which docs/policies.md explains.
SHARED = tuple(field.name for field in dataclasses.fields(Rule))  # type: ignore[arg-type]

HEAD = """\
# Reference

Every public name, with one line each. Signatures are shortened: `help(nw.create_study)` shows all parameters,
and examples. A first tour is the [quick start](quickstart.md).

`dir(nw)` after `import noisewise as nw` shows
{front}.
Names that are written `nw.name` below work from the top, shown or not, and so do the names of `nw.rules` (but
`save`), `nw.sets` and `nw.stores`. Modules load at first use.
"""


class PagePart(NamedTuple):
    """A module and how the page introduces it."""

    title: str
    module: str
    text: str
    prefix: str  # before the names that are not at the top
    pages: bool = False  # whether each name has a page in rules/


SECTIONS = (
    PagePart(
        "Stores",
        "noisewise.stores",
        "Where studies are kept: [storage and recovery](storage.md).",
        "nw.stores.",
    ),
    PagePart(
        "Studies",
        "noisewise.study",
        "For people with something to measure: [studies](studies.md).",
        "nw.study.",
    ),
    PagePart(
        "Readers",
        "noisewise.readers",
        "[Result files of other tools](tables.md#result-files-of-other-tools), and a reader of your own.",
        "nw.readers.",
    ),
    PagePart(
        "Early stopping",
        "noisewise.stopping",
        "[Models and prompts that cannot win](evaluations.md#ending-a-model-early), ended in Inspect.",
        "nw.stopping.",
    ),
    PagePart(
        "Timings",
        "noisewise.timing",
        "Which function or command is fastest: [timings](timings.md).",
        "nw.timing.",
    ),
    PagePart(
        "Rules",
        "noisewise.rules",
        "Each function makes a policy; [policies](policies.md) explains the options that they share.",
        "nw.rules.",
        pages=True,
    ),
    PagePart(
        "Sets of actions",
        "noisewise.sets",
        "A list of actions, or a set that cannot be listed: [infinite sets](infinite-sets.md).",
        "nw.sets.",
    ),
    PagePart(
        "Designs",
        "noisewise.designs",
        "Which actions to measure, in which shares: [designs](designs.md).",
        "nw.designs.",
    ),
    PagePart(
        "Simulations",
        "noisewise.simulation",
        "R is the number of replications, C of checkpoints, T of rounds: [policies](policies.md).",
        "nw.simulation.",
    ),
    PagePart("Instances", "noisewise.simulation.instances", "Made-up problems.", "nw.instances."),
    PagePart("Schedules", "noisewise.simulation.schedules", "How noisy each round is.", "nw.schedules."),
    PagePart(
        "Noise laws",
        "noisewise.simulation.noise",
        "Certificates of least squares cover `gaussian`, `rademacher` and `uniform`; "
        "for the others there are [robust rules](rules.md#heavy-tails-and-outliers).",
        "nw.noise.",
    ),
    PagePart(
        "Noise of actions",
        "noisewise.simulation.action_noise",
        "Noise that belongs to the action, for `Environment(action_sigma=…)`.",
        "action_noise.",
    ),
    PagePart(
        "Bounds as numbers",
        "noisewise.theory",
        "What a sequence of sigmas is worth, by the theorems: [the paper in numbers](paper.md).",
        "nw.theory.",
    ),
    PagePart("Charts", "noisewise.charts", "Data in, chart out: [charts](policies.md#charts).", "charts."),
    PagePart(
        "The arena",
        "noisewise.simulation.arena",
        "Rules against rules in many worlds: [the arena](rules.md#rules-against-rules).",
        "arena.",
    ),
    PagePart("Adding rules", "noisewise.extending", "Parts of [a new rule](adding-a-rule.md).", "extending."),
    PagePart(
        "Contract suites",
        "noisewise.testing",
        "What rules, stores and readers promise, checked by running them, yours and ours.",
        "testing.",
    ),
    PagePart("Data", "noisewise.data", "Real measurements with their own error bars.", "data."),
    PagePart("The paper", "noisewise.paper", "The command `noisewise paper` as a function.", "paper."),
)
#: Modules by subject: what they hold is written with them, though it works from the top as well.
SUBJECTS = ("noisewise.rules", "noisewise.sets", "noisewise.stores")
#: Studies come first on the page, though stores say first which names are theirs.
FIRST = "Studies"


class Names(NamedTuple):
    """What a section shows: names that no other section has, and names that another one explains."""

    part: PagePart
    new: list[tuple[str, Any]]
    known: list[str]


def sections() -> list[Names]:
    """A section per module, every public name in the first section that has it."""
    seen: set[int] = set()
    made = [_names(part, seen) for part in SECTIONS]
    return sorted(made, key=lambda names: names.part.title != FIRST)


def _names(part: PagePart, seen: set[int]) -> Names:
    module = importlib.import_module(part.module)
    values = {name: getattr(module, name) for name in public_names(module)}
    new = sorted((item for item in values.items() if id(item[1]) not in seen), key=_functions_first)
    seen.update(id(value) for _, value in new)
    return Names(part, new, [name for name in values if name not in dict(new)])


def reference() -> str:
    """The whole page."""
    front = textwrap.fill(", ".join(f"`{name}`" for name in nw.__all__), 110)
    return "\n".join([HEAD.format(front=front), *map(_section, sections())])


def _section(names: Names) -> str:
    section, new, known = names
    lines = [f"## {section.title}", "", f"`{section.module}`. {section.text}", ""]
    lines += _table("name", [_row(section, name, value) for name, value in new])
    if known:
        also = ", ".join(f"`{name}`" for name in known)
        lines += [f"Also here, with a row in another table: {also}.", ""]
    for name, value in new:
        lines += _members(name, value)
    return "\n".join(lines)


def _functions_first(item: tuple[str, Any]) -> tuple[bool, bool, str]:
    name, value = item
    return inspect.ismodule(value), not name.islower(), name


def _row(section: PagePart, name: str, value: Any) -> Line:
    at_the_top = name in nw.__all__ or (section.module not in SUBJECTS and getattr(nw, name, None) is value)
    shared = SHARED if section.pages else ()
    row = described("nw." if at_the_top else section.prefix, name, value, shared)
    page = f" [More](rules/{name}.md)." if section.pages and name in POLICIES else ""
    return Line(row.code, row.text + page)


def _members(name: str, value: Any) -> list[str]:
    """The table of a class that people read or call."""
    if not inspect.isclass(value) or issubclass(value, BaseException):
        return []
    rows = members(value)
    if not rows:
        return []
    paragraphs = [line for part in explanation(value) for line in (part, "")]
    return [f"### `{name}`", "", *paragraphs, *_table(f"of `{name}`", rows)]


def _table(title: str, rows: list[Line]) -> list[str]:
    return [f"| {title} | what it is |", "|---|---|", *(f"| `{row.code}` | {row.text} |" for row in rows), ""]
