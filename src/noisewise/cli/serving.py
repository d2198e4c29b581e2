"""``noisewise serve`` and ``noisewise token``: studies in the browser and over HTTP, and who may come in."""

import importlib.util
import time
from typing import Annotated, Any

import typer

from noisewise.cli.studies.session import Json, Store, say
from noisewise.cli.terminal.output import print_json
from noisewise.core.support.garbage import without_collector

NEEDS_SERVER = (
    "`noisewise serve` needs the packages fastapi, uvicorn and jinja2: pip install 'noisewise[server]'."
)
TokenPath = Annotated[
    str | None,
    typer.Option(
        "--tokens",
        metavar="FILE",
        help="The file with the tokens; default: the store's own name with .tokens behind it.",
    ),
]


def serve(
    store: Store,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 for any that is free.")] = 8321,
    root_path: Annotated[
        str, typer.Option(metavar="PATH", help="The prefix under which a proxy shows it, such as /lab.")
    ] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every change.")] = False,
    create: Annotated[bool, typer.Option("--create", help="Make the store if there is none yet.")] = False,
    open: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    allow_host: Annotated[
        list[str], typer.Option(metavar="NAME", help="A name by which it may be called; may be repeated.")
    ] = [],  # noqa: B006 - typer reads it; it is never changed
    tokens: TokenPath = None,
) -> None:
    """Serve the studies of a store to browsers and programs.

    There are pages and a JSON interface. Without tokens it can be reached from this machine only.
    """
    missing = [name for name in ("fastapi", "uvicorn", "jinja2") if importlib.util.find_spec(name) is None]
    if missing:
        raise ModuleNotFoundError(NEEDS_SERVER)
    with without_collector():  # modules are not garbage, and looking through them takes a tenth of the start
        from noisewise.web.serving import serve as serving

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
    what: Annotated[str, typer.Argument(metavar="add|list|revoke", help="What to do.")],
    store: Store,
    name: Annotated[
        str | None, typer.Argument(help="Who gets the token; to revoke one, its name or id.")
    ] = None,
    role: Annotated[str, typer.Option(help="viewer, worker or owner.")] = "viewer",
    tokens: TokenPath = None,
    json: Json = False,
) -> None:
    """Make, list or revoke the tokens of a store's server.

    A viewer sees everything; a worker also asks and tells; an owner may do all. What they tell is by them.
    """
    from noisewise.core.support.checks import check_choice
    from noisewise.web.auth.tokens import tokens_of

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
            typer.echo(line)


def _list(file: Any, json: bool) -> None:
    rows = [
        {"id": one.id, "name": one.name, "role": one.role, "study": one.study, "made": one.at}
        for one in file.tokens()
    ]
    if json:
        print_json("token", {"tokens": rows})
        return
    if not rows:
        say("There are no tokens yet: whoever is on this machine may do everything.")
    for row in rows:
        made = time.strftime("%Y-%m-%d", time.gmtime(row["made"]))
        about = f" of study {row['study']}" if row["study"] else ""
        say(f"{row['id']}  {row['role']:<6}  {made}  {row['name']}{about}")
