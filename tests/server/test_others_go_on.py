"""One visitor keeps no other waiting, and access ends as soon as it is revoked."""

import threading

import pytest
from starlette.testclient import TestClient
from tests.support.event_streams import Listener, request
from tests.support.servers import in_thread
from tests.support.web_pages import HTML
from tests.support.web_stores import API, bearer, guarded_app, small_study

import noisewise as nw
from noisewise.server.app import make_app
from noisewise.server.auth.keys import COOKIE, IDLE, Sessions
from noisewise.server.auth.tokens import TokenFile
from noisewise.server.pages import routes


@pytest.mark.parametrize("by_session", [False, True])
def test_a_stream_ends_with_the_token_that_opened_it(tmp_path, by_session):
    app, secrets = guarded_app(tmp_path)
    with in_thread(app) as url:
        token = TokenFile(tmp_path / "studies.db.tokens").find(secrets["viewer"])
        session = {"Cookie": f"{COOKIE}={app.state.keys.sessions.begin(token.id)}"}
        headers = session if by_session else bearer(secrets["viewer"])
        listener = Listener(url, f"{API}/tea/events?after=3", **headers)
        assert listener.next()["id"] == "4"
        TokenFile(tmp_path / "studies.db.tokens").revoke("viewer one")
        assert list(listener.messages()) == []  # it ends by itself
        told = {"option": "A", "value": 1.0, "se": 0.1}
        assert request(url, "POST", f"{API}/tea/tells", told, **bearer(secrets["owner"]))[0] == 201
        listener.close()


def test_listening_does_not_keep_a_session_alive():
    now = 0.0
    sessions = Sessions(lambda: now)
    session = sessions.begin("t-1")
    assert sessions.goes_on(session)
    now = IDLE + 1.0
    assert not sessions.goes_on(session)
    assert not sessions.goes_on("another")


def test_streams_opened_before_the_first_token_end_with_it(tmp_path):
    small_study(tmp_path / "studies.db")
    tokens = TokenFile(tmp_path / "studies.db.tokens")
    with in_thread(make_app(tmp_path / "studies.db", tokens=tokens)) as url:
        listener = Listener(url, f"{API}/tea/events?after=3")
        assert listener.next()["id"] == "4"
        tokens.add("Ann", "owner")
        assert list(listener.messages()) == []
        listener.close()


def test_a_study_at_work_does_not_hide_the_others(tmp_path, monkeypatch):
    small_study(tmp_path / "studies.db")
    nw.create_study(tmp_path / "studies.db", name="coffee", options=["A", "B"], eps=0.1)
    monkeypatch.setattr(routes, "SHORT_PATIENCE", 0.0)
    app = make_app(tmp_path / "studies.db")
    at_work, enough = threading.Event(), threading.Event()

    def work():
        with app.state.studies.use("tea"):
            at_work.set()
            enough.wait()

    with TestClient(app, base_url="http://localhost", headers=HTML) as client:
        thread = threading.Thread(target=work)
        thread.start()
        at_work.wait()
        page = client.get("/")
        version = client.get("/now")
        enough.set()
        thread.join()
        assert (page.status_code, version.text) == (200, "?-0")
        assert "others have been working on" in page.text
        assert "busy" in page.text
        assert "coffee" in page.text
        assert "busy" not in client.get("/").text
