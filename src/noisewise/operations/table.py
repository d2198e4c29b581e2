"""How an operation is declared: a function whose signature says what the surfaces need to know.

    @dataclass
    class VoidOutcome(Result):
        measurement: str
        reason: str

        def lines(self) -> list[str]:
            return [f"{self.measurement} no longer counts: {self.reason}."]

    @operation(Group.CORRECT, role=Role.OWNER, corrects=True)
    def void(study: "Study", measurement: MeasurementId, reason: Reason) -> VoidOutcome:
        '''Take a measurement out of the analysis; it stays in the log.'''
        study.void(measurement, reason)
        return VoidOutcome(measurement, reason)

This is the command `noisewise void`, `POST /api/v1/studies/{study}/void`, the method `void` of a study on a
server, and the MCP tool `void`. Nothing but the standard library is loaded here: commands start fast.
"""

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum, StrEnum
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

#: Where operations are declared, in the order of the help text.
MODULES = ("start", "measure", "look", "correct", "keep")


class Group(StrEnum):
    """The groups of `noisewise --help`."""

    START = "Start"
    MEASURE = "Measure"
    LOOK = "Look"
    CORRECT = "Correct"
    KEEP = "Keep"
    SHARE = "Share"
    RESEARCH = "Research"


class Role(IntEnum):
    """Who may do something. Each role includes those before it."""

    VIEWER = 1  # look at everything
    WORKER = 2  # ask, tell and release
    OWNER = 3  # correct what was told, change options and models, make studies, share

    @property
    def word(self) -> str:
        """Its name, as people write it."""
        return self.name.lower()


class Form:
    """What an annotation says about a parameter: an `Arg`, `Opt` or `Api`.

    Args:
        help: What it is, for all surfaces. It may name parameters, as in "needs {n}".
        flags: What is typed before the value; default: the name, as in `--dry-run`.
        metavar: What the help shows in place of the value.
        local: Whether it is only for people on this machine, such as a file to write.
        needs: The role that a value needs, if that is more than the operation's own.
        env: An environment variable that is read if it is not typed.
        flag: What the flag stands for, if it is typed without a value: `--add` is ``unknown="add"``.
        hidden: Whether the help leaves it out.
    """

    def __init__(
        self,
        help: str = "",
        *flags: str,
        metavar: str = "",
        local: bool = False,
        needs: "Role | None" = None,
        env: str | None = None,
        flag: Any = None,
        hidden: bool = False,
    ) -> None:
        self.help, self.flags, self.metavar = help, flags, metavar
        self.local, self.needs, self.env, self.flag, self.hidden = local, needs, env, flag, hidden


class Arg(Form):
    """A parameter that is typed in its place: `noisewise void STORE MEASUREMENT REASON`."""


class Opt(Form):
    """A parameter that is typed after a flag: `--se 0.3`."""


class Api(Form):
    """A parameter for programs, which no one types."""


class Typed(NamedTuple):
    """How a value is typed at a shell, for types that do not say it themselves."""

    read: Callable[[Any], Any]  # from the text, or from all texts if there are several
    metavar: str = ""
    many: bool = False  # the flag can be repeated; an argument can have several words
    words: int = 1
    file: bool = False  # what is typed is the name of a file; programs give its text


class Between(NamedTuple):
    """The smallest and the largest number that is accepted, for descriptions of the interface."""

    least: float
    most: float


class Param(NamedTuple):
    """A parameter, as the signature declares it."""

    name: str
    annotation: Any  # the whole of it, from which JSON schemas are made
    type: Any  # without None and notes
    default: Any
    required: bool
    form: Form
    typed: Typed | None
    limits: Between | None

    @property
    def fits_query(self) -> bool:
        """Whether a value fits behind the question mark of an address."""
        parts = get_args(self.type) if get_origin(self.type) in (Union, UnionType) else (self.type,)
        return all(part in (str, int, float, bool) or get_origin(part) is Literal for part in parts)


class Verbatim(str):
    """A line that is printed as it is, such as one of a table."""

    __slots__ = ()


class Result:
    """What an operation found or did. Subclasses are dataclasses, whose fields are the JSON of all surfaces.

    Fields that begin with an underscore are only for the words.
    """

    def lines(self) -> list[str]:
        """Return it in words, line by line; only what is printed is put into words."""
        raise NotImplementedError

    @property
    def code(self) -> int:
        """The exit code of the command."""
        return 0

    @property
    def text(self) -> Iterable[str] | None:
        """Text that is printed or sent as it is, in place of words."""
        return None

    @property
    def is_text(self) -> bool:
        """Whether the text is all there is, for programs as well."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {name: getattr(self, name) for name in field_names(type(self))}


def field_names(outcome: type[Result]) -> list[str]:
    """The fields of an outcome that programs see."""
    return [one.name for one in fields(outcome) if not one.name.startswith("_")]  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """A row of the table: a function, and what its signature cannot say."""

    function: Callable[..., Any]
    group: Group
    name: str
    role: Role = Role.VIEWER
    #: The surfaces that have it.
    on: str = "shell http client mcp"

    #: HTTP: its address below the study (or below /studies), and the status of a successful answer.
    path: str = ""
    status: int = 200
    #: HTTP: whether it may take long, so that a worker process computes it.
    long: bool = False
    #: HTTP: the largest values of some parameters: others wait for the study meanwhile.
    most: Mapping[str, int] = field(default_factory=dict)
    #: HTTP: what the answer to a repeated request says, made from the events of the first one.
    again: Callable[[list[Any]], dict[str, Any]] | None = None

    #: Client: the method of `Study` that it stands for.
    method: str = ""
    #: Client: turns the answer into what that method returns.
    returns: Callable[[dict[str, Any]], Any] = lambda content: None
    #: Client: whether that method runs here, on a copy of the log: it returns more than JSON can hold.
    here: bool = False

    #: MCP: whether something that was recorded counts differently afterwards.
    corrects: bool = False
    #: MCP: what an assistant should also know.
    advice: str = ""

    #: Shell: the meaning of exit codes.
    exits: Mapping[int, str] = field(default_factory=dict)
    #: Shell: options by title, for commands that have many.
    groups: Mapping[str, str] = field(default_factory=dict)
    examples: tuple[tuple[str, str], ...] = ()
    #: Shell: whether values may be negative numbers.
    numbers: bool = False

    def __call__(self, opened: Any, **given: Any) -> Any:
        """Do it."""
        return self.function(opened, **given)

    @property
    def writes(self) -> bool:
        """Whether it changes something. Viewers only look."""
        return self.role > Role.VIEWER

    @cached_property
    def opens(self) -> str:
        """What it works on, which is what its first parameter is called: "study", "log" or "store"."""
        return next(iter(inspect.signature(self.function).parameters))

    @cached_property
    def store_is_declared(self) -> bool:
        """Whether the signature says what its store is, where that is more than usual."""
        first = next(iter(inspect.signature(self.function).parameters.values()))
        return get_origin(first.annotation) is Annotated

    @cached_property
    def help(self) -> str:
        """Its docstring."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def params(self) -> dict[str, Param]:
        """Its parameters by name, those of ``**told: Unpack[ToldFields]`` among them."""
        return params_of(self.function, skip=1)

    @cached_property
    def outcome(self) -> type[Result]:
        """What it returns."""
        found: type[Result] = get_type_hints(self.function, localns={"Study": Any})["return"]
        return found


def operation(group: Group, **more: Any) -> Callable[[Callable[..., Any]], Operation]:
    """Declare an operation; `Operation` lists what can be said about it."""

    def declared(function: Callable[..., Any]) -> Operation:
        name = more.pop("name", function.__name__)
        return Operation(function=function, group=group, name=name, **{"path": name, "method": name} | more)

    return declared


@cache
def load_table() -> dict[str, Operation]:
    """All operations by name."""
    modules = [importlib.import_module(f"{__package__}.{name}") for name in MODULES]
    found = [one for module in modules for one in vars(module).values() if isinstance(one, Operation)]
    return {one.name: one for one in found}


def params_of(function: Callable[..., Any], skip: int = 0) -> dict[str, Param]:
    """The parameters that the signature of a function declares, without the first ``skip``."""
    hints = get_type_hints(function, localns={"Study": Any}, include_extras=True)
    found: dict[str, Param] = {}
    for one in list(inspect.signature(function).parameters.values())[skip:]:
        if one.kind is one.VAR_KEYWORD:
            if not get_args(hints[one.name]):
                continue
            found |= fields_of(get_args(hints[one.name])[0])
        else:
            found[one.name] = _param(one.name, hints[one.name], one.default)
    return found


def fields_of(named: type) -> dict[str, Param]:
    """The fields of a TypedDict as parameters, none of which is required."""
    parts = get_type_hints(named, include_extras=True).items()
    return {name: _param(name, annotation, None) for name, annotation in parts}


def _param(name: str, annotation: Any, default: Any) -> Param:
    kind, notes = _taken_apart(annotation)
    form, typed, limits = (_first(notes, one) for one in (Form, Typed, Between))
    if form is None:
        raise TypeError(f"the annotation of `{name}` needs an Arg, Opt or Api.")
    required = default is inspect.Parameter.empty
    return Param(name, annotation, kind, None if required else default, required, form, typed, limits)


def _taken_apart(annotation: Any) -> tuple[Any, list[Any]]:
    """A type without None and notes, and the notes of all layers, the outer ones first."""
    if get_origin(annotation) is Annotated:
        kind, notes = _taken_apart(annotation.__origin__)
        return kind, [*annotation.__metadata__, *notes]
    if get_origin(annotation) not in (Union, UnionType):
        return annotation, []
    parts = [_taken_apart(part) for part in get_args(annotation) if part is not NoneType]
    kinds = tuple(kind for kind, _ in parts)
    return Union[kinds], [note for _, notes in parts for note in notes]  # noqa: UP007


def _first(notes: list[Any], kind: type) -> Any:
    return next((one for one in notes if isinstance(one, kind)), None)
