"""The tools that a server offers: made of commands, and what a call of one asks a worker for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from noisewise.cli.assistant.folder import CLOSED, FilesFolder
from noisewise.cli.assistant.schemas import in_tool_words, property_name, read_arguments, schema_of, words_of
from noisewise.cli.assistant.uses import NO_TOOLS, USES, Use
from noisewise.core.support.checks import nearest

ONLY_READS = "this server only reads: a person can start it with --allow-write"
FILE_TOO = ", or the name of a file in the folder of this server"
NEW_FILE = "The name of a new file in the folder of this server."


class Permissions(NamedTuple):
    """What the person who started the server lets its tools do."""

    store: str
    write: bool = False
    folder: FilesFolder | None = None


class Request(NamedTuple):
    """What a worker is asked for: a command with its values, and what it reads on standard input."""

    command: str
    values: dict[str, Any]
    stdin: str = ""

    def in_words(self) -> "Request":
        """The same without JSON."""
        return self._replace(values=self.values | {"json": False})


@dataclass(frozen=True)
class CommandTool:
    """A command as a tool: its parameters by the names that the tool has for them."""

    name: str
    use: Use
    description: str
    parameters: Mapping[str, Any]
    fixed: Mapping[str, Any]
    permissions: Permissions

    @property
    def writes(self) -> bool:
        """Whether it changes anything as it is offered here."""
        return self.use.writes and self.use.rehearsal not in self.fixed

    def schema(self) -> dict[str, Any]:
        """Its parameters as JSON schema."""
        words = words_of(self.parameters)
        made = {name: schema_of(one, words, self._about(one)) for name, one in self.parameters.items()}
        for name in (name for name, one in self.parameters.items() if self._must_be_file(one)):
            made[name].pop("default", None)
        required = [name for name, one in self.parameters.items() if one.required or self._must_be_file(one)]
        return {
            "type": "object",
            "properties": dict(sorted(made.items(), key=lambda pair: pair[0] not in required)),
            **({"required": required} if required else {}),
            "additionalProperties": False,
        }

    def request(self, given: Mapping[str, Any]) -> Request:
        """What a worker is asked for; a sentence says what is wrong."""
        values = read_arguments(given, self.parameters)
        texts: list[str] = []
        for name, parameter in self.parameters.items():
            if parameter.name in values:
                values[parameter.name] = self._opened(name, parameter.name, values[parameter.name], texts)
            elif self._must_be_file(parameter):
                raise ValueError(f"`{name}` must be given.")
        if len(texts) > 1:
            raise ValueError("only one text can be given itself; give the others as names or files.")
        return Request(self.name, values | dict(self.fixed), "".join(texts))

    def in_its_words(self, sentence: str) -> str:
        """A refusal of the command, with the tool's parameters in the place of flags."""
        # The store is no parameter here: the person who started the server has named it.
        said = re.sub(r"\bSTORE\b", "the store of this server", sentence)
        return in_tool_words(said, words_of(self.parameters))

    def _opened(self, name: str, of_command: str, value: Any, texts: list[str]) -> Any:
        """A value with paths in the place of names of files; a text itself goes to standard input."""
        use, folder = self.use, self.permissions.folder
        if of_command in use.files:
            assert folder is not None  # it would not be a parameter
            return folder.to_write(name, value)
        if of_command in use.names:
            # One name alone is a file for the command if it looks like one.
            if len(value) == 1 and _is_text(value[0]):
                texts.append(value[0])
                return ["-"]
            return [self._file(name, value[0])] if len(value) == 1 and _may_be_file(value[0]) else value
        if of_command in use.texts:
            if isinstance(value, list):
                return [self._text_or_file(name, part, texts) for part in value]
            return self._text_or_file(name, value, texts)
        if of_command in use.tables and not value.removeprefix("-").isdecimal():
            return self._file(name, value)
        return value

    def _text_or_file(self, name: str, value: str, texts: list[str]) -> str:
        if not _is_text(value):
            return self._file(name, value, folders=self.use.folders)
        texts.append(value)
        return "-"

    def _file(self, name: str, value: str, *, folders: bool = False) -> str:
        if self.permissions.folder is None:
            raise ValueError(CLOSED.format(name=name))
        return self.permissions.folder.to_read(name, value, folders=folders)

    def _must_be_file(self, parameter: Any) -> bool:
        return self.use.needs_file and parameter.name in self.use.files

    def _about(self, parameter: Any) -> str | None:
        """What is said of a file or a text in the place of the command's help; None of all others."""
        use, too = self.use, FILE_TOO if self.permissions.folder else ""
        said = use.texts.get(parameter.name) or use.names.get(parameter.name)
        if parameter.name in use.files:
            return NEW_FILE
        return None if said is None else f"{said}{too}."


def _is_text(value: str) -> bool:
    """Whether it is a text itself: one with lines, or JSON."""
    return "\n" in value or value.lstrip()[:1] in ("{", "[")


def _may_be_file(value: str) -> bool:
    from noisewise.study.inputs.tables import ENDINGS

    path = Path(value.partition("#")[0])
    try:
        return value == "-" or path.suffix.lower() in ENDINGS or path.is_file() or Path(value).is_file()
    except (OSError, ValueError):  # too long for a name, or a zero byte in it
        return False


class Toolbox:
    """All tools of a server."""

    def __init__(self, commands: Mapping[str, Any], permissions: Permissions) -> None:
        self.permissions = permissions
        made = {name: _tool(name, one, permissions) for name, one in commands.items() if name in USES}
        self.tools = {name: tool for name, tool in made.items() if tool is not None}

    def find(self, name: str) -> CommandTool:
        """A tool by its name; a sentence says why there is none."""
        if name in self.tools:
            return self.tools[name]
        use = USES.get(name)
        if use is not None and use.writes and not self.permissions.write:
            raise ValueError(f"`{name}` changes the study or writes a file, and {ONLY_READS}.")
        if use is not None and use.needs_file:
            raise ValueError(
                f"`{name}` writes a file, and this server has no folder for files: a person can start it "
                "with --files FOLDER."
            )
        if name in NO_TOOLS:
            raise ValueError(f"`{name}` is a command for people at a terminal, because {NO_TOOLS[name]}.")
        raise ValueError(f"there is no tool `{name}`.{nearest(name, sorted(self.tools))}")


def _tool(name: str, command: Any, permissions: Permissions) -> CommandTool | None:
    use, may_write_files = USES[name], permissions.write and permissions.folder is not None
    if use.writes and not (permissions.write or use.rehearsal):
        return None
    if use.needs_file and not may_write_files:
        return None
    fixed: dict[str, Any] = {use.store: permissions.store}
    if any(one.name == "json" for one in command.params):
        fixed["json"] = True
    if use.rehearsal and not permissions.write:
        fixed[use.rehearsal] = True
    left_out = {*fixed, *use.hidden, *(() if may_write_files else use.files)}
    shown = [one for one in command.params if one.expose_value and one.name not in left_out]
    parameters = {property_name(one): one for one in shown}
    said = [part for part in (command.help or "").split("\n\n") if not part.startswith("Exit code")]
    if use.rehearsal in fixed:
        said.append("Here it only shows what would be: nothing is changed, because this server only reads.")
    said += [use.advice] if use.advice else []
    words = words_of(parameters)
    return CommandTool(name, use, in_tool_words("\n".join(said), words), parameters, fixed, permissions)
