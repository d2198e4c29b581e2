"""A command as a measuring function: filled in for a job, run, and what it left read as a result."""

import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from noisewise.cli.run_children import KEPT_OUT, Children, Ended
from noisewise.cli.run_placeholders import COLUMN, ITEMS, MINUS, OPTION, OUT, PLAIN, Template
from noisewise.cli.run_printed import read_printed
from noisewise.core.text import printable
from noisewise.study.running.outcomes import NoResultError

if TYPE_CHECKING:
    from noisewise.study.log.jobs import Job

#: Lines of standard error, and characters of them, that a failure is told with: the last ones.
LINES, CHARACTERS = 5, 300
#: What a file of results becomes: the fields of tell for an option.
Read = Callable[[Path, str], dict[str, Any]]
#: Variables that a command finds; those of a run that this one is a command of are not for it.
SAID = tuple(f"NOISEWISE_{name.upper()}" for name in (*PLAIN, "fresh"))
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class MeasuringCommand:
    """Measures a job by a command.

    Args:
        template: The command.
        study: The study's name.
        columns: Texts of options by column: see `option_columns`.
        children: Where its processes and files are kept.
        environment: Of the command, before anything is added.
        timeout: Seconds that it may take.
        read: What reads its file, if that is neither a number nor JSON.
    """

    template: Template
    study: str
    columns: Mapping[str, Mapping[str, str]]
    children: Children
    environment: Mapping[str, str]
    timeout: float | None = None
    read: Read | None = None

    def __call__(self, job: "Job") -> Any:
        """What came out."""
        if job.minus is not None and MINUS not in self.template.names:
            raise NoResultError(f"the difference {job.what} is asked for, and the command has no {{{MINUS}}}")
        own = Path(tempfile.mkdtemp(prefix=f"{job.id}-", dir=self.children.folder))
        try:
            values = self._values(job, own)
            said = {f"NOISEWISE_{name.upper()}": value for name, value in values.items() if ":" not in name}
            said |= {"NOISEWISE_FRESH": str(job.fresh)} if job.fresh else {}
            environment = {name: value for name, value in self.environment.items() if name not in SAID}
            environment |= said
            ended = self.children.run(self.template.fill(values), environment, self.timeout)
            if (why := self._why_failed(ended)) is not None:
                raise NoResultError(why + last_words(ended.err))
            try:
                return self._result(ended, Path(values[OUT]), job)
            except NoResultError as nothing:
                raise NoResultError(f"{nothing}{last_words(ended.err)}") from None
        finally:
            shutil.rmtree(own, ignore_errors=True)

    def _values(self, job: "Job", own: Path) -> dict[str, str]:
        """What placeholders stand for; folder and files for this measurement are made."""
        (own / "out").mkdir()
        values = {OPTION: job.option, "job": job.id, "study": self.study, OUT: str(own / "out" / "result")}
        if job.minus is not None:
            values[MINUS] = job.minus
        if job.items or job.fresh or ITEMS in self.template.names:
            listed = own / "items.txt"
            listed.write_text("".join(f"{item}\n" for item in job.items), encoding="utf-8")
            values[ITEMS] = str(listed)
        for name, texts in self.columns.items():
            if job.option not in texts:  # it was added while the run went on
                raise NoResultError(f"{{{COLUMN}{name}}} has no value for it: begin the run anew")
            values[COLUMN + name] = texts[job.option]
        return values

    def _why_failed(self, ended: Ended) -> str | None:
        if ended.is_late:
            return f"it took longer than the time-out of {self.timeout:g} s, and was ended"
        if ended.code < 0:
            return f"it was ended by {_signal_name(-ended.code)}"
        return f"exit code {ended.code}" if ended.code else None

    def _result(self, ended: Ended, out: Path, job: "Job") -> Any:
        """From the file that it wrote, or from what it printed."""
        written = _written(out)
        if written is None and OUT in self.template.names:
            raise NoResultError(f"it wrote nothing to {{{OUT}}}")
        if self.read is not None:
            return self._read(written or _kept(ended, out), job)
        if written is not None:
            return read_printed(_text_of(written), job.items, where=f"what it wrote to {{{OUT}}}")
        text = ended.out.decode("utf-8", "replace")
        where = f"its output (the last {KEPT_OUT >> 20} MB of it)" if ended.is_cut else "its output"
        return read_printed(text, job.items, where=where)

    def _read(self, file: Path, job: "Job") -> dict[str, Any]:
        assert self.read is not None
        try:
            fields = self.read(file, job.option)
        except (ValueError, KeyError, TypeError, OSError) as problem:
            said = str(problem.args[0] if isinstance(problem, KeyError) and problem.args else problem)
            called = f"{{{OUT}}}" if OUT in self.template.names else "its output"
            raise NoResultError(said.rstrip(".").replace(repr(str(file)), called)) from None
        return {name: part for name, part in fields.items() if name not in ("key", "by", "option")}


def _written(out: Path) -> Path | None:
    """The file or folder at the place that the command was told, or the only one that was made beside it."""
    made = sorted(out.parent.iterdir())
    if not made:
        return None
    if out not in made and len(made) > 1:
        raise NoResultError(
            f"it wrote {len(made)} files where {{{OUT}}} is: {made[0].name}, {made[1].name}: write one"
        )
    found = out if out in made else made[0]
    if not (found.is_file() or found.is_dir()):  # reading a pipe would never end
        raise NoResultError(f"{{{OUT}}} became neither a file nor a folder")
    return found


def _kept(ended: Ended, out: Path) -> Path:
    """What was printed, as a file for a reader."""
    if ended.is_cut:
        raise NoResultError(f"it printed more than {KEPT_OUT >> 20} MB: let it write to {{{OUT}}} instead")
    out.write_bytes(ended.out)
    return out


def _text_of(file: Path) -> str:
    if file.is_dir():
        raise NoResultError(f"{{{OUT}}} became a folder, which only a reader (--reader) can take")
    with file.open("rb") as opened:
        content = opened.read(KEPT_OUT + 1)
    if len(content) > KEPT_OUT:
        raise NoResultError(f"it wrote more than {KEPT_OUT >> 20} MB to {{{OUT}}}, which is no result")
    return content.decode("utf-8", "replace")


def _signal_name(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


def last_words(err: bytes) -> str:
    """The last lines of standard error, in one line, to be put behind a reason; empty if there are none."""
    text = _COLOURS.sub("", err.decode("utf-8", "replace"))
    lines = [printable(" ".join(line.split())) for line in text.splitlines() if line.strip()][-LINES:]
    said = " | ".join(lines).rstrip(".")  # a sentence goes on behind it
    if not said:
        return ""
    return f"; it said: {said if len(said) <= CHARACTERS else '…' + said[-CHARACTERS:]}"
