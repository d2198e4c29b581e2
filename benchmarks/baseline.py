"""Work run under version 0.1.0, so that "relative to 0.1.0" is measured in the same run, on the same machine.

    old = baseline.run("benchmarks.starving", "race", "misfit", version=baseline.OLD)  # what it printed
    seconds = baseline.ratio("benchmarks.imports", "rows", 100_000, figure="seconds")  # old over new

A piece of work is a module or a Python file that works under both versions (so it uses the public names of
0.1.0 alone) and prints one line of JSON as its last. The code of 0.1.0 is taken out of the repository once
and kept in the user's cache folder; every use compares it with the commit, file by file. The modules of
`benchmarks` are the present ones under both versions.

``python -m benchmarks baseline`` checks all this.
"""

import functools
import hashlib
import io
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.timing import Row

COMMIT = "001ea245d176e942cbc9acc4d0befc2b22ffddea"
NEW, OLD = "new", "old"
ROOT = Path(__file__).parents[1]
#: What of the commit is taken out: the package, and what says which packages it was tested with.
TAKEN = ("src", "constraints.txt", "pyproject.toml", "README.md", "LICENSE")


class NoBaselineError(Exception):
    """Why there is no version 0.1.0 to compare with."""


class Baseline(NamedTuple):
    """The code of 0.1.0, and the Python that runs it."""

    tree: Path
    python: str
    packages: str  # where its dependencies come from, in words


class Ratio(NamedTuple):
    """One figure of the same work under both versions, measured in turn."""

    new: tuple[float, ...]
    old: tuple[float, ...]

    @property
    def all(self) -> tuple[float, ...]:
        """Old over new, turn by turn: how many times smaller the figure has become."""
        return tuple(old / new for new, old in zip(self.new, self.old, strict=True))

    @property
    def median(self) -> float:
        """The ratio that is reported."""
        return statistics.median(self.all)

    def __str__(self) -> str:
        spread = f" ({min(self.all):.3g} to {max(self.all):.3g})" if len(self.all) > 1 else ""
        return f"{self.median:.3g} x{spread}"


def run(
    work: str | Path, *arguments: Any, version: str = OLD, timeout: float | None = None
) -> dict[str, Any]:
    """What a piece of work prints as its last line, under one version.

    Args:
        work: A module ("benchmarks.starving") or a Python file.
        arguments: Its arguments, as on the command line.
        version: `NEW`, the code of this clone, or `OLD`, version 0.1.0.
        timeout: Seconds after which it is given up (`subprocess.TimeoutExpired`).
    """
    python, source = (sys.executable, ROOT / "src")
    if version == OLD:
        found = prepared()
        python, source = found.python, found.tree / "src"
    module = not str(work).endswith(".py")
    command = [python, "-P", *(["-m"] if module else []), str(work), *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, env=_environment(source), check=False
    )
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        raise RuntimeError(
            f"{work} {' '.join(map(str, arguments))} failed under the {version} version with "
            f"exit code {done.returncode}: {done.stderr.strip()[-2000:] or 'it printed nothing'}"
        )
    printed: dict[str, Any] = json.loads(lines[-1])
    return printed


def ratios(
    work: str | Path, *arguments: Any, figures: Sequence[str], times: int = 3, timeout: float | None = None
) -> dict[str, Ratio]:
    """Figures of a piece of work under both versions in turn (new, old, new, old, ...)."""
    ran = [
        [run(work, *arguments, version=version, timeout=timeout) for version in (NEW, OLD)]
        for _ in range(times)
    ]
    return {
        figure: Ratio(
            tuple(float(new[figure]) for new, _ in ran), tuple(float(old[figure]) for _, old in ran)
        )
        for figure in figures
    }


def ratio(
    work: str | Path, *arguments: Any, figure: str, times: int = 3, timeout: float | None = None
) -> Ratio:
    """One figure of them."""
    return ratios(work, *arguments, figures=[figure], times=times, timeout=timeout)[figure]


@functools.cache
def prepared() -> Baseline:
    """Version 0.1.0, ready to run: taken out of the repository and given its packages if need be."""
    home = cache_folder() / COMMIT[:12]
    tree = home / "tree"
    listed = _listed()
    if not _is_whole(tree, listed):
        _take_out(tree)
        if not _is_whole(tree, listed):
            raise NoBaselineError(
                f"what was taken out of commit {COMMIT[:7]} into {tree} is not what it has."
            )
    python, packages = _python(home, tree)
    found = subprocess.run(
        [python, "-P", "-c", "import noisewise; print(noisewise.__file__)"],
        capture_output=True, text=True, env=_environment(tree / "src"), check=True,
    ).stdout.strip()  # fmt: skip
    if not Path(found).resolve().is_relative_to(tree.resolve()):
        raise NoBaselineError(f"the package of 0.1.0 should come from {tree}; Python took {found}.")
    return Baseline(tree, python, packages)


def _environment(source: Path) -> dict[str, str]:
    """Which package is imported is decided here; `benchmarks` is the present one."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}


def cache_folder() -> Path:
    """Where code and results of 0.1.0 are kept."""
    root = os.environ.get("NOISEWISE_CACHE_DIR")
    if root is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
        root = str(Path(home) if home else Path.home() / ".cache")
    return Path(root) / "noisewise" / "baseline"


def _git(*arguments: str) -> bytes:
    try:
        return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise NoBaselineError(
            f"commit {COMMIT[:7]} (version 0.1.0) is not in {ROOT}, or that is no clone; a shallow clone has "
            "it after `git fetch --unshallow`."
        ) from None


def _listed() -> dict[str, str]:
    """The files of the commit that are taken out, and the hash git has for each."""
    lines = _git("ls-tree", "-r", "-z", COMMIT, "--", *TAKEN).decode().split("\0")
    rows = [line.partition("\t") for line in lines if line]
    return {path: about.split()[2] for about, _, path in rows}


def _is_whole(tree: Path, listed: dict[str, str]) -> bool:
    """Whether every file is there as the commit has it."""

    def hashed(path: Path) -> str:
        content = path.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()

    return all((tree / path).is_file() and hashed(tree / path) == name for path, name in listed.items())


def _take_out(tree: Path) -> None:
    """Beside it first: another process never sees half of it."""
    tree.parent.mkdir(parents=True, exist_ok=True)
    packed = _git("archive", "--format=tar", COMMIT, *TAKEN)
    with tempfile.TemporaryDirectory(dir=tree.parent) as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(Path(folder) / "new", filter="data")
        shutil.rmtree(tree, ignore_errors=True)
        (Path(folder) / "new").rename(tree)


def _python(home: Path, tree: Path) -> tuple[str, str]:
    """A Python with the packages that 0.1.0 was tested with, or the present one."""
    differing = _differing(tree)
    if not differing:
        return sys.executable, "the packages of this environment, which are those of its constraints.txt"
    own, stamp = home / "venv", home / "venv" / "complete"
    python = str(own / ("Scripts" if os.name == "nt" else "bin") / "python")
    if not stamp.exists():
        quiet: dict[str, Any] = {"check": True, "capture_output": True}
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", own], **quiet)
            subprocess.run([*pip, "--constraint", tree / "constraints.txt", f"{tree}[charts]"], **quiet)
            # The package itself comes from the tree, which is compared with the commit.
            subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "noisewise"], **quiet)
        except subprocess.CalledProcessError:
            return sys.executable, (
                f"the packages of this environment, because its own could not be installed; other versions "
                f"than in its constraints.txt: {', '.join(differing)}"
            )
        stamp.touch()
    return python, "an environment of its own, with the packages of its constraints.txt"


def _differing(tree: Path) -> list[str]:
    """The packages 0.1.0 needs whose version here is another one than its constraints.txt says."""
    wanted = dict(re.findall(r"^([\w.-]+)==(\S+)", (tree / "constraints.txt").read_text(), re.MULTILINE))
    needed = re.search(r"^dependencies = \[(.*?)^\]", (tree / "pyproject.toml").read_text(), re.M | re.S)
    names = re.findall(r'"([\w-]+)', needed[1]) if needed else []
    differing = []
    for name in names:
        try:
            here = metadata.version(name)
        except metadata.PackageNotFoundError:
            here = "none"
        if here != wanted.get(name):
            differing.append(f"{name} {here}, not {wanted.get(name)}")
    return differing


def main() -> None:
    """The work of the self-check: which package runs, and a sum that has nothing to do with it."""
    import timeit

    import noisewise as nw

    study = nw.create_study(options=["A", "B"], eps=0.5)
    for name, value in (("A", 1.0), ("B", 3.0)):
        study.tell(option=name, value=value, se=0.01)
    took = min(timeit.repeat("sum(range(200_000))", number=20, repeat=5))
    print(json.dumps({"file": nw.__file__, "best": study.certificate().option, "seconds": took}))


def rows() -> list[Row]:
    """Whether both versions are what they should be, and equal work is found equal."""
    found = prepared()
    ran = {version: run("benchmarks.baseline", version=version) for version in (NEW, OLD)}
    homes = {NEW: ROOT / "src", OLD: found.tree / "src"}
    wrong = sum(
        not Path(ran[version]["file"]).is_relative_to(home) or ran[version]["best"] != "B"
        for version, home in homes.items()
    )
    equal = ratio("benchmarks.baseline", figure="seconds")
    return [
        Row("baseline: versions that are not what they should be", wrong, "", 0, False, found.packages),
        Row("baseline: equal work, ratio away from 1", abs(equal.median - 1.0), "", 0.5, False, str(equal)),
    ]


if __name__ == "__main__":
    main()
