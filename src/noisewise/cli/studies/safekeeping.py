"""Looking after stores: ``backup restore verify``."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from noisewise.cli.studies.session import Json, Name, Store, refuse_server, say, told_warnings
from noisewise.cli.terminal.exits import DIFFERS, leave
from noisewise.cli.terminal.output import print_json

#: The exit code when something does not fit.


def restore(
    backup: Path,
    store: Annotated[str, typer.Argument(help="The file.")],
    json: Json = False,
) -> None:
    """Replace a store (a file) with a backup of it. The old file is kept beside it.

    The backup is checked first. Refused while others have the store open.
    """
    import noisewise as nw

    refuse_server(store, "restore", "run it on the server's machine")
    with told_warnings():
        kept = nw.restore_store(backup, store)
    if json:
        print_json("restore", {"written": str(store), "kept": None if kept is None else str(kept)})
        return
    old = "" if kept is None else f" The old file is kept as {kept}."
    say(f"{store} now holds the backup {backup}.{old}")


def verify(
    thing: Annotated[
        str, typer.Argument(help="A store, an exported log, or a certificate; - for standard input.")
    ],
    store: Annotated[
        str | None, typer.Argument(help="For a certificate: the store or exported log to compare it with.")
    ] = None,
    study: Name = None,
    json: Json = False,
) -> None:
    """Compute every hash afresh. It names the first event that does not fit.

    Exit code 0: all is as it was written. 1: something is not.
    """
    import noisewise as nw

    with told_warnings():
        verdicts = nw.verify_log(_standard_input() if thing == "-" else thing, store, study)
    fits = all(verdict.fits for verdict in verdicts)
    if json:
        print_json("verify-log", {"fits": fits, "verdicts": [asdict(verdict) for verdict in verdicts]})
    else:
        say([str(verdict) for verdict in verdicts] or ["There are no studies yet."])
    if not fits:
        leave("verify", DIFFERS)


def backup(store: Store, path: Path, json: Json = False) -> None:
    """Copy every study of a store to a new file. Others may go on working."""
    import noisewise as nw

    with told_warnings():
        names = nw.backup_store(store, path)
    if json:
        print_json("backup", {"studies": names, "written": str(path)})
    else:
        say(f"Wrote {path}: {', '.join(names) or 'no studies'}.")


def _standard_input() -> str:
    """What was piped in: never the name of a file."""
    text = sys.stdin.read()
    if not text.lstrip().startswith("{"):
        raise ValueError("standard input must be an exported log or a certificate as JSON; it is neither.")
    return text
