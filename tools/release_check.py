"""Would this tree make a good release? ``python -m tools.release_check [--tag v0.2.0]``.

Compares what the files say of the version, builds sdist and wheel from a copy of what git knows, looks into
both, installs each into an empty environment and uses it there, runs some of the tests that the sdist brings
along against the installed wheel, and resolves all extras. It needs the dependency group `release` and a
package index.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tools import archives, release_facts
from tools.sources import copy_of, tracked_files

ROOT = Path(__file__).parents[1]
#: What the sdist does without: checks by other places, and a script that tests in browsers use.
LEFT_OUT = (".ci/", ".github/", ".gitignore", ".pre-commit-config.yaml", "tests/vendor/")
#: Tests of the installed wheel: names, documentation, stores. The others are for `make test`.
SOME_TESTS = ("tests/test_front_door.py", "tests/study/stores/test_round_trips.py")
#: A study from nothing to its certificate, as README's commands have it; and whether each may end with 3.
COMMANDS = (
    ("demo", "--json"),
    ("init", "colours.db", "red", "green", "blue", "--eps", "0.5"),
    ("ask", "colours.db"),
    ("tell", "colours.db", "ask-1", "12.3", "--se", "0.4"),
    ("certify", "colours.db"),
    ("verify", "colours.db"),
)
NOT_YET = 3
Result = TypeVar("Result")


class FailedStepError(Exception):
    """A step did not do what it should; the message says which and what it printed."""


def run(*command: str | Path, cwd: Path, accepted: tuple[int, ...] = (0,)) -> str:
    """What a command prints, away from this environment; raises `FailedStepError` with its last lines."""
    apart = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=apart, capture_output=True, text=True, check=False
    )
    if done.returncode not in accepted:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise FailedStepError(f"`{' '.join(map(str, command))}` ended with {done.returncode}:\n{said}")
    return done.stdout


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel made from the sdist, so that a file missing there is missed."""
    run(sys.executable, "-m", "build", "--outdir", out, source, cwd=source)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return sdist, wheel


def empty_environment(folder: Path) -> Path:
    """The interpreter of a new environment with nothing in it but pip."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    python = folder / "bin" / "python"
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--upgrade",
        "pip>=25.1",
        cwd=folder,
    )
    return python


def use(python: Path, package: Path) -> list[str]:
    """Install an archive where nothing is, and do what the README says."""
    home = python.parents[1]
    work = home / "work"
    work.mkdir()
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package, cwd=work)
    run(python, "-m", "pip", "check", cwd=work)
    smoke = shutil.copy(ROOT / "tests" / "support" / "smoke.py", work)
    said = run(python, "-P", smoke, home, cwd=work).splitlines()[-1]
    for arguments in COMMANDS:
        run(
            home / "bin" / "noisewise",
            *arguments,
            cwd=work,
            accepted=(0, NOT_YET) if arguments[0] == "certify" else (0,),
        )
    number = run(home / "bin" / "noisewise", "--version", cwd=work).split()[-1]
    wanted = release_facts.version(ROOT)
    return (
        [] if number == wanted else [f"{package.name} says that it is {number}, and not {wanted} ({said})."]
    )


def test_installed(python: Path, sdist: Path, folder: Path) -> None:
    """Tests that the sdist brings along, on the package that is installed, and not on its sources."""
    shutil.unpack_archive(sdist, folder, filter="data")
    (source,) = folder.iterdir()
    shutil.rmtree(source / "src")
    tools = ("pytest", "hypothesis", "pandas", "pyarrow")
    given = ("--quiet", "--disable-pip-version-check", "--constraint", source / "constraints.txt")
    run(python, "-m", "pip", "install", *given, *tools, cwd=source)
    run(
        python,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "testpaths=tests",
        *SOME_TESTS,
        cwd=source,
    )


def resolve_extras(python: Path, wheel: Path) -> None:
    """All extras at once can be had together."""
    extras = ",".join(release_facts.project(ROOT)["project"]["optional-dependencies"])
    given = ("--quiet", "--disable-pip-version-check", "--dry-run")
    run(python, "-m", "pip", "install", *given, f"noisewise[{extras}] @ {wheel.as_uri()}", cwd=wheel.parent)


def look_into(sdist: Path, wheel: Path, tracked: list[str], places: list[str]) -> list[str]:
    """What is wrong with the content of both."""
    faults = []
    source, built = archives.read_sdist(sdist), archives.read_wheel(wheel)
    faults += archives.missing_from_sdist(source, tracked, LEFT_OUT)
    faults += archives.missing_from_wheel(built, tracked)
    for files, kind in ((source, "sdist"), (built, "wheel")):
        faults += archives.not_wanted(files, tracked, kind)
        faults += archives.paths_inside(files, places, kind)
        faults += archives.licences_inside(files, kind)
    return faults


class Steps:
    """Steps with their times; a failed one does not keep the next from being tried."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def do(self, title: str, step: Callable[[], Result]) -> Result | None:
        """Say what is done, do it, and collect what it finds."""
        began = time.monotonic()
        print(f"{title} ...", end=" ", flush=True)
        result, found = None, []
        try:
            result = step()
            found = result if isinstance(result, list) else []
        except FailedStepError as failed:
            found = [str(failed)]
        print(f"{'ok' if not found else 'NOT OK'} ({time.monotonic() - began:.0f} s)")
        for fault in found:
            print(f"  - {fault}")
        self.faults += found
        return result


def main() -> int:
    """All steps; 0 if nothing is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tag", default="", help="also check what must hold for the commit with this tag")
    parser.add_argument(
        "--keep", type=Path, help="copy the sdist and the wheel to this folder if all is well"
    )
    parser.add_argument("--facts", action="store_true", help="only compare what the files say")
    given = parser.parse_args()
    steps = Steps()
    steps.do("versions, Pythons, limits and licences agree", lambda: release_facts.faults_of(ROOT))
    if given.tag:
        steps.do(f"ready for the tag {given.tag}", lambda: release_facts.ready(ROOT, given.tag))
    if not given.facts:
        with tempfile.TemporaryDirectory(prefix="noisewise-release-") as folder:
            archives_and_use(steps, Path(folder), given.keep)
    for note in release_facts.notes(ROOT):
        print(f"note: {note}")
    print(f"{len(steps.faults)} faults" if steps.faults else "nothing is wrong")
    return 1 if steps.faults else 0


def archives_and_use(steps: Steps, folder: Path, keep: Path | None) -> None:
    """What needs the built archives."""
    tracked = tracked_files()
    source = copy_of(tracked, folder / "source")
    made = steps.do("sdist and wheel are built", lambda: build(source, folder / "dist"))
    if made is None:
        return
    sdist, wheel = made
    steps.do(
        "their metadata renders",
        lambda: run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel, cwd=folder),
    )
    places = [str(ROOT), str(folder)]
    steps.do("their content is complete, and nothing else", lambda: look_into(sdist, wheel, tracked, places))
    for package in (sdist, wheel):
        steps.do(
            f"{package.name} in an empty environment",
            lambda package=package: use(empty_environment(folder / package.suffix[1:]), package),
        )
    python = folder / "whl" / "bin" / "python"
    steps.do(
        "tests of the sdist on the installed wheel",
        lambda: test_installed(python, sdist, folder / "unpacked"),
    )
    steps.do("all extras resolve together", lambda: resolve_extras(python, wheel))
    if keep is not None and not steps.faults:
        keep.mkdir(parents=True, exist_ok=True)
        for package in (sdist, wheel):
            shutil.copy2(package, keep)
        print(f"kept in {keep}")


if __name__ == "__main__":
    sys.exit(main())
