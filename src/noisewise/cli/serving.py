"""``noisewise serve`` and ``noisewise token``: studies in the browser and over HTTP, and who may come in."""

import importlib.util
import time
from typing import Annotated, Any

import click

from noisewise.cli.options import Json, Store
from noisewise.cli.printing import print_json, say
from noisewise.core.sequences import without_collector
from noisewise.operations.table import Arg, Opt

NEEDS_SERVER = (
    "`noisewise serve` needs the packages fastapi, uvicorn and jinja2: pip install 'noisewise[server]'."
)
TokenPath = Annotated[
    str | None,
    Opt(
        "The file with the tokens; default: the store's own name with .tokens behind it.",
        "--tokens",
        metavar="FILE",
    ),
]


def serve(
    store: Store,
    host: Annotated[str, Opt("The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Opt("The port to listen on; 0 for any that is free.")] = 8321,
    root_path: Annotated[
        str, Opt("The prefix under which a proxy shows it, such as /lab.", metavar="PATH")
    ] = "",
    read_only: Annotated[bool, Opt("Refuse every change.", "--read-only")] = False,
    create: Annotated[bool, Opt("Make the store if there is none yet.", "--create")] = False,
    open: Annotated[bool, Opt("Open it in the browser.", "--open")] = False,
    allow_host: Annotated[
        list[str], Opt("A name by which it may be called; may be repeated.", metavar="NAME")
    ] = [],  # noqa: B006 - it is never changed
    tokens: TokenPath = None,
) -> None:
    """Serve the studies of a store to browsers and programs.

    There are pages and a JSON interface. Without tokens it can be reached from this machine only.
    """
    missing = [name for name in ("fastapi", "uvicorn", "jinja2") if importlib.util.find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(NEEDS_SERVER)
    with without_collector():  # modules are not garbage, and looking through them takes a tenth of the start
        from noisewise.server.serving import serve as serving

    if create:
        from noisewise.study.stores.address import open_store

        open_store(store, create=True).close()

    def ready(address: str) -> None:
        if open:
            import webbrowser

            webbrowser.open(address)

    try:
        serving(
            store, host=host, port=port, root_path=root_path, read_only=read_only, tokens=tokens,
            hosts=allow_host, say=say, ready=ready,
        )  # fmt: skip
    except FileNotFoundError as problem:
        raise FileNotFoundError(f"{problem} To begin an empty one, add --create.") from None


def token(
    what: Annotated[str, Arg("What to do.", metavar="add|list|revoke")],
    store: Store,
    name: Annotated[str | None, Arg("Who gets the token; to revoke one, its name or id.")] = None,
    role: Annotated[str, Opt("viewer, worker or owner.")] = "viewer",
    tokens: TokenPath = None,
    json: Json = False,
) -> None:
    """Make, list or revoke the tokens of a store's server.

    A viewer sees everything; a worker also asks and tells; an owner may do all. What they record
    carries their name.
    """
    from noisewise.core.checks import check_choice
    from noisewise.server.auth.tokens import tokens_of

    check_choice("what", what, ("add", "list", "revoke"))
    file = tokens_of(store, tokens)
    if file is None:
        raise ValueError("a store that is only in memory has no tokens.")
    if what == "list":
        _list(file, json)
        return
    if name is None:
        raise ValueError(f"token {what} needs a NAME.")
    if what == "add":
        made, secret = file.add(name, role)
        content = {
            "id": made.id,
            "name": made.name,
            "role": made.role,
            "token": secret,
            "file": str(file.path),
        }
        words = [f"Token {made.id} of {made.name} ({made.role}), shown this once:", secret]
    else:
        gone = file.revoke(name)
        content = {"id": gone.id, "name": gone.name, "role": gone.role}
        words = [f"Token {gone.id} of {gone.name} ({gone.role}) is no longer valid."]
    if json:
        print_json("token", content)
    else:
        for line in words:
            click.echo(line)


def _list(file: Any, json: bool) -> None:
    rows = [{"id": one.id, "name": one.name, "role": one.role, "made": one.at} for one in file.tokens()]
    if json:
        print_json("token", {"tokens": rows})
        return
    if not rows:
        say("There are no tokens yet: everyone on this machine may do everything.")
    for row in rows:
        made = time.strftime("%Y-%m-%d", time.gmtime(row["made"]))
        say(f"{row['id']}  {row['role']:<6}  {made}  {row['name']}")
