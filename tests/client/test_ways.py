"""Ways to a server: proxies, TLS with an authority of one's own, redirections, and other versions."""

import http.server
import select
import shutil
import socket
import subprocess
import threading
import traceback
from contextlib import ExitStack, contextmanager

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.lossy_proxy import LossyProxy, answering
from tests.support.servers import in_thread
from tests.support.web_stores import guarded_app

import noisewise as nw
from noisewise.client.connection import proxy_for
from noisewise.client.opening import read_address
from noisewise.server.app import make_app
from noisewise.server.auth.tokens import TokenFile

SECRET = "nw_" + "s" * 43
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_surroundings(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("NOISEWISE_TOKEN", "NOISEWISE_TOKEN_FILE", "SSL_CERT_FILE", *NAMES, *map(str.lower, NAMES)):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def authority(tmp_path):
    """An authority of one's own, and a certificate of it for lab.example and localhost."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    names = "subjectAltName=DNS:lab.example,DNS:localhost\nauthorityKeyIdentifier=keyid\n"
    (tmp_path / "names").write_text(names)

    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)

    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    use = "keyUsage=critical,keyCertSign"  # which Python 3.13 looks for
    openssl(
        "req", "-x509", *kind, "-days", "2", "-subj", "/CN=lab authority", "-addext", use,
        "-keyout", "ca.key", "-out", "ca.pem",
    )  # fmt: skip
    openssl("req", *kind, "-subj", "/CN=lab.example", "-keyout", "server.key", "-out", "server.csr")
    openssl(
        "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
        "2", "-extfile", "names", "-out", "server.pem",
    )  # fmt: skip
    return tmp_path / "ca.pem", tmp_path / "server.pem", tmp_path / "server.key"


class _Forwarding(http.server.BaseHTTPRequestHandler):
    """A proxy that sends everything to one port of this machine, and keeps what it sees."""

    def log_message(self, *_):
        """Say nothing."""

    def do_CONNECT(self):
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        if self.server.refuses is not None:
            self.send_error(self.server.refuses)
            return
        with socket.create_connection(("127.0.0.1", self.server.port)) as far:
            self.send_response(200)
            self.end_headers()
            while True:
                for ready in select.select([self.connection, far], [], [])[0]:
                    piece = ready.recv(65536)
                    if not piece:
                        return
                    self.server.bytes += piece
                    (far if ready is self.connection else self.connection).sendall(piece)

    def do_GET(self):
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        content = b'{"rows": [], "next": null}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def proxy_to(port, refuses=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Forwarding)
    server.daemon_threads, server.port, server.seen, server.bytes = True, port, [], b""
    server.refuses = refuses
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.long("encryption")
def test_a_real_server_by_tls_and_through_a_proxy_that_sees_nothing(authority, tmp_path, monkeypatch):
    app, secrets = guarded_app(tmp_path, hosts=("lab.example", "localhost"))
    ca, certificate, key = authority
    with ExitStack() as servers:
        url = servers.enter_context(in_thread(app, ssl_certfile=str(certificate), ssl_keyfile=str(key)))
        port = int(url.rpartition(":")[2])
        proxy = servers.enter_context(proxy_to(port))
        with pytest.raises(ConnectionError, match=r"certificate is not trusted.*SSL_CERT_FILE"):
            nw.load_study(f"https://localhost:{port}", token=secrets["worker"])
        monkeypatch.setenv("SSL_CERT_FILE", str(ca))
        with pytest.raises(ConnectionError, match="certificate is not trusted"):
            nw.load_study(url, token=secrets["worker"])  # it is a certificate of names, not of 127.0.0.1
        study = nw.load_study(f"https://localhost:{port}", token=secrets["worker"])
        (job,) = study.ask()
        # The name is only known to the proxy, which gets its own password and nothing else.
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:pass%40word@127.0.0.1:{proxy.server_address[1]}")
        far = nw.load_study("https://lab.example", token=secrets["worker"])
        far.tell(job, 1.0, se=0.1)
        assert study.n_measurements == far.n_measurements
        study.close()
        far.close()
    assert {path for _, path, _ in proxy.seen} == {"lab.example:443"}
    assert {headers["Proxy-Authorization"] for *_, headers in proxy.seen} == {"Basic bWU6cGFzc0B3b3Jk"}
    assert all("Authorization" not in headers for *_, headers in proxy.seen)
    assert secrets["worker"].encode() not in proxy.bytes
    assert b"noisewise" not in proxy.bytes


@pytest.mark.parametrize(("status", "words"), [(403, "refuses the way there"), (407, "HTTPS_PROXY")])
def test_a_proxy_that_refuses_is_said_to(monkeypatch, status, words):
    with proxy_to(1, refuses=status) as proxy:
        monkeypatch.setenv("https_proxy", f"http://me:secret@127.0.0.1:{proxy.server_address[1]}")
        with pytest.raises(ConnectionError, match=words) as caught:
            nw.load_study("https://lab.example", token=SECRET)
    assert "secret" not in str(caught.value)
    assert len(proxy.seen) == 1  # it is not asked again


@pytest.mark.parametrize(
    ("address", "variables", "used"),
    [
        ("https://lab.example", {"HTTPS_PROXY": "http://p:3128"}, True),
        ("https://lab.example", {"ALL_PROXY": "http://p:3128"}, True),
        ("https://lab.example", {"HTTP_PROXY": "http://p:3128"}, False),
        ("https://lab.example", {"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "lab.example"}, False),
        ("https://lab.example", {"HTTPS_PROXY": "http://p:3128", "NO_PROXY": ".example"}, False),
        ("https://lab.example", {"HTTPS_PROXY": "http://p:3128", "NO_PROXY": "*"}, False),
        ("https://lab.example", {"HTTPS_PROXY": ""}, False),
        ("https://localhost", {"HTTPS_PROXY": "http://p:3128"}, False),
        ("http://127.0.0.1:8321", {"HTTP_PROXY": "http://p:3128"}, False),
    ],
)
def test_the_environment_says_which_servers_have_a_proxy(monkeypatch, address, variables, used):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (proxy_for(read_address(address)) is not None) == used


@pytest.mark.parametrize("named", ["socks5://p:1080", "https://p:3128", "http://", "http://p:nonsense"])
def test_proxies_of_other_kinds_are_refused_without_their_password(monkeypatch, named):
    monkeypatch.setenv("HTTPS_PROXY", named.replace("://p", "://me:secret@p"))
    with pytest.raises(ValueError, match="HTTPS_PROXY") as caught:
        nw.load_study("https://lab.example", token=SECRET)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("https://127.0.0.1:1/api/v1/studies", "redirects to https://127.0.0.1:1 "),
        ("https://evil.example/lab/api/v1/studies?x=1", "redirects to https://evil.example/lab "),
        ("/login", "redirects to /login "),
    ],
)
@pytest.mark.parametrize("status", [302, 308])
def test_no_redirection_is_followed(target, words, status):
    seen = []

    def answer(handler, body):
        seen.append(handler.path)
        handler.reply(status, {"Location": target}, b"")

    with answering(answer) as address, pytest.raises(ConnectionError, match=words):
        nw.load_study(address, token=SECRET)
    assert len(seen) == 1


def test_a_server_of_another_version_is_said_to_be(tmp_path):
    nw.create_study(tmp_path / "s.db", name="s", options=["A", "B"], eps=0.1)
    with in_thread(make_app(tmp_path / "s.db")) as server:
        proxy = LossyProxy(server)

        def newer(handler, body):
            handler.path = handler.path.replace("/api/v1/", "/api/v7/")
            proxy(handler, body)

        with (
            answering(newer) as address,
            pytest.raises(ConnectionError, match="the same version on both sides"),
        ):
            nw.load_study(address)


@pytest.mark.parametrize("kind", ["length", "chunked"])
def test_an_answer_that_is_cut_is_asked_for_again(kind):
    tries = []

    def answer(handler, body):
        content = b'{"rows": [{"option": "A"}], "next": null}'
        tries.append(handler.path)
        if len(tries) % 2:  # every other answer
            handler.send_response(200)
            cut = {"length": ("Content-Length", "500"), "chunked": ("Transfer-Encoding", "chunked")}[kind]
            handler.send_header(*cut)
            handler.end_headers()
            handler.wfile.write(content[:7] if kind == "length" else b"1f4\r\n" + content[:7])
            handler.close_connection = True
        else:
            handler.reply(200, {"Content-Type": "application/json"}, content)

    with answering(answer) as address:
        assert nw.load_study(address, "s").options == ["A"]
    assert len(tries) == 4


def test_a_token_that_is_revoked_in_between_ends_a_run_with_one_sentence(tmp_path):
    app, secrets = guarded_app(tmp_path)
    with in_thread(app) as address:
        study = nw.load_study(address, token=secrets["worker"])
        study.tell(option=study.options[0], value=1.0, se=0.1)
        TokenFile(tmp_path / "studies.db.tokens").revoke("worker one")
        with pytest.raises(PermissionError, match="does not know this token: it may be revoked"):
            study.run(lambda job: (1.0, 0.1), until="spent", budget=3, progress=False)


def test_no_traceback_with_variables_shows_a_token(tmp_path, monkeypatch):
    shown = []

    def look(*arguments, **options):
        try:
            nw.load_study(*arguments, **options)
        except Exception as problem:
            found = traceback.TracebackException.from_exception(problem, capture_locals=True)
            found.stack = traceback.StackSummary.from_list(found.stack[1:])  # without this very frame
            shown.append("".join(found.format()))

    def refusing(handler, body):
        handler.reply(401, {"Content-Type": "application/problem+json"}, b"{}")

    with socket.socket() as bound, answering(refusing) as address:
        bound.bind(("127.0.0.1", 0))
        for place in (
            f"http://127.0.0.1:{bound.getsockname()[1]}",
            address,
            "http://lab.example",
            "https://lab.invalid",
        ):
            look(place, token=SECRET, timeout=0.2)
            monkeypatch.setenv("NOISEWISE_TOKEN", SECRET)
            look(place, timeout=0.2)
            monkeypatch.delenv("NOISEWISE_TOKEN")
    assert len(shown) == 8
    assert SECRET not in "".join(shown)
