"""Arrays from a file that cannot be trusted: nothing is allocated that the file does not really hold.

`numpy.load` believes a file's own words: a header of a hundred bytes may announce an array of gigabytes, and
a compressed entry unfolds to a thousand times its size. What `policy.save` writes is never compressed, so
every entry must be as long in the file as its array.
"""

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

#: States have a few dozen arrays.
MOST_ARRAYS = 1000
#: Numbers, truth values and text: nothing that runs code when it is read.
PLAIN_KINDS = "biufU"
#: The longest header of an array that NumPy writes for plain numbers is far below this.
LONGEST_HEADER = 10_000


class DamagedFileError(Exception):
    """What is wrong with a file, in words that end a sentence."""


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an uncompressed ``.npz`` file by name."""
    size = path.stat().st_size
    with path.open("rb") as stream, zipfile.ZipFile(stream) as file:
        entries = file.infolist()
        if len(entries) > MOST_ARRAYS or len({entry.filename for entry in entries}) < len(entries):
            raise DamagedFileError("it holds more arrays than any policy, or some twice")
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise DamagedFileError("it is compressed, which policy.save never does")
        if sum(entry.file_size for entry in entries) > size:
            raise DamagedFileError("it announces more than it holds")
        return {entry.filename.removesuffix(".npy"): _array(file, entry) for entry in entries}


def _array(file: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    with file.open(entry) as stream:
        shape, by_columns, dtype = _announced(stream)
        if dtype.kind not in PLAIN_KINDS:
            raise DamagedFileError(f"{entry.filename!r} holds something else than numbers or text")
        content = stream.read()  # to the end, so that its checksum is compared
        count = math.prod(shape)
        if min(shape, default=0) < 0 or not dtype.itemsize or count * dtype.itemsize != len(content):
            raise DamagedFileError(f"{entry.filename!r} announces more or less than it holds")
        flat = np.frombuffer(content, dtype, count)
        return flat.reshape(shape, order="F" if by_columns else "C").copy()


def _announced(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(stream)
    read: Any = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read is None:
        raise DamagedFileError("it holds arrays of a format that policy.save never writes")
    shape, by_columns, dtype = read(stream, max_header_size=LONGEST_HEADER)
    return shape, by_columns, dtype
