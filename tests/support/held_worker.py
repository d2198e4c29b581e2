"""A worker process of the server that waits until the test lets it go on."""

import os
import shlex
import sys
from types import SimpleNamespace

from tests.support.waiting import wait_until

from noisewise.server import tasks

SCRIPT = """#!/bin/sh
read -r asked
echo $$ > {folder}/pid.new && mv {folder}/pid.new {folder}/pid
echo '{{"doing": "simulating", "done": 3, "of": 60}}'
read -r go < {folder}/go
{{ printf '%s\\n' "$asked"; cat; }} | {python} "$@"
"""


class HeldWorker:
    """Plans and reports that the server computes begin, report progress, and then wait."""

    def __init__(self, folder, monkeypatch):
        self._folder = folder / "worker"
        self._folder.mkdir()
        os.mkfifo(self._folder / "go")
        script = self._folder / "python"
        names = {"folder": shlex.quote(str(self._folder)), "python": shlex.quote(sys.executable)}
        script.write_text(SCRIPT.format(**names))
        script.chmod(0o755)
        monkeypatch.setattr(tasks, "sys", SimpleNamespace(executable=str(script)))

    def begun(self):
        """Wait until the worker has begun, and return its process id."""
        file = self._folder / "pid"
        return wait_until(lambda: file.exists() and int(file.read_text()), "the worker to begin")

    def go_on(self):
        """Let the worker compute its answer."""
        (self._folder / "go").write_text("go\n")
