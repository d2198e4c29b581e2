"""Install version 0.2.0, from its commit, in an environment of its own: ``python -m tools.oracle``.

Tests feed the same events to it and to the current tree (`tests/golden/test_oracle.py`). It goes to
build/oracle, and is made again only if the commit or this version of Python changes.
"""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from tools.sources import ROOT

#: The commit of 0.2.0.
COMMIT = "c985a8dc59bc3b7b5fe9ccd3aa33b035f624d871"
#: Plays cases with the interface of 0.2.0.
PLAYER = ROOT / "tests" / "golden" / "oracle_player.py"
#: What is needed of 0.2.0.
PARTS = ("src", "pyproject.toml", "setup.py", "README.md", "LICENSE", "MANIFEST.in", "constraints.txt")
HOME = ROOT / "build" / "oracle"
PYTHON = HOME / "venv" / "bin" / "python"
STAMP = HOME / "installed"


class NoOracleError(RuntimeError):
    """0.2.0 cannot be installed; the message says why and what to do."""


def wanted() -> str:
    """What the stamp says if the environment is up to date."""
    return f"{COMMIT} Python {sys.version.split()[0]}\n"


def make_oracle() -> Path:
    """The Python of the environment, which is made if need be."""
    if STAMP.exists() and STAMP.read_text() == wanted() and PYTHON.exists():
        return PYTHON
    check_commit()
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    source, archive = HOME / "source", HOME / "source.tar"
    run("git", "-C", str(ROOT), "archive", "--output", str(archive), COMMIT, *PARTS)
    with tarfile.open(archive) as files:
        files.extractall(source, filter="data")
    archive.unlink()
    run(sys.executable, "-m", "venv", str(HOME / "venv"))
    install = (str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    constraints = ("--constraint", str(source / "constraints.txt"))
    run(*install, *constraints, "setuptools", "numpy")
    run(*install, *constraints, "--no-build-isolation", str(source))
    STAMP.write_text(wanted())
    return PYTHON


def check_commit() -> None:
    """Refuse a clone without the commit."""
    found = subprocess.run(
        ["git", "-C", str(ROOT), "cat-file", "-e", f"{COMMIT}^{{commit}}"], capture_output=True, text=True
    )
    if found.returncode:
        raise NoOracleError(
            f"commit {COMMIT[:8]} (version 0.2.0) is not in the history of this clone, which is probably "
            "shallow: fetch the rest with `git fetch --unshallow`, then run `make oracle` again."
        )


def run(*command: str) -> str:
    """Run a command and return its output; if it fails, say which, and how its output ends."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as missing:
        raise NoOracleError(f"{command[0]} is not installed, and is needed to install 0.2.0.") from missing
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-5:])
        raise NoOracleError(f"0.2.0 cannot be installed in {HOME}: `{' '.join(command)}` failed:\n{last}")
    return done.stdout


def main() -> int:
    """Make the environment, and say where it is."""
    try:
        print(f"0.2.0 is installed in {make_oracle().parents[1]}")
    except NoOracleError as problem:
        print(f"make oracle: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
