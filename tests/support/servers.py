"""Servers for tests: in a thread, or as a process of their own; on a free port of loopback."""

import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager

import uvicorn

from noisewise.web.connections import protocol

PATIENCE = 60.0


@contextmanager
def in_thread(app):
    """The address of an app that is served by a thread."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_config=None, access_log=False, http=protocol(), ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    give_up = time.monotonic() + PATIENCE
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < give_up
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        app.state.streams.stopping.set()
        server.should_exit = True
        thread.join(PATIENCE)


class ServerProcess:
    """``noisewise serve`` as a process; used as a context."""

    def __init__(self, store, *options):
        self._command = [sys.executable, "-m", "noisewise", "serve", str(store), *options]
        self._options = options

    def __enter__(self):
        self.start()
        return self

    def start(self, port=0):
        """Start it, and wait until it says where it is."""
        command = [*self._command, "--port", str(port)]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "500"},
        )
        said = self.process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, said + self.process.stderr.read()
        self.url = found[0].rstrip("/")
        self.port = int(re.search(r":(\d+)", self.url.removeprefix("http:"))[1])

    def get(self, path):
        """What it answers."""
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.said, self.complained = self.process.communicate(timeout=PATIENCE)
