"""What the files of a release say of it must agree: versions, headings, Pythons, limits, links, licences.

Each function takes the folder of the project and returns faults, as sentences; `notes` returns what a release
should have and a reader should know, without stopping it.
"""

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

#: A heading of the changelog: `## 0.2.0`, `## 0.2.0 (2026-11-17)` or `## Unreleased`.
RELEASE = re.compile(r"^## (Unreleased|\d+\.\d+\.\d+\S*)(?: .*)?$", re.MULTILINE)
#: The part for the next release, unless it is empty.
UNRELEASED = re.compile(r"^## Unreleased\n+(?!## )\S", re.MULTILINE)
CLASSIFIED = re.compile(r"Programming Language :: Python :: (3\.\d+)")
#: Links that only work where the repository is shown: neither an address nor a place on the same page.
RELATIVE = re.compile(r"\]\((?!https?://|mailto:|#)([^)]+)\)")
SPDX = {"0BSD", "MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC"}


def project(root: Path) -> dict[str, Any]:
    """All of pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text("utf-8"))


def version(root: Path) -> str:
    """What pyproject.toml says."""
    return str(project(root)["project"]["version"])


def _found(pattern: str, root: Path, name: str) -> str | None:
    path = root / name
    match = re.search(pattern, path.read_text("utf-8"), re.MULTILINE) if path.exists() else None
    return match[1] if match else None


def versions(root: Path) -> list[str]:
    """The version is the same everywhere it is written, and the changelog and the upgrade notes know it."""
    here = version(root)
    said = {
        "src/noisewise/core/version.py": _found(
            r'^__version__ = "(.+)"$', root, "src/noisewise/core/version.py"
        ),
        "CITATION.cff": _found(r"^version: (\S+)$", root, "CITATION.cff"),
    }
    faults = [
        f"{name} must say the version of pyproject.toml, {here}; it says {other}."
        for name, other in said.items()
        if other != here
    ]
    headings = RELEASE.findall((root / "CHANGELOG.md").read_text("utf-8"))
    released = [heading for heading in headings if heading != "Unreleased"]
    if released[:1] != [here]:
        newest = released[0] if released else "none"
        faults.append(f"the newest version in CHANGELOG.md must be {here}; it is {newest}.")
    return faults


def ready(root: Path, tag: str) -> list[str]:
    """What must hold for the commit that a tag names, and not before."""
    here, faults = version(root), []
    if tag != f"v{here}":
        faults.append(f"the tag must be v{here}, as pyproject.toml says; got {tag}.")
    if re.search(UNRELEASED, (root / "CHANGELOG.md").read_text("utf-8")):
        faults.append(f"CHANGELOG.md still has lines under `## Unreleased`; they belong under `## {here}`.")
    if _found(r"^date-released: (\S+)$", root, "CITATION.cff") is None:
        faults.append("CITATION.cff must have a line `date-released: YYYY-MM-DD`.")
    return faults


def pythons(root: Path) -> list[str]:
    """The classifiers, the workflow and the page on versions name the same Pythons, all of them accepted."""
    about = project(root)["project"]
    classified = [match[1] for text in about["classifiers"] if (match := CLASSIFIED.fullmatch(text))]
    faults = [
        f"the classifier of Python {each} contradicts requires-python = {about['requires-python']!r}."
        for each in classified
        if each not in SpecifierSet(about["requires-python"])
    ]
    if not classified:
        faults.append("pyproject.toml must have a classifier for every Python that is tested.")
    matrix = _found(r"^\s+python: \[(.*)\]", root, ".github/workflows/ci.yml") or ""
    tested = re.findall(r"3\.\d+", matrix)
    if tested != classified:
        faults.append(f".github/workflows/ci.yml tests Python {tested}; the classifiers are {classified}.")
    row = _found(r"^\| Python \| ([^|]*) \|", root, "docs/quickstart.md") or ""
    if re.findall(r"3\.\d+", row) != classified:
        faults.append(f"docs/quickstart.md says Python {row!r}; the classifiers are {classified}.")
    return faults


def limits(root: Path) -> list[str]:
    """Every requirement has a lower end, tested versions lie in their ranges, and NumPy's is on the page."""
    about, faults = project(root), []
    groups = [about["project"]["dependencies"], *about["project"]["optional-dependencies"].values()]
    groups += [
        [text for text in group if isinstance(text, str)] for group in about["dependency-groups"].values()
    ]
    lines = (root / "constraints.txt").read_text("utf-8").splitlines()
    tested = {}
    for line in lines:
        if line and not line.startswith("#"):
            name, _, number = line.partition("==")
            tested[canonicalize_name(name)] = number
    for text in (text for group in groups for text in group):
        asked = Requirement(text)
        if not any(part.operator in (">=", "==", "~=") for part in asked.specifier):
            faults.append(f"pyproject.toml must say the lowest version of {asked.name}; it has {text!r}.")
        number = tested.get(canonicalize_name(asked.name))
        if number is not None and not asked.specifier.contains(number, prereleases=True):
            faults.append(
                f"constraints.txt has {asked.name} {number}, which pyproject.toml refuses: {text!r}."
            )
    row = _found(r"^\| NumPy \| (\S+) and newer \|", root, "docs/quickstart.md")
    numpy = next(Requirement(text) for text in groups[0] if Requirement(text).name == "numpy")
    if f">={row}" not in str(numpy.specifier).split(","):
        faults.append(f"docs/quickstart.md says NumPy {row}; pyproject.toml says {numpy}.")
    return faults


def licences(root: Path) -> list[str]:
    """The licences of vendored files of the package are named, and their texts go along."""
    about, faults = project(root)["project"], []
    named = set(re.split(r" AND | OR ", about["license"]))
    shipped = {path for pattern in about["license-files"] for path in root.glob(pattern)}
    for folder in vendored(root):
        here, table = folder.relative_to(root).as_posix(), folder.parent / "README.md"
        if not (folder / "LICENSE").exists():
            faults.append(f"{here} must have the file LICENSE of what lies there.")
        elif folder / "LICENSE" not in shipped:
            faults.append(f"`license-files` in pyproject.toml must match {here}/LICENSE.")
        row = re.search(rf"^\| `{folder.name}` \|.*$", table.read_text("utf-8"), re.MULTILINE)
        said = [word for word in re.split(r"[ |`]+", row[0]) if word in SPDX] if row else []
        if not said:
            faults.append(f"{table.relative_to(root).as_posix()} must say the licence of `{folder.name}`.")
        faults += [
            f"`license` in pyproject.toml must name {word}, for {here}; it is {about['license']}."
            for word in said
            if word not in named
        ]
    return faults


def vendored(root: Path) -> list[Path]:
    """Folders with files of others that are part of the package."""
    homes = (root / "src").rglob("vendor")
    return sorted(folder for home in homes for folder in home.iterdir() if folder.is_dir())


def notes(root: Path) -> list[str]:
    """What is missing and cannot be made up: it does not stop a check."""
    about, said = project(root)["project"], []
    if not about.get("urls"):
        said.append(
            "`[project.urls]` is not there: pyproject.toml says where the address goes once it is known."
        )
        if _found(r"^repository-code: (\S+)$", root, "CITATION.cff") is None:
            said.append("CITATION.cff has no `repository-code`, for the same reason.")
        links = RELATIVE.findall((root / "README.md").read_text("utf-8"))
        if links:
            said.append(f"README.md has {len(links)} relative links, which the package page cannot follow.")
    return said


CHECKS: tuple[Callable[[Path], list[str]], ...] = (versions, pythons, limits, licences)


def faults_of(root: Path, checks: Iterable[Callable[[Path], list[str]]] = CHECKS) -> list[str]:
    """The faults of all checks."""
    return [fault for check in checks for fault in check(root)]
