"""`check_reader`: a reader reads its good file, and has one clear sentence for whatever else it is given.

A reader of your own is fit for use if it passes. Each check raises AssertionError with a sentence.
"""

import math
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from noisewise.study.creation import create_study
from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import ROW_FIELDS, Readout
from noisewise.study.readers.registry import get, read_one
from noisewise.study.readers.result_file import ResultFile
from noisewise.testing.damaged_files import GARBAGE, damaged

#: The longest sentence that a person reads.
LONGEST = 700


class ReaderCase(NamedTuple):
    """A reader with a good file, and what a study needs to be told it."""

    reader: Reader
    path: Path
    choices: Mapping[str, Any]
    study: Mapping[str, Any]

    def read(self, content: bytes | None = None) -> Readout:
        """What it makes of the file, or of another content in its place."""
        file = ResultFile(self.path, self.path.read_bytes() if content is None else content, self.path.name)
        return read_one(self.reader, file, self.choices)

    def refusal(self, content: bytes) -> str | None:
        """Why a content is refused, which must be one clear sentence; None if it is read."""
        try:
            self.read(content)
        except ValueError as problem:
            said = str(problem)
        else:
            return None
        assert "\n" not in said, f"a refusal must be one sentence; got {said!r}."
        assert len(said) < LONGEST, f"a refusal must be short; got {len(said)} characters: {said[:100]!r}…"
        assert said.endswith((".", "?")), f"a refusal must be a whole sentence; got {said!r}."
        assert self.path.name in said, f"a refusal must name the file; got {said!r}."
        failed = f"the reader {self.reader.name!r} failed"
        assert failed not in said, f"a reader must refuse a bad file in words of its own; got {said!r}."
        return said


def check_reader(
    reader: Reader | str,
    path: str | PathLike[str],
    *,
    study: Mapping[str, Any] | None = None,
    **choices: Any,
) -> None:
    """Run every check on a reader, with a good file of its format.

    Args:
        reader: The reader, or its name.
        path: The file; it is mutated in many ways, never on the disk.
        study: What `create_study` needs beyond options to be told it, such as ``{"bounds": (0, 1)}``.
        choices: Of the reader.
    """
    found = reader if isinstance(reader, Reader) else get(reader)
    case = ReaderCase(found, Path(path), choices, {"eps": 0.1, **(study or {})})
    for check in READER_CHECKS:
        check(case)


def check_a_good_file_becomes_rows_that_tell_takes(case: ReaderCase) -> None:
    """Rows have fields of `tell`, and a study can be made of them."""
    readout = case.read()
    assert readout.rows, "a good file must have rows."
    for row in readout.rows:
        strange = set(row.fields) - set(ROW_FIELDS)
        assert not strange, f"{row.place}: {sorted(strange)} is not a field of tell."
        assert row.place, "every row must have a place in the file."
    made = create_study(":memory:", results=readout, **case.study)
    assert made.n_measurements > 0, "a good file must become measurements."
    assert set(made.options) == set(readout.options), "the options must be those of the file."


def check_a_file_that_is_told_again_changes_nothing(case: ReaderCase) -> None:
    """Telling a file again is harmless."""
    made = create_study(":memory:", results=case.read(), **case.study)
    before = made.frame("measurements")
    taken = made.tell_many(case.read())
    assert not len(taken), "all rows of a file must be known when it comes again."
    assert made.frame("measurements").equals(before), "a file that comes again must change no measurement."


def check_its_own_file_looks_like_one(case: ReaderCase) -> None:
    """A good file is recognised."""
    own = ResultFile(case.path, case.path.read_bytes(), case.path.name)
    assert case.reader.looks_like(own), "looks_like must be true for a good file."


def check_damage_gets_one_sentence_or_can_be_told(case: ReaderCase) -> None:
    """A file that is wrong in one place is refused, or what is read of it can be told or refused."""
    for what, content in damaged(case.path.read_bytes()):
        try:
            if case.refusal(content) is None:
                _check_usable(case, case.read(content))
        except Exception as problem:
            problem.add_note(f"The file was damaged: {what}.")
            raise


def _check_usable(case: ReaderCase, readout: Readout) -> None:
    for row in readout.rows:
        numbers = [part for part in row.fields.values() if isinstance(part, float)]
        numbers += row.fields.get("values", [])
        assert all(math.isfinite(number) for number in numbers), f"{row.place}: a number must be finite."
    tried, refused = create_study(":memory:", options=["an option"], **case.study), ""
    try:
        tried.tell_many(readout, unknown="add", dry_run=True)
    except (ValueError, KeyError, TypeError) as problem:
        refused = str(problem)
    assert "\n" not in refused, f"a refusal must be one sentence; got {refused}."


def check_garbage_gets_one_sentence(case: ReaderCase) -> None:
    """A file without results is refused, unless the reader takes nearly anything."""
    for content in GARBAGE:
        case.refusal(content)


def check_line_ends_and_marks_change_nothing(case: ReaderCase) -> None:
    """A text may have the line ends of another system, a mark at its beginning and blanks at its end."""
    content = case.path.read_bytes()
    if b"\x00" in content:
        return  # no text
    rows, plain = case.read().rows, content.replace(b"\r\n", b"\n")
    for other in (b"\xef\xbb\xbf" + plain, plain.replace(b"\n", b"\r\n"), plain.rstrip() + b"\n\n"):
        assert case.read(other).rows == rows, "line ends and marks of other systems must change nothing."


#: What `check_reader` runs.
READER_CHECKS: tuple[Callable[[ReaderCase], None], ...] = (
    check_a_good_file_becomes_rows_that_tell_takes,
    check_a_file_that_is_told_again_changes_nothing,
    check_its_own_file_looks_like_one,
    check_damage_gets_one_sentence_or_can_be_told,
    check_garbage_gets_one_sentence,
    check_line_ends_and_marks_change_nothing,
)
