"""Zip archives with JSON inside, of which no more is unpacked than a file may have; also with Zstandard."""

import importlib
import io
import struct
import zipfile
import zlib
from typing import Any

from noisewise.core.text import printable
from noisewise.study.readers.result_file import MOST_BYTES, JsonPart, ResultFile

#: The number of a way of packing in zip archives: Python knows it from 3.14 on.
ZSTANDARD = 93
_ENCRYPTED = 1
#: Bytes of all members that are read.
MOST_UNPACKED = 4 * MOST_BYTES
#: The fixed part of what precedes a member: its mark, and the lengths of name and extras at the end.
_BEFORE = struct.Struct("<4s22xHH")


class Archive:
    """A zip archive; members are read by name, and names are never used as paths."""

    def __init__(self, file: ResultFile) -> None:
        self.file, self._stream = file, file.stream()
        try:
            self._zip = zipfile.ZipFile(self._stream)
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, OSError):
            self._stream.close()
            raise file.refuse(
                "it is not a complete zip archive: is it cut off, or still being written?"
            ) from None
        self._unpacked = 0
        self.names = set(self._zip.namelist())

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._stream.close()

    def json(self, name: str) -> JsonPart:
        """A member as JSON."""
        return ResultFile(None, self._bytes(name), f"{self.file.name}: {name}").json()

    def _bytes(self, name: str) -> bytes:
        info = self._zip.getinfo(name)
        self._unpacked += info.file_size
        if self._unpacked > MOST_UNPACKED:
            raise self.file.refuse(
                f"its members have more than {MOST_UNPACKED >> 20:,} MB when they are unpacked: export fewer "
                "results into one file."
            )
        if info.file_size > MOST_BYTES:
            raise self._refuse(
                name,
                f"has {info.file_size / 1024**2:,.0f} MB, and at most {MOST_BYTES / 1024**2:,.0f} are read",
            )
        if info.flag_bits & _ENCRYPTED:
            raise self._refuse(name, "is encrypted")
        # Of these, no more is unpacked than is asked for; others are unpacked in pieces of any size.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD):
            raise self._refuse(name, "is packed in a way that is not read")
        try:
            if info.compress_type != ZSTANDARD:
                return self._zip.read(info)
            found = unpacked(self._packed(info), info.file_size)
        except ImportError:
            raise self._refuse(
                name,
                "is packed with Zstandard, which this Python cannot unpack: "
                "`pip install 'noisewise[inspect]'`, or write the log again with "
                "`inspect log convert --to json`",
            ) from None
        except Exception:  # whatever damaged bytes make of a decoder
            raise self._refuse(name, "cannot be unpacked: the archive is damaged") from None
        if len(found) != info.file_size or zlib.crc32(found) != info.CRC:
            raise self._refuse(name, "cannot be unpacked: the archive is damaged")
        return found

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        """The bytes of a member as they are stored."""
        self._stream.seek(info.header_offset)
        mark, name, extra = _BEFORE.unpack(self._stream.read(_BEFORE.size))
        if mark != b"PK\x03\x04" or info.compress_size > MOST_BYTES:
            raise zipfile.BadZipFile
        self._stream.seek(name + extra, io.SEEK_CUR)
        return self._stream.read(info.compress_size)

    def _refuse(self, name: str, why: str) -> ValueError:
        return self.file.refuse(f"{printable(name)!r} in it {why}.")


def unpacked(packed: bytes, size: int) -> bytes:
    """At most one byte more than ``size`` of what was packed with Zstandard, by whatever can unpack it."""
    stream: Any
    for module in ("compression.zstd", "backports.zstd"):
        if (found := _installed(module)) is not None:
            stream = found.ZstdFile(io.BytesIO(packed))
            return bytes(stream.read(size + 1))
    if (found := _installed("zstandard")) is not None:
        stream = found.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True)
        return bytes(stream.read(size + 1))
    if (found := _installed("pyarrow")) is not None:
        stream = found.CompressedInputStream(found.BufferReader(packed), "zstd")
        return bytes(stream.read(size + 1))
    raise ImportError


def _installed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None
