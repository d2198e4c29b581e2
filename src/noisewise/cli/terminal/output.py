"""What the commands print: JSON for programs, tables and progress for people."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import typer

from noisewise.core.support.strict_json import strict_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from noisewise.simulation import Simulation


def console(*, err: bool = False, width: int = 100) -> "Console":
    """A console that respects NO_COLOR and keeps to ``width`` columns where there is no terminal."""
    from rich.console import Console

    made = Console(stderr=err, highlight=False)
    return made if made.is_terminal else Console(stderr=err, highlight=False, width=width)


def print_json(schema: str, content: dict[str, Any]) -> None:
    """One JSON object on standard output, with the name of its schema; what is not a number is null."""
    typer.echo(strict_json({"schema": f"noisewise.{schema}/1", **content}, indent=2))


@contextmanager
def progress(quiet: bool) -> Iterator["Progress"]:
    """Progress bars on standard error; gone when done, absent without a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<24}"), BarColumn(), TextColumn("{task.fields[note]}"))
    target = console(err=True)
    hidden = quiet or not target.is_terminal
    bars = Progress(*columns, TimeElapsedColumn(), console=target, transient=True, disable=hidden)
    with nullcontext() if hidden else bars:  # below 14.3, Rich ends hidden bars with an empty line
        yield bars


@contextmanager
def import_progress() -> Iterator[Callable[[str, int, int], None]]:
    """A function to be told how far an import is; a bar on standard error once it has taken a second."""
    began, task = time.monotonic(), None
    with progress(quiet=False) as bars:

        def watch(doing: str, done: int, of: int) -> None:
            nonlocal task
            if task is None and time.monotonic() - began > 1.0:
                task = bars.add_task(doing, note="")
            if task is not None:
                bars.update(task, description=doing, completed=done, total=of, note=f"{done:,} of {of:,}")

        yield watch


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
