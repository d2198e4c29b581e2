"""``noisewise mcp``: let an assistant work on a study."""

import asyncio
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import click

from noisewise.operations.table import Arg, Opt

NEEDS_MCP = "`noisewise mcp` needs the package mcp: pip install 'noisewise[mcp]'."
NEEDS_STORE = "mcp needs a STORE: a file, or an address, which may also be in NOISEWISE_STORE."
WAITS = (
    "This speaks the Model Context Protocol on standard input, for an assistant and not for people; "
    "--print-config shows what its configuration needs. Ctrl-C ends it."
)
#: What answers in time for clients that wait for a minute.
SECONDS = 55.0


def mcp(
    store: Annotated[
        str | None,
        Arg(
            "The store that tools work on, and no other: a file, or postgresql://user@host/database.",
            env="NOISEWISE_STORE",
        ),
    ] = None,
    allow_write: Annotated[
        bool, Opt("Let tools change studies; without it they only read.", "--allow-write")
    ] = False,
    files: Annotated[
        Path | None,
        Opt(
            "Let tools read the files in this folder and, with --allow-write, write new ones to it.",
            metavar="FOLDER",
        ),
    ] = None,
    seconds: Annotated[float, Opt("The time after which a tool that has not answered is stopped.")] = SECONDS,
    print_config: Annotated[
        bool, Opt("Print what an assistant's configuration needs, and end.", "--print-config")
    ] = False,
    worker: Annotated[bool, Opt("", "--worker", hidden=True)] = False,
) -> None:
    """Serve the study commands to an assistant. They become tools of the Model Context Protocol (MCP).

    Tools only read unless --allow-write is given. They work on this store, and open no other file unless
    --files is given.
    """
    from noisewise.assistant.tools import FilesFolder, Permissions, Toolbox

    if worker:
        from noisewise.assistant.worker import work

        work()
        return
    if store is None:
        raise ValueError(NEEDS_STORE)
    folder = None if files is None else FilesFolder(files)
    if not seconds > 0.0:
        raise ValueError(f"`seconds` must be above 0; got {seconds:g}.")
    if print_config:
        click.echo(json.dumps(configuration(store, allow_write, folder, seconds), indent=2))
        return
    if importlib.util.find_spec("mcp") is None:
        raise ModuleNotFoundError(NEEDS_MCP)
    from noisewise.assistant.server import Workers, serve

    if sys.stdin.isatty():
        click.echo(WAITS, err=True)
    toolbox = Toolbox(Permissions(store, allow_write, folder))

    # The thread that waits for the next line of input cannot be woken. Workers end with this process.
    signal.signal(signal.SIGINT, _end_at_once)
    try:
        asyncio.run(serve(toolbox, Workers(seconds)))
    except* (BrokenPipeError, ConnectionResetError):  # the assistant is gone: nobody is left to answer
        os._exit(0)


def _end_at_once(*_: Any) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(130)


def configuration(store: str, write: bool, folder: Any, seconds: float) -> dict[str, Any]:
    """What an assistant's configuration needs; passwords are to be filled in."""
    from noisewise.study.stores.secrets import without_secrets

    address = "://" in store
    arguments = ["-P", "-m", "noisewise", "mcp", *([] if address else [str(Path(store).resolve())])]
    arguments += ["--allow-write"] if write else []
    arguments += [] if folder is None else ["--files", str(folder.folder)]
    arguments += [] if seconds == SECONDS else ["--seconds", f"{seconds:g}"]
    server: dict[str, Any] = {"command": sys.executable, "args": arguments}
    if address:
        server["env"] = {"NOISEWISE_STORE": without_secrets(store)}
    return {"mcpServers": {"noisewise": server}}
