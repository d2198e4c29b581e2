"""What commands print: JSON for programs, sentences and tables for people, and how far long work is."""

import errno
import math
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from noisewise.core.text import cells, printable
from noisewise.operations.table import Verbatim
from noisewise.operations.words import said

if TYPE_CHECKING:
    from rich.console import Console

    from noisewise.simulation import Simulation

#: Sentences and tables of studies fit a small terminal.
WIDTH = 80
#: What the system says by a number, and what to do about it.
ADVICE = {
    errno.EACCES: "you may not read or write it: ask for permission, or choose another one",
    errno.EPERM: "you may not read or write it: ask for permission, or choose another one",
    errno.EROFS: "it is on a read-only disk: choose another folder",
    errno.ENOSPC: "the disk is full: make room, or choose another folder",
    errno.EDQUOT: "your disk quota is used up: make room, or choose another folder",
    errno.ENOENT: "there is no such file or folder: check for typos",
    errno.EISDIR: "it is a folder: name a file in it",
    errno.ENOTDIR: "a part of the path is a file, not a folder: check for typos",
    errno.EMFILE: "too many files are open: close other programs, and try again",
    errno.ENAMETOOLONG: "the name is too long: choose a shorter one",
}


def sentence_of(problem: BaseException) -> str:
    """The sentence of a refusal, also where the system only gives a number."""
    if isinstance(problem, OSError) and problem.errno is not None:
        where = "" if problem.filename is None else f" {str(problem.filename)!r}"
        advice = ADVICE.get(problem.errno, f"the system says: {problem.strerror}")
        return f"the file{where} cannot be used, because {advice}."
    # A KeyError shows its message in quotes.
    return str(problem.args[0] if isinstance(problem, KeyError) and problem.args else problem)


def print_json(schema: str, content: dict[str, Any]) -> None:
    """Print one JSON object with the name of its schema; what is not a number is null."""
    from noisewise.core.strict_json import strict_json

    click.echo(strict_json({"schema": f"noisewise.{schema}/1", **content}, indent=2))


def say(words: str | list[str]) -> None:
    """Print lines for people, wrapped to 80 columns unless the terminal is wider."""
    width = width_of(WIDTH)
    for line in [words] if isinstance(words, str) else words:
        pieces = [line] if isinstance(line, Verbatim) else wrapped(printable(line), width)
        for piece in pieces:
            click.echo(piece)


@contextmanager
def told_warnings() -> Iterator[list[str]]:
    """Print warnings of a block on standard error; what is given has them when the block is over."""
    sentences: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield sentences
    sentences += [printable(said(str(warning.message))) for warning in caught]
    for sentence in sentences:
        click.echo(f"Warning: {sentence}", err=True)


@contextmanager
def progress_shown() -> Iterator[None]:
    """Show on a terminal how far a computation is, once it has taken a second."""
    if not sys.stderr.isatty():
        yield
        return
    from noisewise.core.remarks import heard_progress

    began, shown = time.monotonic(), False

    def watch(doing: str, done: int, of: int) -> None:
        nonlocal shown
        if time.monotonic() - began > 1.0:
            shown = True
            bar = "━" * (30 * done // max(of, 1))
            click.echo(f"\r{doing}  {bar:<30}  {done:,} of {of:,} ", nl=False, err=True)

    try:
        with heard_progress(watch):
            yield
    finally:
        if shown:
            click.echo("\r\033[K", nl=False, err=True)


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


def _broken(text: str, width: int) -> Iterator[str]:
    """A text cut wherever the line is full, blanks at the end not counted."""
    while cells(text.rstrip()) > width:
        fits = 1
        while cells(text[: fits + 1]) <= width:
            fits += 1
        yield text[:fits]
        text = text[fits:]
    yield text


def console(*, err: bool = False, width: int = 100) -> "Console":
    """A console that respects NO_COLOR and keeps to ``width`` columns where there is no terminal."""
    from rich.console import Console

    made = Console(stderr=err, highlight=False)
    return made if made.is_terminal else Console(stderr=err, highlight=False, width=width)


def summary_row(simulation: "Simulation") -> dict[str, Any]:
    """One policy's results in numbers."""
    final = simulation.simple_regret[:, -1]
    n = len(final)
    return {
        "policy": simulation.policy,
        "options": simulation.options,
        "replications": n,
        "simple_regret": float(final.mean()),
        "standard_error": float(final.std(ddof=1) / math.sqrt(n)) if n > 1 else None,
        "best_found": float((final <= 1e-12).mean()),
        "cumulative_regret": float(simulation.cumulative_regret[:, -1].mean()),
        "total_precision": float(simulation.total_precision[:, -1].mean()),
        "regret_bound": float(simulation.bound[:, -1].mean()),
        "covered": float(simulation.covered.mean()),
        "beyond_norm_bound": float(simulation.beyond_norm_bound.mean()),
        "rounds": float(simulation.stopped.mean()),
        "stopped_early": float(simulation.fired.mean()),
    }


def number(value: float | None) -> str:
    """Three digits."""
    return "-" if value is None else f"{value:.3g}"
