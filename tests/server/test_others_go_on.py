"""One visitor keeps no other waiting, and access ends as soon as it is revoked."""

import threading

from starlette.testclient import TestClient
from tests.support.web_pages import HTML
from tests.support.web_stores import small_study

import noisewise as nw
from noisewise.server.app import make_app
from noisewise.server.pages import routes


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
