"""What an assistant may do with each command: look, change the study, or nothing at all.

A command that is not named here is no tool: nothing becomes one by being added to the command line.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

NONE: Mapping[str, str] = MappingProxyType({})


class Use(NamedTuple):
    """What the tool made of a command may do, and which of its parameters are files."""

    #: Whether it changes the study or writes a file.
    writes: bool = False
    #: Whether something that was told counts otherwise from then on; nothing is ever deleted from a log.
    changes_what_was_told: bool = False
    #: The flag with which a command that writes changes nothing: without leave to write it is always on.
    rehearsal: str | None = None
    #: The parameter that is the store.
    store: str = "store"
    #: Parameters that name a file to read, whose text may be given itself; and what that is, in words.
    texts: Mapping[str, str] = NONE
    #: Whether one of these may also name a folder, whose files are read.
    folders: bool = False
    #: Parameters that are names of options, or one table of them; and what that is, in words.
    names: Mapping[str, str] = NONE
    #: Parameters that name a file to read, or are a number.
    tables: tuple[str, ...] = ()
    #: Parameters that name a file to write; a command that cannot do without is no tool where none may be.
    files: tuple[str, ...] = ()
    needs_file: bool = False
    #: Parameters that are left out.
    hidden: tuple[str, ...] = ()
    #: What an assistant should know beyond the command's help.
    advice: str = ""


ERROR_BARS = (
    "Never invent an error bar: give single readings as `values`, counts as `successes` and `trials`, `se` "
    "only if it is known, and nothing otherwise. Tell only what was measured."
)
TABLE = "a table as text: a line with the names of its columns, and a line for each row"
OPTIONS = f"Names of options; or, as the only element, {TABLE}"
READS = Use()
WRITES = Use(writes=True)
CORRECTS = Use(writes=True, changes_what_was_told=True)

#: Commands that are tools.
USES: dict[str, Use] = {
    "init": Use(
        writes=True,
        texts={"results": f"Results to begin with, options and measurements: {TABLE}"},
        names={"options": f"{OPTIONS}; not needed with `from`"},
        tables=("items",),
    ),
    "ask": Use(writes=True, rehearsal="dry_run", files=("out",)),
    "tell": Use(writes=True, advice=ERROR_BARS),
    "import": Use(
        writes=True,
        rehearsal="dry_run",
        texts={"table": f"The results: {TABLE}; with `from`, what that tool wrote"},
        folders=True,
        hidden=("amend",),  # corrections are made one by one, by the tool that is marked for it
        advice=ERROR_BARS,
    ),
    "status": READS,
    "best": READS,
    "certify": Use(
        texts={"verify": "A certificate as JSON, to be computed afresh from the log"},
        hidden=("out",),
        advice="Quote its sentence as it is, with its confidence; measuring may stop when `reached` is true.",
    ),
    "check": READS,
    "plan": Use(hidden=("on",), advice="It simulates, and may take a minute; fewer `paths` are sooner done."),
    "worth": Use(hidden=("out",)),
    "slot": READS,
    "report": Use(writes=True, files=("out",), needs_file=True),
    "switch": CORRECTS,
    "void": CORRECTS,
    "amend": Use(writes=True, changes_what_was_told=True, advice=ERROR_BARS),
    "fail": WRITES,
    "release": WRITES,
    "exclude": CORRECTS,
    "include": WRITES,
    "add": Use(writes=True, names={"options": OPTIONS}),
    "list": READS,
    "rename": CORRECTS,
    "export": Use(hidden=("out",)),
    "rebuild": Use(writes=True, texts={"log": "An exported log, as JSON lines"}),
    "backup": Use(writes=True, files=("path",), needs_file=True),
    "verify": Use(store="thing", hidden=("store",)),
}
_WORLDS = "it is about simulated worlds, and no study"
_COMMANDS = "it runs programs of this machine"
#: Commands that are none, and why.
NO_TOOLS: dict[str, str] = {
    "demo": "it is a show for people",
    "restore": "it replaces the whole store",
    "run": _COMMANDS,
    "bench": _COMMANDS,
    "mcp": "it is the server itself",
    "read-table": "`import` with `dry_run` says how a table is read",
    "serve": "it is a server of its own",
    "token": "it makes keys, which are for people",
    **dict.fromkeys(("simulate", "arena", "policies", "design", "paper"), _WORLDS),
}
