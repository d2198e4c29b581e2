"""The short suite with the lowest versions that pyproject.toml accepts: ``python -m tools.lowest``.

What the package and its extras ask for is installed at the lower end of its range, each name at the highest
of its lower ends where several extras have one; the tools of the tests at the newest version that goes with
those. All of it goes into an environment of its own, and the package is installed, not linked.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.sources import ROOT, copy_of, tracked_files

HOME = ROOT / "build" / "lowest"


def lower_ends(project: dict[str, Any]) -> dict[str, Requirement]:
    """The requirements of the package and of all extras, each pinned to the lowest version it accepts."""
    wanted = [*project["dependencies"]]
    for extra in project.get("optional-dependencies", {}).values():
        wanted += extra
    lowest: dict[str, tuple[Version, Requirement]] = {}
    for text in wanted:
        asked = Requirement(text)
        name = canonicalize_name(asked.name)
        ends = [Version(part.version) for part in asked.specifier if part.operator in (">=", "==", "~=")]
        if not ends:
            raise ValueError(f"pyproject.toml must say the lowest version of {asked.name}; it has {text!r}.")
        if name not in lowest or max(ends) > lowest[name][0]:
            lowest[name] = max(ends), asked
    return {name: _pinned(asked, end) for name, (end, asked) in sorted(lowest.items())}


def _pinned(asked: Requirement, version: Version) -> Requirement:
    extras = f"[{','.join(sorted(asked.extras))}]" if asked.extras else ""
    marker = f"; {asked.marker}" if asked.marker else ""
    return Requirement(f"{asked.name}{extras}=={version}{marker}")


def other_tools(groups: dict[str, Any], without: Iterable[str]) -> list[str]:
    """What the tests need beside the package, at any version that goes with the lowest ones."""
    ours = set(without)
    return [text for text in groups["test"] if canonicalize_name(Requirement(text).name) not in ours]


def requirements() -> list[str]:
    """Lines of a requirements file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lowest = lower_ends(project["project"])
    return [*map(str, lowest.values()), *other_tools(project["dependency-groups"], lowest)]


def _run(*command: str | Path) -> None:
    print("$", shlex.join(map(str, command)), flush=True)
    # No other copy of the package, nor libraries beside those of the environment.
    apart = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    subprocess.run(list(map(str, command)), cwd=ROOT, check=True, env=apart)


def main() -> int:
    """Make the environment, install, test."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", default=sys.executable, help="the interpreter; default: this one")
    parser.add_argument("--show", action="store_true", help="print the versions and end")
    parser.add_argument("tests", nargs="*", help="which tests; default: the short suite")
    given = parser.parse_args()
    lines = requirements()
    if given.show:
        print("\n".join(lines))
        return 0
    python = HOME / "bin" / "python"
    try:
        _run(given.python, "-m", "venv", "--clear", HOME)
        (HOME / "requirements.txt").write_text("\n".join(lines) + "\n", "utf-8")
        install = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        _run(*install, "--upgrade", "pip>=25.1")
        _run(*install, "--requirement", HOME / "requirements.txt")
        with tempfile.TemporaryDirectory(prefix="noisewise-lowest-") as folder:
            _run(*install, "--no-deps", copy_of(tracked_files(), Path(folder)))
        _run(python, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", *given.tests)
    except subprocess.CalledProcessError as failed:
        print(
            f"\nThe lowest versions do not work: `{shlex.join(failed.cmd)}` ended with {failed.returncode}."
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
