"""The tools that a server offers, made from the operations, and what a call asks a worker for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from noisewise.core.checks import nearest
from noisewise.core.refusals import JSON, RefusedError
from noisewise.operations.schemas import given_model, wrong_kinds
from noisewise.operations.table import Operation, Param, Result, Role, load_table
from noisewise.operations.words import lifted, speaking

CLOSED = (
    "`{name}` must be the text itself: this server opens no files. A person can let it, by starting it with "
    "--files FOLDER."
)


class FilesFolder:
    """Names of files in a folder as paths; whatever leads out of it is refused."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        if not self.folder.is_dir():
            raise ValueError(f"--files must be a folder; there is none called {str(folder)!r}.")

    def to_read(self, name: str, given: str, *, folders: bool = False) -> str:
        """The path of a file that is there.

        Args:
            name: The parameter, for messages.
            given: The name of a file in the folder, with the sheet of a workbook after a #.
            folders: Whether it may also be a folder, whose files are read.
        """
        file, hash_sign, sheet = given.partition("#")
        path = self._inside(name, file)
        if folders and path.is_dir() and not hash_sign:
            self._refuse_links(name, path)
            return str(path)
        # No sheet has slashes in its name; a path that goes on after the # would.
        if not path.is_file() or "/" in sheet or "\\" in sheet:
            raise ValueError(f"`{name}` must be a file in the folder of this server; {given!r} is none.")
        return f"{path}{hash_sign}{sheet}"

    def to_write(self, name: str, given: str) -> str:
        """The path of a file that is not there yet: nothing is overwritten."""
        path = self._inside(name, given)
        if path.exists():
            raise ValueError(f"`{name}` must be a new file; {given!r} is there already: choose another name.")
        if not path.parent.is_dir():
            raise ValueError(f"`{name}` must be in a folder that is there; {given!r} is not.")
        return str(path)

    def _refuse_links(self, name: str, path: Path) -> None:
        for one in path.rglob("*"):
            if one.is_symlink() and self.folder not in one.resolve().parents:
                raise ValueError(
                    f"`{name}` must have nothing but files of this server's folder in it; "
                    f"{str(one.relative_to(self.folder))!r} leads out of it."
                )

    def _inside(self, name: str, given: str) -> Path:
        try:
            path = (self.folder / given).resolve()
        except (OSError, ValueError, RuntimeError):  # a circle of links, a zero byte
            path = None
        # Resolved first: links and .. count by where they lead to.
        if path is None or self.folder not in path.parents:
            raise ValueError(f"`{name}` must be a file in the folder of this server; {given!r} is not in it.")
        return path


ONLY_READS = "this server only reads: a person can start it with --allow-write"
REHEARSAL = "Here it only shows what would happen: nothing is changed, because this server only reads."
FILE_TOO = " It may also be the name of a file in the folder of this server."
TEXT = "A table is given as text: a line with the names of its columns, and a line for each row."
STUDY = {"type": "string", "description": "The study; default: the only one."}


class Permissions(NamedTuple):
    """What the person who started the server lets its tools do."""

    store: str
    write: bool = False
    folder: FilesFolder | None = None


class Request(NamedTuple):
    """What a worker is asked for: an operation, what it is given, and whether JSON is wanted."""

    tool: str
    given: dict[str, Any]
    permissions: tuple[str, bool]  # the store, and whether it may be changed
    json: bool = True

    def in_words(self) -> "Request":
        """The same without JSON."""
        return self._replace(json=False)


class Tool(NamedTuple):
    """An operation as a tool."""

    op: Operation
    permissions: Permissions

    @property
    def name(self) -> str:
        """Its name."""
        return self.op.name

    @property
    def rehearses(self) -> bool:
        """Whether it only shows what would happen."""
        can = self.op.opens == "study" and "dry_run" in self.op.params
        return self.op.writes and can and not self.permissions.write

    @property
    def writes(self) -> bool:
        """Whether it changes anything as it is offered here."""
        return (self.op.writes or needs_file(self.op)) and not self.rehearses

    @property
    def description(self) -> str:
        """What an assistant reads about it."""
        of_tables = TEXT if any(_is_file(param) for param in self.params.values()) else ""
        parts = (self.op.help, REHEARSAL if self.rehearses else "", of_tables, self.op.advice)
        return "\n".join(part for part in parts if part)

    @property
    def params(self) -> dict[str, Param]:
        """The parameters that an assistant may give.

        Without leave to write there are no files to write, and no dry run to switch off; corrections are made
        one by one, by the tools that are marked for them.
        """
        writes_files = self.permissions.write and self.permissions.folder is not None
        return {
            name: param for name, param in self.op.params.items()
            if not (name == "dry_run" and self.rehearses)
            and not (name == "amend" and param.form.needs is Role.OWNER)
            and (not param.form.local or (writes_files and param.type is Path))
        }  # fmt: skip

    def schema(self) -> dict[str, Any]:
        """Its parameters as JSON schema."""
        made = given_model(self.op, self.params.values()).model_json_schema()
        properties = made.setdefault("properties", {})
        for name, param in self.params.items():
            if _is_file(param) and self.permissions.folder is not None:
                properties[name]["description"] += FILE_TOO
        if self.op.opens != "store":
            properties["study"] = STUDY
        return {**made, "additionalProperties": False}

    def request(self, given: Mapping[str, Any]) -> Request:
        """What a worker is asked for; a sentence says what is wrong."""
        from pydantic import ValidationError

        wanted = {name: value for name, value in given.items() if value is not None}
        study = wanted.pop("study", None) if self.op.opens != "store" else None
        params = self.params
        try:
            read = given_model(self.op, params.values()).model_validate(wanted)
        except ValidationError as problem:
            refusal = wrong_kinds(problem.errors(), list(params))
            raise ValueError(refusal.said(JSON)) from None
        if study is not None and not isinstance(study, str):
            raise ValueError(RefusedError("study", "must be a text", got=study).said(JSON))
        checked = {name: part for name, part in read.model_dump(mode="json").items() if name in wanted}
        if needs_file(self.op) and not any(params[name].type is Path for name in checked):
            name = next(name for name, param in params.items() if param.type is Path)
            raise ValueError(f'"{name}" must be given.')
        for name in checked:
            checked[name] = self._opened(params[name], checked[name])
        given = {**checked, **({} if study is None else {"study": study})}
        return Request(self.name, given, self.permissions[:2])

    def _opened(self, param: Param, value: Any) -> Any:
        """A value with the path of a file in place of its name; texts stay what they are."""
        folder = self.permissions.folder
        if param.type is Path:
            assert folder is not None  # it would not be a parameter
            return folder.to_write(param.name, value)
        if not _is_file(param):
            return value
        if isinstance(value, list):  # names of options; or one table, as text or as a file
            only = value[0] if len(value) == 1 and isinstance(value[0], str) else ""
            if _is_text(only):
                return only
            return {"file": self._path(param, only)} if _may_be_file(only) else value
        if not isinstance(value, str) or _is_text(value):
            return value
        return {"file": self._path(param, value)}

    def _path(self, param: Param, value: str) -> str:
        if self.permissions.folder is None:
            raise ValueError(CLOSED.format(name=param.name))
        return self.permissions.folder.to_read(param.name, value, folders=param.name == "table")


def needs_file(op: Operation) -> bool:
    """Whether an operation is about writing a file."""
    return op.name in ("report", "backup")


def _is_file(param: Param) -> bool:
    """Whether a parameter may be a file to read; a certificate is given as the object itself."""
    return param.typed is not None and param.typed.file and param.name != "verify"


def _is_text(value: str) -> bool:
    """Whether it is a text itself: one with lines, or JSON."""
    return "\n" in value or value.lstrip()[:1] in ("{", "[")


def _may_be_file(value: str) -> bool:
    from noisewise.study.tables.grid import ENDINGS

    path = Path(value.partition("#")[0])
    try:
        return value == "-" or path.suffix.lower() in ENDINGS or path.is_file() or Path(value).is_file()
    except (OSError, ValueError):  # too long for a name, or a zero byte
        return False


class Toolbox:
    """All tools of a server."""

    def __init__(self, permissions: Permissions) -> None:
        self.permissions = permissions
        self.tools: dict[str, Tool] = {}
        self._refused: dict[str, str] = {}
        for op in load_table().values():
            tool = Tool(op, permissions)
            if "mcp" not in op.on:
                why = f'"{op.name}" is not for assistants.'
            elif tool.writes and not permissions.write:
                why = f'"{op.name}" changes the study or writes a file, and {ONLY_READS}.'
            elif needs_file(op) and permissions.folder is None:
                why = (
                    f'"{op.name}" writes a file, and this server has no folder for files: a person can start '
                    "it with --files FOLDER."
                )
            else:
                self.tools[op.name] = tool
                continue
            self._refused[op.name] = why

    def find(self, name: str) -> Tool:
        """A tool by its name; a sentence says why there is none."""
        if name in self.tools:
            return self.tools[name]
        if name in self._refused:
            raise ValueError(self._refused[name])
        raise ValueError(f"there is no tool {name!r}.{nearest(name, sorted(self.tools))}")


def done(tool: Tool, given: Mapping[str, Any]) -> tuple[Result, dict[str, Any]]:
    """Run an operation on the store of the server: its outcome, and the name of the study."""
    import noisewise as nw

    op, store = tool.op, tool.permissions.store
    said = {name: _with_paths(part, op.params.get(name)) for name, part in given.items() if name != "study"}
    said |= {"dry_run": True} if tool.rehearses else {}
    before = speaking.set(JSON)
    try:
        if op.opens == "store":
            return op(store, **said), {}
        if op.opens == "log":
            log = nw.stores.find_study(store, given.get("study"))
            return op(log, **said), {"study": log[1]}
        read_only = not op.writes or bool(said.get("dry_run"))
        study = nw.load_study(store, given.get("study"), read_only=read_only)
        return op(study, **said), {"study": study.name}
    except (ValueError, KeyError, TypeError) as problem:
        raise ValueError(lifted(problem).said(JSON)) from problem
    finally:
        speaking.reset(before)


def _with_paths(value: Any, param: Param | None) -> Any:
    if isinstance(value, dict) and set(value) == {"file"}:
        path = Path(value["file"])
        return [path] if param is not None and param.typed is not None and param.typed.many else path
    return Path(value) if param is not None and param.type is Path else value
