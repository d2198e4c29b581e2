"""A command with placeholders: ``python train.py {option} --lr {col:lr}``, filled in for one measurement.

A value is put in the place of its placeholder inside one argument, and the argument stays one argument: no
value is ever split or read by a shell. A text for a shell (``--shell``, ``sh -c``) therefore has no
placeholders; it finds the values in its environment. Doubled braces are plain ones.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from noisewise.core.checks import nearest
from noisewise.core.text import printable

OPTION, MINUS, ITEMS, OUT, COLUMN = "option", "minus", "items", "out", "col:"
#: What may stand in braces, besides columns.
PLAIN = (OPTION, MINUS, "job", "study", ITEMS, OUT)
_SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh")
_SCRIPT_FLAG = re.compile(r"-[a-zA-Z]*c[a-zA-Z]*|--command")
_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class TemplatePiece(NamedTuple):
    """A part of an argument: a text as it is, or the name of a placeholder."""

    text: str
    is_placeholder: bool = False


@dataclass(frozen=True)
class Template:
    """A command before it is filled in; made by `read_template`."""

    arguments: tuple[tuple[TemplatePiece, ...], ...]
    shell: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The placeholders it has, each once."""
        return tuple(
            dict.fromkeys(piece.text for argument in self.arguments for piece in argument if piece[1])
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of options that it names."""
        return tuple(name.removeprefix(COLUMN) for name in self.names if name.startswith(COLUMN))

    @property
    def program(self) -> tuple[TemplatePiece, ...]:
        """What is started: the first argument."""
        return self.arguments[0]

    def fill(self, values: Mapping[str, str]) -> list[str] | str:
        """The arguments of one measurement; for a shell, one text."""
        arguments = [filled(argument, values) for argument in self.arguments]
        return " ".join(arguments) if self.shell else arguments


def filled(argument: Sequence[TemplatePiece], values: Mapping[str, str]) -> str:
    """One argument with values in the places of its placeholders; none of them is read again."""
    return "".join(values[piece.text] if piece.is_placeholder else piece.text for piece in argument)


def read_template(arguments: Sequence[str], *, shell: bool = False) -> Template:
    """Understand a command; what stands in braces and is no placeholder is refused.

    Args:
        arguments: The program and its arguments, as they came from the command line.
        shell: Whether they are a text for a shell; several are put together with blanks.
    """
    if not arguments or not arguments[0].strip():
        raise ValueError(
            "there is no command to measure with: put it behind --, as in noisewise run study.db -- "
            "./measure {option}."
        )
    template = Template(tuple(tuple(_pieces(argument)) for argument in arguments), shell)
    if shell and template.names:
        raise ValueError(_for_a_shell(template.names[0], "--shell"))
    _check_scripts(template)
    return template


def _check_scripts(template: Template) -> None:
    """Refuse a placeholder in the script of ``sh -c SCRIPT``: the shell would run what a value says."""
    shell, script_follows = "", False
    for argument in template.arguments:
        text = filled([piece for piece in argument if not piece.is_placeholder], {})
        inside = [piece.text for piece in argument if piece.is_placeholder]
        if script_follows and inside:
            raise ValueError(_for_a_shell(inside[0], f"{shell} -c"))
        name = text.rpartition("/")[2]
        if name in _SHELLS:
            shell = name
        elif shell and text.startswith("-"):
            script_follows = script_follows or _SCRIPT_FLAG.fullmatch(text) is not None
        else:
            script_follows = False


def _for_a_shell(name: str, where: str) -> str:
    known = f'write "$NOISEWISE_{name.upper()}"' if name in PLAIN else "give it as an argument"
    return (
        f"{{{name}}} must not stand in a text for a shell ({where}), which would run what a name says: "
        f"""{known}, as in sh -c './measure "$1" | tail -n 1' sh {{{name}}}."""
    )


def _pieces(argument: str) -> list[TemplatePiece]:
    found, at = [], 0
    for brace in _BRACES.finditer(argument):
        found.append(TemplatePiece(argument[at : brace.start()]))
        at = brace.end()
        if brace[0] in ("{{", "}}"):
            found.append(TemplatePiece(brace[0][0]))
        elif brace[1] is None:
            raise ValueError(
                f"the argument {_shown(argument)} has a single {brace[0]}: double it, {brace[0] * 2}, if it "
                "is no part of a placeholder."
            )
        else:
            found.append(TemplatePiece(_known(brace[1], argument), True))
    found.append(TemplatePiece(argument[at:]))
    return [piece for piece in found if piece.text]


def _known(name: str, argument: str) -> str:
    """The name of a placeholder, without blanks around it."""
    plain = name.strip()
    if plain in PLAIN:
        return plain
    if plain.startswith(COLUMN) and (column := plain.removeprefix(COLUMN).strip()):
        return COLUMN + column
    listed = ", ".join(f"{{{known}}}" for known in (*PLAIN, "col:NAME"))
    raise ValueError(
        f"{{{printable(name)}}} in the argument {_shown(argument)} is no placeholder; there are {listed}."
        f"{nearest(plain, PLAIN) if plain else ''} Write {{{{ and }}}} for braces that are meant as they are."
    )


def _shown(argument: str) -> str:
    return repr(printable(argument if len(argument) <= 60 else argument[:60] + "…"))
