"""Pages of the documentation that are run: their Python, and the commands they show."""

import os
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

from typer.testing import CliRunner

from noisewise.cli import app

ROOT = Path(__file__).parents[2]
#: Commands, one on a line, and right after them what they print.
COMMANDS = re.compile(
    r"^```sh\n(?P<lines>.*?)^```$(?:\n\n^```text\n(?P<shown>.*?)^```$)?", re.MULTILINE | re.DOTALL
)
BLOCK = re.compile(r"^```python[ \t]*(?P<info>[^\n]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPECTED = re.compile(r"#\s*exit code (\d+)")


def blocks(page):
    """The page's Python blocks that are to be run, with the lines they begin at."""
    text = page.read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start("code")), match["code"])
        for match in BLOCK.finditer(text)
        if match["info"].strip() != "no-run"
    ]


def run_blocks(page, some=slice(None)):
    """Run blocks of a page one after the other, in a module of their own."""
    module = types.ModuleType("page_" + re.sub(r"\W", "_", page.stem))
    # A module with a file: compiled rules are cached for as long as the page does not change.
    module.__file__ = str(page)
    sys.modules[module.__name__] = module
    for line, code in blocks(page)[some]:
        exec(compile("\n" * line + code, str(page), "exec"), module.__dict__)
    return module


def page(name):
    return ROOT / "docs" / name


def run_commands(name):
    """Run the commands of a page in order; each must end as it says, and print what it shows.

    Redirections to a file are made here, because there is no shell.
    """
    ran = 0
    for block in COMMANDS.finditer(page(name).read_text("utf-8")):
        printed = ""
        for line in block["lines"].replace("\\\n", " ").splitlines():
            expected = EXPECTED.search(line)
            program, *arguments = shlex.split(line, comments=True)
            assert program == "noisewise"
            target = arguments[-1] if arguments[-2:-1] == [">"] else None
            done = CliRunner().invoke(app, arguments[:-2] if target else arguments)
            assert done.exit_code == (int(expected[1]) if expected else 0), (
                f"{line}: {done.output}{done.exception}"
            )
            if target:
                Path(target).write_text(done.stdout)
            else:
                printed += done.stdout
            ran += 1
        if block["shown"] is not None:
            assert printed == block["shown"], printed
    return ran


def run_script(name, *arguments):
    """Run the shell script of a page, with the commands of this Python."""
    (script,) = SCRIPT.findall(page(name).read_text("utf-8"))
    folder = Path.cwd() / "bin"
    folder.mkdir(exist_ok=True)
    command = folder / "noisewise"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m noisewise "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(
        ["bash", "-c", script, "job", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
