"""A folder for machine code that no other user can write to: what is read back from it is run.

Numba keeps machine code as pickles, which execute whatever their author put in. So the folders are made for
the owner alone, and a folder or file that another user owns or may write to is not read.
"""

import os
import stat
import tempfile
import warnings
from pathlib import Path

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
OPEN_TO_OTHERS = stat.S_IXGRP | stat.S_IXOTH


def private_folder(root: Path, *names: str) -> Path | None:
    """The folder ``root/names…``, made if it is missing; None, often with a warning, if unusable."""
    folder = root
    try:
        root.mkdir(parents=True, exist_ok=True)
        doubt = _doubt_about_root(root)
        for name in names:
            folder = folder / name
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
            doubt = doubt or _doubt_about(folder, writable_matters=True)
        doubt = doubt or _doubt_within(folder)
        if not doubt:
            with tempfile.TemporaryFile(dir=folder):
                return folder
    except OSError:
        return None
    warnings.warn(
        f"Compiled rules are not cached, so every run compiles them again: {doubt}, and what is read from a "
        "cache is executed; remove it, or name another folder in NOISEWISE_CACHE_DIR.",
        stacklevel=2,
    )
    return None


def _doubt_about_root(root: Path) -> str:
    """Where others may rename what is ours, they may exchange it after we have looked."""
    found = root.stat()
    shared = found.st_mode & WRITABLE_BY_OTHERS and not found.st_mode & stat.S_ISVTX
    return f"{str(root)!r} may be written to by others" if shared and _has_owners() else ""


def _doubt_about(path: Path, *, writable_matters: bool) -> str:
    """Why what is in a file or folder may be another user's; empty if it cannot be."""
    if not _has_owners():
        return ""
    # A link counts like what it points to: that of another user may point elsewhere tomorrow.
    for found in (path.lstat(), path.stat()):
        if found.st_uid != os.geteuid():
            return f"{str(path)!r} belongs to another user (number {found.st_uid})"
        if writable_matters and not stat.S_ISLNK(found.st_mode) and found.st_mode & WRITABLE_BY_OTHERS:
            return f"{str(path)!r} may be written to by others"
    return ""


def _doubt_within(folder: Path) -> str:
    """The same for all that is in a folder; rights to write matter if other users can get there at all."""
    reachable = bool(folder.stat().st_mode & OPEN_TO_OTHERS)
    doubts = (_doubt_about(path, writable_matters=reachable) for path in folder.rglob("*"))
    return next((doubt for doubt in doubts if doubt), "")


def _has_owners() -> bool:
    return hasattr(os, "geteuid")  # not on Windows, where a user's folders are the user's
