"""Writing a file whole or not at all."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


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
        handle, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    except PermissionError:
        raise PermissionError(
            f"`path` must be where you may write; the folder of {str(target)!r} is read-only for you: choose "
            "another one."
        ) from None
    os.close(handle)
    try:
        yield Path(name)
        # mkstemp makes files for the owner alone; a result is for everybody the folder is for.
        os.chmod(name, 0o666 & ~_umask())
        # First the content, then the name: after a power cut there is the old file or the new one, whole.
        sync(Path(name))
        os.replace(name, target)
        sync(target.parent)
    except BaseException:
        Path(name).unlink(missing_ok=True)
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


def _umask() -> int:
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
