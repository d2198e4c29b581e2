"""What a person can say about a table, in the words of the interface: Python, the command line, or a form."""

import shlex
from collections.abc import Mapping
from typing import NamedTuple


class Wording(NamedTuple):
    """How messages call arguments."""

    command: bool
    form: bool = False
    choosing: bool = False  # a command without flags of its own for layouts and missing error bars

    def map(self, columns: Mapping[str, str]) -> str:
        """Which column is what."""
        if self.command:
            return "--map " + shlex.quote(",".join(f"{name}={column}" for name, column in columns.items()))
        return f"`roles={dict(columns)!r}`"

    def ignore(self, *columns: str) -> str:
        """Columns that are not used, on purpose."""
        if self.command:
            return " ".join(f"--ignore {shlex.quote(column)}" for column in columns)
        return f"`ignore={list(columns)!r}`"

    def decimal(self, sign: str) -> str:
        """The decimal sign."""
        if self.form:
            return f"{'a comma' if sign == ',' else 'a point'} as Decimal sign"
        return f"--decimal {sign}" if self.command else f"`decimal={sign!r}`"

    @property
    def allow_missing_se(self) -> str:
        """That rows may lack their error bars."""
        if self.form:
            return "the tick at How numbers and rows are read"
        if self.choosing:
            return "--choose allow-missing-se=yes"
        return "--allow-missing-se" if self.command else "allow_missing_se=True"

    def layout(self, name: str) -> str:
        """That a table is one of studies: their arms, or differences between them."""
        if self.choosing:
            return f"--choose layout={name}"
        return f"--{name}" if self.command else f"layout={name!r}"

    @property
    def results(self) -> str:
        """That a table holds results, from which a study is made."""
        return "init --from TABLE" if self.command else "`results=`"

    @property
    def called_map(self) -> str:
        """The argument that says which column is what."""
        return "--map" if self.command else "`roles`"


CHOOSING = Wording(command=True, choosing=True)
PYTHON, COMMAND, FORM = Wording(command=False), Wording(command=True), Wording(command=False, form=True)
