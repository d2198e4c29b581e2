"""A file as a table of texts, refused in one sentence that names it."""

from noisewise.study.inputs.delimited import read_delimited
from noisewise.study.inputs.read_table import ReadTable
from noisewise.study.inputs.tables import ENDINGS, SEPARATORS, read_whole
from noisewise.study.readers.result_file import ResultFile


def table_of(file: ResultFile) -> ReadTable:
    """A table of any kind from a file; a text from standard input."""
    try:
        return _read(file, file.bytes())
    except (ValueError, OSError) as problem:
        if str(problem).startswith(str(file.refuse(""))):
            raise
        why = str(problem).removeprefix("`table`: ").replace("`table`", "it")
        raise file.refuse(why if why[-1] in ".?" else f"{why}.") from None


def _read(file: ResultFile, content: bytes) -> ReadTable:
    ending = "" if file.path is None else file.path.suffix.lower()
    if file.path is not None and ending in ENDINGS and ending not in SEPARATORS:
        return read_whole("table", file.path)
    file.text()  # refuses what is none
    return read_delimited("table", content, SEPARATORS.get(ending, ","), "the file")
