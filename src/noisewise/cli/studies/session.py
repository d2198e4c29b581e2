"""What the commands on studies share: opening and printing."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisewise.cli.terminal.flags import in_flags
from noisewise.cli.terminal.lines import width_of, wrapped
from noisewise.cli.terminal.output import print_json
from noisewise.cli.terminal.threads import threads_for
from noisewise.core.support.text import printable
from noisewise.web.client.server_address import is_address

if TYPE_CHECKING:
    from noisewise.study import Job, Measurement, Study

DAY = 86400.0
#: Sentences and tables of studies fit a small terminal.
WIDTH = 80
#: How the sentence begins that says why there is no certificate, with arguments of Python in it.
WITHHELD = "Certificate withheld:"

Store = Annotated[
    str,
    typer.Argument(help="The store: a file, postgresql://user@host/database, or https://host of a server."),
]
Name = Annotated[
    str | None, typer.Option("--study", "-s", metavar="NAME", help="The study; default: the only one.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]
Probe = Annotated[
    str | None,
    typer.Option(help="option or difference; default: differences if nothing else was measured so far."),
]
Reason = Annotated[str, typer.Argument(help="The reason, in a few words; it is kept.")]


def seconds_of(days: float | None) -> float | None:
    """A lease as the library takes it."""
    from noisewise.core.support.ranges import LEASE

    if days is None:
        return None
    if not LEASE.holds(days * DAY):
        raise ValueError(f"`lease` must be above 0 and at most {LEASE.most / DAY:,.0f} days; got {days:g}.")
    return days * DAY


def open_study(store: str, name: str | None, *, write: bool = False) -> "Study":
    """The study that a command is about; commands that only look cannot write."""
    import noisewise as nw

    with told_warnings():
        study = nw.load_study(store, name, read_only=not write)
    if not is_address(store):  # there, others compute
        threads_for(max(len(study.options), len(study.specification.catalogue.features)))
    return study


def refuse_server(store: str | None, command: str, instead: str) -> None:
    """Refuse a command that works on files and databases only.

    Args:
        store: As it was typed.
        command: Its name.
        instead: What to do.
    """
    if is_address(store):
        raise ValueError(f"{command} works on the store itself, not through a server: {instead}.")


def status_content(study: Any) -> dict[str, Any]:
    """Where a study stands, as JSON values; of one on a server, as the server says it."""
    if (said := getattr(study, "status", None)) is not None:
        found: dict[str, Any] = said()
        return found
    from noisewise.study.plain import status_of

    return status_of(study)


@contextmanager
def told_warnings() -> Iterator[list[str]]:
    """Warnings as sentences on standard error; what is given has them when the block is over."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said += [printable(in_flags(str(warning.message))) for warning in caught]
    for sentence in said:
        typer.echo(f"Warning: {sentence}", err=True)


def report(command: str, study: "Study", json: bool, content: dict[str, Any], words: str | list[str]) -> None:
    """Say what happened, to a program or to a person."""
    if json:
        print_json(command, {"study": study.name, **content})
        return
    lines = [words] if isinstance(words, str) else words
    say([in_flags(line) if line.startswith(WITHHELD) else line for line in lines])


def say(words: str | list[str]) -> None:
    """Lines for people, wrapped to 80 columns unless the terminal is wider."""
    width = width_of(WIDTH)
    for line in [words] if isinstance(words, str) else words:
        for piece in wrapped(printable(line), width):
            typer.echo(piece)


def job_in_words(job: "Job") -> str:
    """What to measure, and in which block, for people."""
    return ", ".join(part for part in (f"{job.id}  {job.what}", job.on_items, job.where) if part)


def in_words(measurement: "Measurement") -> list[str]:
    """A measurement for people, with its notes."""
    what = measurement.option if measurement.minus is None else f"{measurement.option} - {measurement.minus}"
    error = "" if measurement.se is None else f" ± {measurement.se:.3g}"
    return [f"{measurement.id}: {what} = {measurement.value:.6g}{error}", *measurement.notes]
