"""Servers for tests: in a thread or in a process of their own, on a free port of loopback."""

import os
import re
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager

import uvicorn
from tests.support.waiting import wait_until

from noisewise.server.serving import protocol

PATIENCE = 120.0


@contextmanager
def in_thread(app, **more):
    """Serve an app in a thread, and yield its address; `more` are settings of uvicorn."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_config=None, access_log=False, http=protocol(), ws="none", **more
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive(), "the server to start")
    assert server.started, "the server did not start"
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http{'s' if config.is_ssl else ''}://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server did not end"


class ServerProcess:
    """Run ``noisewise serve`` in a process; used as a context."""

    def __init__(self, store, *options):
        self._command = [sys.executable, "-m", "noisewise", "serve", str(store), *options]

    def __enter__(self):
        self.start()
        return self

    def start(self, port=0):
        """Start it, and wait until it prints its address."""
        self.process = subprocess.Popen(
            [*self._command, "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "500", "NO_COLOR": "1"},
        )
        said = self.process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, said + self.process.stderr.read()
        self.url = found[0].rstrip("/")
        self.port = int(re.search(r":(\d+)", self.url.removeprefix("http:"))[1])

    def get(self, path):
        """Return the body of an answer."""
        with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as answer:
            return answer.read().decode()

    def kill(self):
        """End it without warning."""
        self.process.kill()
        self.process.communicate()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.said, self.complained = self.process.communicate(timeout=PATIENCE)
