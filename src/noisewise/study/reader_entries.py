"""Result files of other tools, as a study takes them: read, converted to its unit, told whole."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from noisewise.study.table_entries import TableEntries, Unknown
from noisewise.study.telling.batch import Taken
from noisewise.study.telling.known_rows import Repeat

if TYPE_CHECKING:
    from noisewise.study.readers.readout import Readout
    from noisewise.study.readers.result_file import ResultFile
    from noisewise.study.telling.item_rows import TakenItems


class ReaderEntries(TableEntries):
    """Files that other tools wrote."""

    def import_from(
        self,
        files: "str | PathLike[str] | ResultFile | Sequence[str | PathLike[str] | ResultFile]",
        reader: str = "auto",
        *,
        only: str | None = None,
        called: str | None = None,
        block: str | None = None,
        unknown: Unknown = "refuse",
        match: bool = False,
        repeat: Repeat = False,
        amend: str | None = None,
        dry_run: bool = False,
        watch: Callable[[str, int, int], None] | None = None,
        **choices: Any,
    ) -> "Taken | TakenItems":
        """Take the result files of another tool; if one result is bad, nothing is taken.

        Results are known by the names and dates that the file gives them, or else by their content, so
        importing a file again is harmless.

        Args:
            files: A file, several, or a folder where the format is one.
            reader: Who wrote them (`noisewise.readers.names`); ``"auto"``: found by the look of the file.
            only: The options that are meant: a name, or several with commas; * stands for anything.
            called: What the only option of the file is called here: the version, say, that a benchmark ran
                with.
            block: The name of a block (a day, a machine, a run) that all of them were measured in.
            unknown: What becomes of options that are not in the catalogue: ``"refuse"``, ``"add"``,
                ``"skip"``.
            match: As in `tell_many`.
            repeat: As in `tell_many`.
            amend: As in `tell_many`.
            dry_run: Only look: nothing is told. The answer's ``understood`` shows what would be.
            watch: As in `tell_many`.
            choices: What the reader can be told, such as ``metric="acc"``; ``unit`` is the study's, if it has
                one, and values are converted to it.
        """
        readout = self.read_from(files, reader, only=only, called=called, block=block, **choices)
        return self.tell_many(
            readout, match=match, repeat=repeat, amend=amend, unknown=unknown, dry_run=dry_run, watch=watch
        )

    def read_from(
        self,
        files: Any,
        reader: str = "auto",
        *,
        only: str | None = None,
        called: str | None = None,
        block: str | None = None,
        **choices: Any,
    ) -> "Readout":
        """What `import_from` would tell: rows in the unit of this study."""
        from noisewise.study.readers.registry import choose, given_files, read

        files = given_files(files)
        chosen, unit = choose(files, reader), self.specification.unit
        asked = choices.get("unit")
        if unit is not None and asked is not None and asked != unit:
            raise ValueError(
                f"`unit` must be {unit!r}, in which the values of this study are; got {asked!r}."
            )
        if unit is not None and "unit" in chosen.choices:
            choices["unit"] = unit
        readout = read(files, chosen.name, **choices)
        readout = readout if only is None else readout.about(only)
        readout = readout if called is None else readout.called(called)
        return readout if block is None else readout.in_block(block)
