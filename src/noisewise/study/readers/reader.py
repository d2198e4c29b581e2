"""What a reader is: a name, what it reads, how a file of it looks, and a function from a file to rows."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from noisewise.core.checks import nearest
from noisewise.study.readers.readout import Readout
from noisewise.study.readers.result_file import ResultFile


@dataclass(frozen=True)
class Reader:
    """A format that can be told.

    Args:
        name: How people call it: ``--from hyperfine``.
        reads: What it reads, in a few words: ``"hyperfine --export-json"``.
        read: A function of a `ResultFile` that returns a `Readout`; its keyword-only arguments are the
            choices of the reader, such as ``unit`` and ``metric``, and have defaults.
        looks_like: A function of a `ResultFile` that says, by its name or its `head`, whether it is one.
        pattern: Which files of a folder it reads, as ``glob`` says it; None: no folders.
    """

    name: str
    reads: str
    read: Callable[..., Readout]
    looks_like: Callable[[ResultFile], bool]
    pattern: str | None = None

    @property
    def choices(self) -> list[str]:
        """The names of what can be said about a file."""
        parameters = inspect.signature(self.read).parameters.values()
        return [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]

    def check(self, choices: Mapping[str, Any]) -> None:
        """Refuse choices that it does not have."""
        known = self.choices
        for name in choices:
            if name not in known:
                listed = ", ".join(known) or "none"
                raise ValueError(
                    f"reader {self.name!r} has no choice {name!r}; it has {listed}.{nearest(name, known)}"
                )
