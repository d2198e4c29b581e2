"""Files: written whole or not at all; and a hash of our sources, by which kept results are recognised."""

import functools
import hashlib
import os
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

#: How the names of drafts end.
DRAFT = ".draft"


def as_path(path: Any) -> Path:
    """A path as people hand it in."""
    if not isinstance(path, str | os.PathLike) or not str(path).strip():
        raise TypeError(f"`path` must be the name of a file; got {path!r}.")
    return Path(path)


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A draft beside ``target`` to write to; it takes the target's place when the block ends well."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"`path` must be in a folder that exists; got {str(target)!r}.")
    try:
        draft = new_draft(target)
    except PermissionError:
        raise PermissionError(
            f"`path` must be where you may write; the folder of {str(target)!r} is read-only for you: choose "
            "another one."
        ) from None
    try:
        yield draft
        # First the content, then the name: after a power cut there is the old file or the new one, whole.
        sync(draft)
        os.replace(draft, target)
        sync(target.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def save_arrays(target: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays as ``.npz``, whole or not at all; what only a pickle could hold is refused."""
    import numpy as np

    # Not `savez(allow_pickle=False)`: NumPy 2.0 takes that for one more array.
    for name, values in arrays.items():
        if np.asarray(values).dtype.hasobject:
            raise ValueError(f"`{name}` must be an array of numbers or texts; got objects.")
    with written_whole(target) as draft, draft.open("wb") as file:
        np.savez(file, **arrays)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk, where the system offers that."""
    folder = path.is_dir()
    try:
        handle = os.open(path, os.O_RDONLY if folder or os.name != "nt" else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        # Not every system opens folders, not every file system syncs them; a file must be written.
        if not folder:
            raise


def new_draft(target: Path) -> Path:
    """An empty file beside ``target``, after removing drafts in the folder whose writers were killed.

    `mkstemp` would make it for the owner alone, and the mask of permissions can only be read by changing it
    for all threads.
    """
    machine = sha256(socket.gethostname().encode()).hexdigest()[:8]
    for old in target.parent.glob(f".*-{machine}-*{DRAFT}"):
        process = old.name.removesuffix(DRAFT).split("-")[-2]
        if process.isdecimal() and not _is_alive(int(process)):
            for ending in ("-journal", "-wal", "-shm", ""):  # what SQLite leaves beside one
                with suppress(OSError):
                    old.with_name(old.name + ending).unlink()
    own = f"{machine}-{os.getpid()}-{secrets.token_hex(4)}{DRAFT}"
    draft = target.parent / f".{target.name[:40]}-{own}"
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    return draft


def _is_alive(process: int) -> bool:
    """Whether a process of this machine runs; where that cannot be asked, it is taken to run."""
    if os.name == "nt":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


PACKAGE = Path(__file__).parents[1]
#: Python, and the verbs in C; where the package is installed, only the first of them are there.
ENDINGS = (".py", ".c", ".h")


@functools.cache
def sources_hash(rooms: Sequence[str], *others: Path) -> str:
    """A hash of all sources in some rooms, and of other files.

    Args:
        rooms: Folders of this package, such as ``("core", "actions")``.
        others: Files of other packages.
    """
    digest = hashlib.sha256()
    for room in rooms:
        for path in sorted((PACKAGE / room).rglob("*")):
            if path.suffix in ENDINGS:
                digest.update(path.relative_to(PACKAGE).as_posix().encode())
                digest.update(path.read_bytes())
    for path in others:
        digest.update(path.name.encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()[:20]
