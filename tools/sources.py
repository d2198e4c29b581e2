"""The sources as git knows them, in a folder of their own, without anything that was built before."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def tracked_files() -> list[str]:
    """The files that git knows, and new ones that it would not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).is_file()]


def copy_of(files: list[str], folder: Path) -> Path:
    """The folder, with these files in it."""
    for name in files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    return folder
