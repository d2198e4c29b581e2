"""A proxy that loses answers, and servers that answer with nonsense: for tests of a client."""

import http.client
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class _Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Say nothing."""

    def do_GET(self):
        """All methods alike."""
        length = int(self.headers.get("Content-Length") or 0)
        self.server.answer(self, self.rfile.read(length))

    do_POST = do_GET  # noqa: N815

    def reply(self, status, headers, content):
        """Answer."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Clients may go away: that is what is tested."""


@contextmanager
def answering(answer, context=None):
    """The address of a server that calls ``answer(handler, body)`` for every request; context: of TLS."""
    server = _QuietServer(("127.0.0.1", 0), _Quiet)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    server.answer = answer
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http{'' if context is None else 's'}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class LossyProxy:
    """Forwards requests; what ``lose(method, path)`` says is forwarded, and its answer lost."""

    def __init__(self, upstream, lose=lambda method, path: False):
        self.upstream, self.lose = urlsplit(upstream), lose
        self.seen = []  # method, path, key

    def __call__(self, handler, body):
        """Forward a request."""
        self.seen.append((handler.command, handler.path, handler.headers.get("Idempotency-Key")))
        line = http.client.HTTPConnection(self.upstream.hostname, self.upstream.port, timeout=30)
        try:
            headers = {n: v for n, v in handler.headers.items() if n.lower() not in ("host", "connection")}
            line.request(handler.command, handler.path, body or None, headers)
            answer = line.getresponse()
            content = answer.read()
        finally:
            line.close()
        if self.lose(handler.command, handler.path):
            handler.close_connection = True  # the client sees the connection end
            return
        kept = {name: answer.headers[name] for name in ("Content-Type", "ETag") if name in answer.headers}
        handler.reply(answer.status, kept, content)


def losing(count, wanted):
    """Lose the first answers to requests whose path ends so."""
    left = [count]

    def lose(method, path):
        if left[0] and method == "POST" and path.endswith(wanted):
            left[0] -= 1
            return True
        return False

    return lose
