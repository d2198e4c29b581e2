"""What lies in an sdist or a wheel: all that is needed, nothing else, no path of the builder's machine."""

import re
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

#: Files of the sources that a wheel does without: what the extension is compiled from.
COMPILED_FROM = re.compile(r"^noisewise/core/native/source/")
LEFT_OVER = re.compile(r"(^|/)(__pycache__|\.git|\.venv|build|dist)(/|$)|\.py[co]$")
#: Homes of people; those of pages are examples.
OF_A_PERSON = re.compile(rb"/(?:home|Users)/(?!ann/)[A-Za-z][\w.-]*/|/roo[t]/")


def read_wheel(path: Path) -> dict[str, bytes]:
    """Its files by their names."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def read_sdist(path: Path) -> dict[str, bytes]:
    """Its files by their names, without the folder that holds all of them."""
    found = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            if member.isfile():
                file = archive.extractfile(member)
                assert file is not None
                found[member.name.partition("/")[2] or member.name] = file.read()
            elif not member.isdir():
                raise ValueError(f"{path.name} must hold files and folders only; {member.name} is a link.")
    return found


def missing_from_sdist(
    files: Mapping[str, bytes], tracked: Iterable[str], left_out: Iterable[str]
) -> list[str]:
    """Files of the repository that the sdist lacks, apart from those below the folders that are left out."""
    without = tuple(left_out)
    return [
        f"the sdist lacks {name}." for name in tracked if name not in files and not name.startswith(without)
    ]


def missing_from_wheel(files: Mapping[str, bytes], tracked: Iterable[str]) -> list[str]:
    """Files of the package that the wheel lacks."""
    package = [name.removeprefix("src/") for name in tracked if name.startswith("src/")]
    return [
        f"the wheel lacks {name}." for name in package if name not in files and not COMPILED_FROM.match(name)
    ]


def not_wanted(files: Mapping[str, bytes], tracked: Iterable[str], kind: str) -> list[str]:
    """Files that are no part of the package, are left over from a build, or lie outside of the archive."""
    known, faults = set(tracked), []
    for name in files:
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or "\\" in name:
            faults.append(f"the {kind} has a file outside of its folder: {name}.")
        elif LEFT_OVER.search(name):
            faults.append(f"the {kind} has a file that is left over: {name}.")
        elif kind == "wheel":
            made = parts[0].endswith(".dist-info") or re.search(r"/_verbs[^/]*\.(so|pyd)$", name)
            if not made and f"src/{name}" not in known:
                faults.append(f"the wheel has a file that the repository does not have: {name}.")
        elif name not in known and parts[0] not in ("PKG-INFO", "setup.cfg") and ".egg-info" not in name:
            faults.append(f"the sdist has a file that the repository does not have: {name}.")
    return faults


def paths_inside(files: Mapping[str, bytes], places: Iterable[str], kind: str) -> list[str]:
    """Files that name a folder of the machine that built them, or the home of a person."""
    faults = []
    for name, content in files.items():
        # Pages and tests may speak of /tmp, compiled files may not; these may name Python's own libraries.
        compiled = name.endswith((".so", ".pyd"))
        own = [*places, f"{tempfile.gettempdir()}/"] if compiled else places
        found = [place for place in own if place.encode() in content]
        if not compiled and (match := OF_A_PERSON.search(content)):
            found.append(match[0].decode())
        faults += [
            f"{name} in the {kind} names the folder {place} of the machine that made it." for place in found
        ]
    return faults


def licences_inside(files: Mapping[str, bytes], kind: str) -> list[str]:
    """Folders of vendored files, of which each must have its licence beside it."""
    folders = {match[1] for name in files if (match := re.match(r"(.*/vendor/[^/]+)/[^/]+$", name))}
    faults = [
        f"the {kind} has files of others without their licence: {folder}."
        for folder in sorted(folders)
        if f"{folder}/LICENSE" not in files
    ]
    own = "LICENSE" if kind == "sdist" else r".dist-info/licenses/LICENSE"
    if not any(name == own or name.endswith(own) for name in files):
        faults.append(f"the {kind} lacks our own LICENSE.")
    return faults
