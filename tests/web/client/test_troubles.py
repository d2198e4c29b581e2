"""What can go wrong on the way to a server: each is one sentence, and the token stays where it belongs."""

import socket
import ssl
import time

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.lossy_proxy import LossyProxy, answering
from tests.support.servers import in_thread
from tests.support.web_stores import guarded_app

import noisewise as nw
from noisewise.web.app import make_app

SECRET = "nw_" + "s" * 43


@pytest.fixture(autouse=True)
def no_tokens_of_the_person(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("NOISEWISE_TOKEN", "NOISEWISE_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def guarded(tmp_path):
    app, secrets = guarded_app(tmp_path)
    with in_thread(app) as address:
        yield address, secrets


def refused(kind, *arguments, **options):
    """The sentence with which opening is refused; it never holds a token."""
    with pytest.raises(kind) as caught:
        nw.load_study(*arguments, **options)
    said = str(caught.value.args[0])
    assert SECRET not in repr(caught.value)
    assert "\n" not in said
    assert said.endswith((".", "?"))
    return said


def test_without_a_token_it_says_how_to_give_one(guarded):
    assert "NOISEWISE_TOKEN" in refused(PermissionError, guarded[0])


def test_a_wrong_token_is_not_shown(guarded):
    assert "does not know this token" in refused(PermissionError, guarded[0], token=SECRET)


def test_a_token_comes_from_the_argument_the_environment_or_a_file(guarded, tmp_path, monkeypatch):
    address, secrets = guarded
    assert nw.load_study(address, token=secrets["viewer"]).n_measurements == 3
    file = tmp_path / "token"
    file.write_text(secrets["worker"] + "\n")
    file.chmod(0o600)
    assert nw.load_study(address, token=file).tell(option="A", value=1.0, se=0.1).id == "m-4"
    monkeypatch.setenv("NOISEWISE_TOKEN", secrets["viewer"])
    assert nw.load_study(address).n_measurements == 4
    assert secrets["viewer"] not in repr(vars(nw.load_study(address)))


def test_a_role_that_does_not_suffice_is_named(guarded):
    address, secrets = guarded
    study = nw.load_study(address, token=secrets["viewer"])
    with pytest.raises(PermissionError, match="needs the role worker"):
        study.tell(option="A", value=1.0)
    with pytest.raises(PermissionError, match="needs the role owner"):
        nw.load_study(address, token=secrets["worker"]).void("m-1", "why not")


def test_the_measurement_is_by_the_token(guarded):
    address, secrets = guarded
    study = nw.load_study(address, token=secrets["worker"])
    study.tell(option="A", value=1.0, se=0.1, by="somebody else")
    (job,) = study.ask()
    assert study.frame("measurements")["by"][-1] == "worker one"
    assert job.by == "worker one"


def test_an_unknown_study_is_refused_in_the_words_of_a_store(tmp_path):
    nw.create_study(tmp_path / "s.db", name="coffee", options=["A", "B"], eps=0.1)
    with in_thread(make_app(tmp_path / "s.db")) as address:
        said = refused(KeyError, address, "cofee")
        assert said == "there is no study 'cofee' in this store, which has 'coffee'. Did you mean 'coffee'?"


def test_which_of_several_studies_is_meant_has_to_be_said(tmp_path):
    for name in ("a", "b"):
        nw.create_study(tmp_path / "s.db", name=name, options=["A", "B"], eps=0.1)
    with in_thread(make_app(tmp_path / "s.db")) as address:
        assert "'a', 'b'" in refused(ValueError, address)


def test_a_server_behind_a_prefix_is_found(tmp_path):
    nw.create_study(tmp_path / "s.db", name="s", options=["A", "B"], eps=0.1)
    with in_thread(make_app(tmp_path / "s.db")) as server:
        proxy = LossyProxy(server)

        def below(handler, body):
            if not handler.path.startswith("/lab/one/"):
                handler.reply(404, {"Content-Type": "text/html"}, b"nothing here")
                return
            handler.path = handler.path.removeprefix("/lab/one")
            proxy(handler, body)

        with answering(below) as address:
            assert nw.load_study(f"{address}/lab/one/").options == ["A", "B"]
            assert "prefix" in refused(ConnectionError, address)


def test_a_server_that_is_gone_is_said_to_be(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    assert "nothing listens there" in refused(ConnectionError, address, timeout=0.2)


def test_a_server_that_goes_away_and_comes_back_is_waited_for(tmp_path):
    import threading

    nw.create_study(tmp_path / "s.db", name="s", options=["A", "B"], eps=0.1)
    times = []

    def answer(handler, body):
        times.append(time.monotonic())
        if len(times) in (2, 3):
            handler.reply(503, {"Content-Type": "text/html"}, b"<h1>starting</h1>")
        else:
            handler.reply(200, {"Content-Type": "application/json"}, b'{"rows": [], "next": null}')

    with answering(answer) as address:
        study = nw.load_study(address, "s")
        assert study.options == []
    assert len(times) == 4
    assert threading.active_count() < 20


def test_a_server_that_asks_to_wait_is_obeyed():
    times = []

    def answer(handler, body):
        times.append(time.monotonic())
        if len(times) == 2:
            handler.reply(429, {"Content-Type": "application/problem+json", "Retry-After": "1"}, b"{}")
        else:
            handler.reply(200, {"Content-Type": "application/json"}, b'{"rows": [], "next": null}')

    with answering(answer) as address:
        assert nw.load_study(address, "s").options == []
    assert 0.9 < times[2] - times[1] < 5.0


def test_what_is_no_plain_value_is_refused_in_the_words_of_a_study(tmp_path):
    here = nw.create_study(tmp_path / "s.db", name="s", options=["A", "B"], eps=0.1)
    with in_thread(make_app(tmp_path / "s.db")) as address:
        there = nw.load_study(address)
        for told in ({"option": ["A"]}, {"option": "A", "at": "noon"}, {"option": "A", "n": 2.5, "sd": 1.0}):
            said = []
            for study in (here, there):
                with pytest.raises((ValueError, TypeError, KeyError)) as caught:
                    study.tell(value=1.0, **told)
                said.append((type(caught.value), caught.value.args))
            assert said[0] == said[1]


def test_a_slow_server_is_given_up_after_the_time_out(tmp_path):
    with answering(lambda handler, body: time.sleep(3.0)) as address:
        began = time.monotonic()
        assert "no answer within 0.2 s" in refused(ConnectionError, address, "s", timeout=0.2)
        assert time.monotonic() - began < 2.9


@pytest.mark.parametrize(
    ("status", "kind", "content", "words"),
    [
        (200, "text/html", b"<html>Welcome \x1b[31m</html>", "not noisewise's"),
        (200, "application/json", b"[1, 2]", "not noisewise's"),
        (404, "text/html", b"<h1>Not Found</h1>", "look at the address"),
        (400, "application/problem+json", b"{broken", "look at the address"),
    ],
)
def test_an_answer_that_is_none_is_said_to_be(status, kind, content, words):
    with answering(lambda h, body: h.reply(status, {"Content-Type": kind}, content)) as address:
        said = refused(ConnectionError, address)
        assert words in said
        assert said.isprintable()


@pytest.mark.parametrize(
    "answer", [b"{}", b'{"jobs": 5, "rows": [3], "next": null, "certificate": [], "pending": 1}']
)
def test_an_answer_with_other_parts_is_said_to_be_of_another_version(answer):
    with answering(lambda h, body: h.reply(200, {"Content-Type": "application/json"}, answer)) as address:
        study = nw.load_study(address, "s")
        for act in (
            study.ask,
            study.certificate,
            study.events,
            lambda: study.pending,
            lambda: study.tell("ask-1", 1),
        ):
            with pytest.raises(ConnectionError, match="the same version on both sides"):
                act()


def test_what_is_no_web_server_is_said_to_be_none():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(5.0)
        import threading

        def greet():
            line, _ = listening.accept()
            with line:
                line.sendall(b"SSH-2.0-OpenSSH_9.9\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        said = refused(ConnectionError, f"http://127.0.0.1:{listening.getsockname()[1]}")
        thread.join()
    assert "no web server" in said


def test_a_redirection_is_not_followed_and_the_token_stays():
    seen = []

    def elsewhere(handler, body):
        seen.append(dict(handler.headers))
        handler.reply(200, {"Content-Type": "application/json"}, b"{}")

    with answering(elsewhere) as other:

        def answer(handler, body):
            handler.reply(307, {"Location": f"{other}{handler.path}?token=x"}, b"")

        with answering(answer) as address:
            said = refused(ConnectionError, address, token=SECRET)
    assert "127.0.0.1" in said
    assert "not followed" in said
    assert seen == []


def test_a_certificate_of_nobody_is_not_trusted(tmp_path):
    certificate = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with answering(lambda h, body: h.reply(200, {}, b"{}"), context) as address:
        assert address.startswith("https://")
        assert "its certificate is not trusted" in refused(ConnectionError, address, token=SECRET)


def test_https_where_there_is_none_is_said(tmp_path):
    with answering(lambda h, body: h.reply(200, {}, b"{}")) as address:
        said = refused(ConnectionError, address.replace("http:", "https:"), timeout=0.5)
        assert "does not speak TLS" in said


def make_certificate(folder):
    """A certificate that its owner has signed, and its key."""
    import shutil
    import subprocess

    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    paths = folder / "c.pem", folder / "k.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-keyout", str(paths[1]), "-out", str(paths[0])],
        check=True, capture_output=True,
    )  # fmt: skip
    return paths


def test_a_trusted_certificate_is_accepted(tmp_path, monkeypatch):
    pytest.importorskip("uvicorn")
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    def answer(handler, body):
        handler.reply(200, {"Content-Type": "application/json"}, b'{"rows": [], "next": null}')

    with answering(answer, context) as address:
        address = address.replace("127.0.0.1", "localhost")
        assert nw.load_study(address, "s", token=SECRET).options == []


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://example.org", "everybody on the way could read the token"),
        ("https://me:secret@example.org", "without a name or password"),
        ("https://example.org/?token=secret", "without ? or #"),
        ("https://", "must be an address"),
        ("https://host:99999", "must be an address"),
    ],
)
def test_addresses_that_would_give_secrets_away_are_refused(address, words):
    said = refused(ValueError, address, token=SECRET)
    assert words in said
    assert "secret" not in said


def test_a_token_goes_with_an_address(tmp_path):
    nw.create_study(tmp_path / "s.db", options=["A", "B"], eps=0.1)
    assert "address of a server" in refused(ValueError, tmp_path / "s.db", token=SECRET)
