"""What can go wrong on the way to a server: each is one sentence, and the token stays where it belongs."""

import socket
import threading

import pytest

pytest.importorskip("fastapi", reason="the server is an extra")

from tests.support.lossy_proxy import LossyProxy, answering
from tests.support.servers import in_thread
from tests.support.web_stores import guarded_app

import noisewise as nw
from noisewise.server.app import make_app

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


def test_a_role_that_does_not_suffice_is_named(guarded):
    address, secrets = guarded
    study = nw.load_study(address, token=secrets["viewer"])
    with pytest.raises(PermissionError, match="needs the role worker"):
        study.tell(option="A", value=1.0)
    with pytest.raises(PermissionError, match="needs the role owner"):
        nw.load_study(address, token=secrets["worker"]).void("m-1", "why not")


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
            lambda: study.events(),
            lambda: study.pending,
            lambda: study.tell("ask-1", 1),
        ):
            with pytest.raises(ConnectionError, match="the same version on both sides"):
                act()


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


def test_a_server_that_is_gone_is_said_to_be():
    with socket.socket() as bound:  # and nobody listens
        bound.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        assert "nothing listens there" in refused(ConnectionError, address, timeout=0.1)


def test_a_server_that_is_busy_is_asked_again_after_the_time_that_it_names(monkeypatch):
    slept, statuses = [], [200, 503, 429, 200]
    monkeypatch.setattr("noisewise.client.connection.time.sleep", slept.append)

    def answer(handler, body):
        status = statuses.pop(0)
        wait = {"Retry-After": "7"} if status == 429 else {}
        handler.reply(status, {"Content-Type": "application/json", **wait}, b'{"rows": [], "next": null}')

    with answering(answer) as address:
        assert nw.load_study(address, "s").options == []
    assert statuses == []
    assert [pause for pause in slept if pause >= 1.0] == [7.0]


def test_a_silent_server_is_given_up_after_the_time_out():
    over = threading.Event()
    with answering(lambda handler, body: over.wait()) as address:
        assert "no answer within 0.1 s" in refused(ConnectionError, address, "s", timeout=0.1)
        over.set()


@pytest.mark.parametrize(("scheme", "words"), [("http", "no web server"), ("https", "does not speak TLS")])
def test_what_is_no_web_server_is_said_to_be_none(scheme, words):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet():
            line, _ = listening.accept()
            with line:
                line.sendall(b"SSH-2.0-OpenSSH_9.9\r\n")

        thread = threading.Thread(target=greet)
        thread.start()
        assert words in refused(ConnectionError, f"{scheme}://127.0.0.1:{listening.getsockname()[1]}")
        thread.join()
