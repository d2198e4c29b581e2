"""Machine code as data: what one worker compiled is handed to all others with its type of processor."""

import os
from pathlib import Path
from typing import NamedTuple

from noisewise.core.spreading.arithmetic import seen_by_llvm
from noisewise.simulation.cache_folder import private_folder
from noisewise.simulation.compilation import cache_root
from noisewise.simulation.run import Run

#: How the files of Numba end: the index is written last, when what it names is there.
ENDINGS = (".nbc", ".nbi")


class PackedCode(NamedTuple):
    """The files of a rule's machine code, and for which processor they are."""

    processor: tuple[str, str]
    folders: dict[str, dict[str, bytes]]  # by the hash of what they were made from

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(len(content) for files in self.folders.values() for content in files.values())


def compiled_code(run: Run) -> PackedCode:
    """Compile a run's loop, or find it on this disk, and pack it; a round of it shows the types."""
    loop = run.loop(compiled=True)
    run.replicate(0, loop, True, run.empty(1), rounds=1)
    folders = {}
    for code in loop.codes:
        if code.folder is not None:
            files = (file for file in sorted(code.folder.iterdir()) if file.suffix in ENDINGS)
            folders[code.directory.name] = {file.name: file.read_bytes() for file in files}
    return PackedCode(seen_by_llvm(), folders)


#: What this process has looked at already.
_installed: set[tuple[str, str, tuple[str, ...]]] = set()


def install_code(packed: PackedCode) -> None:
    """Put it where this process will look for it, unless it is there or of no use here."""
    if packed.processor != seen_by_llvm():
        return
    for name, files in packed.folders.items():
        known = str(cache_root()), name, tuple(files)
        if known not in _installed:
            _write(name, files)
            _installed.add(known)


def _write(name: str, files: dict[str, bytes]) -> None:
    folder = _folder(name)
    if folder is None:
        return
    for ending in ENDINGS:
        for file, content in files.items():
            if file.endswith(ending) and not (folder / file).exists():
                # Whole or not at all: another process may be about to read it.
                draft = folder / f"{file}.{os.getpid()}.draft"
                draft.write_bytes(content)
                draft.replace(folder / file)


def _folder(name: str) -> Path | None:
    """Where Numba looks for it here; all that is compiled comes from the room of this module."""
    directory = private_folder(cache_root(), "noisewise", name)
    if directory is None:
        return None
    from noisewise.core.compiler.machine_code import MachineCode
    from noisewise.simulation.behind import make_glue

    return MachineCode(make_glue, directory).folder
