"""Print the size of the package against its targets: `make size`.

Code lines are counted without blank lines, comments and docstrings. A call path is the number of modules
whose functions are called, found with a profiler hook in a new process.
"""

import ast
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "noisewise"
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

TARGETS = {
    "Python": 40_000,
    "C": 2_800,
    "modules": 300,
    "tests": 27_000,
    "words of docs": 60_000,
    "pages of docs": 32,
    "load + tell + certificate": 35,
    "simulate": 30,
    "optimal_design": 15,
}


def code_lines(source: str) -> int:
    """Lines of Python without blank lines, comments and docstrings."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines = enumerate(source.splitlines(), 1)
    return sum(
        1 for number, line in lines if number not in docstrings and line.strip() and line.strip()[0] != "#"
    )


def c_lines(source: str) -> int:
    """Lines of C without blank lines and comments that fill whole lines."""
    count, inside = 0, False
    for line in map(str.strip, source.splitlines()):
        opens, comment = line.startswith("/*"), inside
        inside = (inside or opens) and "*/" not in line
        count += bool(line) and not (opens or comment or line.startswith("//"))
    return count


def tracked(folder: str, *endings: str) -> list[Path]:
    """Files of a folder that git knows or would not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if name.endswith(endings) and (ROOT / name).is_file()]


#: What is called, after the imports of a script have run.
CALLS = {
    "load + tell + certificate": """
study = nw.load_study(place)
study.tell(option="A", value=1.0, se=0.5)
study.certificate()
""",
    "simulate": """
instance = nw.instances.soare(6)
environment = instance.environment(nw.schedules.rare_quiet)
nw.simulate(nw.vaee(instance.actions), environment, horizon=300, replications=100)
""",
    "optimal_design": "nw.optimal_design(np.random.default_rng(0).normal(size=(20, 3)))",
}
#: Runs a call and prints in how many files of the package functions were called; modules and classes that
#: are only imported do not count, functions that run during an import do.
COUNT = """
import inspect, sys, threading
import numpy as np
import noisewise as nw
package, place, call = sys.argv[1:]
files = set()
def note(frame, event, _):
    if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        files.add(frame.f_code.co_filename)
threading.setprofile(note)
sys.setprofile(note)
exec(call)
sys.setprofile(None)
print(sum(file.startswith(package) for file in files))
"""


def call_paths() -> dict[str, int]:
    """Count the modules called by each of the calls, each in a new process."""
    import noisewise as nw

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "study.db"
        nw.create_study(place, options=["A", "B", "C"], eps=0.5, seed=1)
        return {
            name: int(
                subprocess.run(
                    [sys.executable, "-c", COUNT, f"{PACKAGE}/", place, call],
                    capture_output=True, text=True, check=True,
                ).stdout
            )
            for name, call in CALLS.items()
        }  # fmt: skip


def main() -> None:
    """Print one line for each target, and one for each package."""
    modules = tracked("src", ".py")
    lines = {file: code_lines(file.read_text("utf-8")) for file in modules}
    pages = [*tracked("docs", ".md"), ROOT / "README.md"]
    found = {
        "Python": sum(lines.values()),
        "C": sum(c_lines(file.read_text("utf-8")) for file in tracked("src", ".c", ".h")),
        "modules": len(modules),
        "tests": sum(code_lines(file.read_text("utf-8")) for file in tracked("tests", ".py")),
        "words of docs": sum(len(page.read_text("utf-8").split()) for page in pages),
        "pages of docs": len(pages) - 1,
        **call_paths(),
    }
    for what, target in TARGETS.items():
        print(f"{what:28}{found[what]:9,}   target {target:7,}   {found[what] / target:5.2f}")
    packages: dict[str, list[int]] = {}
    for file, count in lines.items():
        packages.setdefault(file.relative_to(PACKAGE).parts[0], []).append(count)
    print("\npackage                   lines  modules")
    for name, counts in sorted(packages.items(), key=lambda item: -sum(item[1])):
        print(f"{name:22}{sum(counts):9,}{len(counts):9}")


if __name__ == "__main__":
    main()
