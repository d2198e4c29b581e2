"""Sentences on a terminal: broken between words, without a library for it."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from unicodedata import combining, east_asian_width


def width_of(usual: int) -> int:
    """The columns of the terminal, or of COLUMNS; the usual number where there is neither."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdecimal():
        return usual
    return max(1, shutil.get_terminal_size((usual, 24)).columns)


def wrapped(line: str, width: int) -> list[str]:
    """A line in pieces that fit, broken between words; a word that does not fit is broken anywhere."""
    if cells(line) <= width:
        return [line.rstrip()]
    found: list[str] = []
    here = ""
    for word in re.findall(r"\s*\S+\s*", line):
        if here and cells(here + word.rstrip()) > width:
            found.append(here)
            here = ""
        *full, here = _broken(here + word, width)
        found += full
    return [piece.rstrip() for piece in [*found, here]]


def cells(text: str) -> int:
    """The columns that a text takes: two for a wide character, none for an accent of its own."""
    return len(text) if text.isascii() else sum(_cells_of(character) for character in text)


def _cells_of(character: str) -> int:
    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def _broken(text: str, width: int) -> Iterator[str]:
    """A text cut wherever the line is full, blanks at the end not counted."""
    while cells(text.rstrip()) > width:
        fits = 1
        while cells(text[: fits + 1]) <= width:
            fits += 1
        yield text[:fits]
        text = text[fits:]
    yield text
