"""Commands on pages of the documentation, run; their Python is run by `website.blocks`."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner
from website.blocks import ROOT

from noisewise.cli import app

#: Commands, one on a line, and right after them what they print.
COMMANDS = re.compile(
    r"^```sh\n(?P<lines>.*?)^```$(?:\n\n^```text\n(?P<shown>.*?)^```$)?", re.MULTILINE | re.DOTALL
)
SCRIPT = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPECTED = re.compile(r"#\s*exit code (\d+)")


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
