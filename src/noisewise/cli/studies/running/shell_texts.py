r"""Where a placeholder may stand in a text for a shell: where a quoted value stays one word.

Values are quoted as ``'a b'``. That is safe between words, and nowhere else: within quotes the value's own
quotes would end them, and the rest of the value would be read by the shell; in a comment, a here-document,
backquotes or ``${...}`` quotes mean something else; in arithmetic, ``[[ ... ]]``, the index of an array, and
after words such as ``eval``, bash runs substitutions in a value that is already quoted. All of these are
refused. Who needs a value there takes it from the environment, ``"$NOISEWISE_OPTION"``, which is safe
everywhere but in arithmetic and after ``eval``.
"""

from collections.abc import Sequence
from typing import Protocol

#: Words that no quoting helps with, and what they are.
_ELSEWHERE = (
    ("`", "backquotes"), ("<<", "a here-document"), ("((", "arithmetic"), ("$[", "arithmetic"),
    ("[[", "[[ ... ]]"), ("$'", "$'...'"),
)  # fmt: skip
#: Commands of shells that evaluate their arguments, or names of variables in them.
_AGAIN = (
    "eval", "let", "declare", "typeset", "local", "readonly", "export", "unset", "read", "mapfile",
    "readarray", "getopts", "trap", "source", "alias", "test -v", "[ -v", "printf -v", "wait -p",
)  # fmt: skip
_BLANKS = " \t\n;&|()<>"


class ShellPiece(Protocol):
    """A text as it is, or the name of a placeholder."""

    @property
    def text(self) -> str:
        """The text, or the name."""

    @property
    def is_placeholder(self) -> bool:
        """Which of the two."""


def check_shell_text(pieces: Sequence[ShellPiece]) -> None:
    """Refuse a text for a shell that has a placeholder where a quoted value would not stay one word."""
    if not any(piece.is_placeholder for piece in pieces):
        return
    scanner = _Scanner()
    for piece in pieces:
        if piece.is_placeholder:
            scanner.meet(piece.text)
        else:
            for character in piece.text:
                scanner.read(character)
    scanner.end()


class _Scanner:
    """Reads a text as a shell does, as far as quotes go."""

    def __init__(self) -> None:
        self._quote = ""  # the quote that is open, or # in a comment
        self._escaped = False
        self._last = "\n"  # characters before this one, outside of single quotes
        self._word, self._before = "", ""  # this one as far as it was read outside of quotes, and the last
        self._braces = 0  # of ${...} that are open
        self._strange: str | None = None
        self._met: str | None = None

    def read(self, character: str) -> None:
        """One character of the text itself."""
        if self._escaped:
            self._escaped = False
            if character != "\n":  # which is as if it were not there
                self._last, self._word = "x", self._word + character
        elif self._quote == "#":
            self._quote = "" if character == "\n" else "#"
            self._last = character
        elif self._quote == "'":
            self._quote = "" if character == "'" else "'"
            self._last = "x"
        elif character == "\\":
            self._escaped = True
        else:
            self._read_special(character)

    def _read_special(self, character: str) -> None:
        for word, what in _ELSEWHERE:
            if (self._last + character).endswith(word) and not (word == "$'" and self._quote):
                self._strange = self._strange or what
        if self._quote == '"' and self._last + character == "$(":
            self._strange = self._strange or "$(...) within quotes"  # which begins with quotes of its own
        if self._last + character == "${":
            self._braces += 1
        elif character == "}":
            self._braces = max(0, self._braces - 1)
        if not self._quote:
            self._read_word(character)
        if character == '"':
            self._quote = "" if self._quote else '"'
        elif character == "'" and not self._quote:
            self._quote = "'"
        elif character == "#" and not self._quote and self._last[-1] in _BLANKS:
            self._quote = "#"
        self._last = character

    def _read_word(self, character: str) -> None:
        """Note words that evaluate what follows; options between them and -v do not matter here."""
        if character not in _BLANKS:
            self._word += character
            return
        for word in (self._word, f"{self._before} {self._word}"):
            if word in _AGAIN:
                self._strange = self._strange or f"{word!r}"
        if self._word:
            self._before, self._word = self._word, ""

    def meet(self, name: str) -> None:
        """A placeholder."""
        self._met = self._met or name
        if self._escaped:
            raise _refusal(name, "behind a backslash")
        if self._quote:
            raise _refusal(name, "in a comment" if self._quote == "#" else "within quotes")
        if self._braces:
            raise _refusal(name, "within ${...}")
        if "[" in self._word:
            raise _refusal(name, "within brackets")
        self._last, self._word = "x", self._word + "x"

    def end(self) -> None:
        """Refuse what is dangerous anywhere in the same text."""
        self._read_word("\n")
        if self._strange is not None and self._met is not None:
            raise _refusal(self._met, f"in a text with {self._strange}")
        if self._quote in ("'", '"'):
            raise ValueError(f"the text for the shell has a quote that is not closed: {self._quote}")


def _refusal(name: str, where: str) -> ValueError:
    return ValueError(
        f"with --shell, {{{name}}} must not stand {where}: its value comes quoted already, and only between "
        'words is that safe. Elsewhere write "$NOISEWISE_OPTION" (or _JOB, _ITEMS, _OUT), which the command '
        "has in its environment."
    )
