"""Result files of other tools as measurements: `read` them, ask for `names`, or bring a `Reader` of your own.

A reader is a `Reader`: a function from a `ResultFile` to a `Readout`, which holds rows (`ReadRow`) with the
fields of `tell`. Parts of JSON are a `JsonPart`, which names its place in every refusal; `TimeScale` converts
units of time. See docs/tables.md.
"""

from noisewise.study.readers.reader import Reader
from noisewise.study.readers.readout import ROW_FIELDS, Readout, ReadRow
from noisewise.study.readers.registry import BrokenReaderWarning, get, likely, names, read, register
from noisewise.study.readers.result_file import JsonPart, ResultFile
from noisewise.study.readers.shared import TimeScale

__all__ = [
    "ROW_FIELDS",
    "BrokenReaderWarning",
    "JsonPart",
    "ReadRow",
    "Reader",
    "Readout",
    "ResultFile",
    "TimeScale",
    "get",
    "likely",
    "names",
    "read",
    "register",
]
