"""A real browser, driven through a pipe: pages as people see them, wide and narrow, light and dark.

Chromium speaks its DevTools protocol over two file descriptors (3 and 4): JSON messages that end in a zero
byte. That takes no further package.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time

from tests.support.waiting import wait_until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None and os.environ.get("NOISEWISE_NEEDS_BROWSER"):
    raise RuntimeError(
        "NOISEWISE_NEEDS_BROWSER is set, and there is no chromium: install it (Debian: chromium)."
    )
#: Seconds that an answer may take, on a machine that has much else to do.
PATIENCE = 120.0
#: Puts the pipes where the browser looks for them, and becomes the browser.
TRAMPOLINE = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 100) for end in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One window; used as a context."""

    def __init__(self, profile):
        self._profile, self._number, self._events, self._seen = profile, 0, [], 0

    def __enter__(self):
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        command = [
            CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", "--disable-background-networking", "--disable-extensions", "--no-first-run",
            f"--user-data-dir={self._profile}", "--remote-debugging-pipe", "about:blank",
        ]  # fmt: skip
        ends = str(theirs_in), str(theirs_out)
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", TRAMPOLINE, *ends, *command],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._left, self._session = b"", None
        target = self._ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in target if one["type"] == "page")
        self._session = self._ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{part}.enable")
        return self

    def __exit__(self, *_):
        try:
            self._session = None
            self._ask("Browser.close")
        except (OSError, TimeoutError):
            pass
        finally:
            os.close(self._to)
            os.close(self._from)
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _ask(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._events.append(answer)

    def _write(self, content):
        view = memoryview(content)
        while view:
            view = view[os.write(self._to, view[:60_000]) :]

    def _read(self):
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], max(0.0, until - time.monotonic()))
            more = os.read(self._from, 1 << 20) if ready else b""
            if not more:
                raise TimeoutError("the browser does not answer.")
            self._left += more
        message, _, self._left = self._left.partition(b"\0")
        return json.loads(message)

    def look(self, width, *, height=900, dark=False, paper=False):
        """How wide the window is, and what the person prefers."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._ask("Emulation.setEmulatedMedia", media="print" if paper else "", features=features)

    def open(self, path):
        """Open a page, and wait until it is loaded; what went wrong before is forgotten."""
        self.visit(path.as_uri())

    def visit(self, address):
        """The same with an address."""
        self._events.clear()
        self._ask("Page.navigate", url=address)
        self.loaded()
        self._seen = len(self._events)

    def loaded_anew(self):
        """Wait for a page that the last click leads to."""
        wait_until(lambda: self._is_complete() and self._has_loaded(self._seen), "the next page")
        self._seen = len(self._events)

    def _has_loaded(self, since=0):
        return any(event.get("method") == "Page.loadEventFired" for event in self._events[since:])

    def _is_complete(self):
        try:
            return self.run("document.readyState") == "complete"
        except RuntimeError:  # it was just left for the next one
            return False

    def scripts(self, allowed):
        """Whether pages may run scripts, as somebody who has turned them off would see them."""
        self._ask("Emulation.setScriptExecutionDisabled", value=not allowed)

    def loaded(self):
        """Wait until the page that is on its way is there."""
        while not self._has_loaded():
            self._events.append(self._read())

    def run(self, script):
        """The value of an expression in the page; a promise is waited for."""
        answer = self._ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def complaints(self, home="file:"):
        """Errors on the console, refusals by the page's policy, and all that was asked of others."""
        found = []
        for event in self._events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"])[:300])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str(params["args"])[:300])
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not _is_of(params["request"]["url"], home):
                found.append(f"asked for {params['request']['url']}")
        return found

    def picture(self, path):
        """The whole page as a PNG."""
        size = self._ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))


def _is_of(address, home):
    return address.startswith((home, "data:"))
