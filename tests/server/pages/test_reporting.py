"""The report as a page: made by a worker, opened and downloaded."""

import re

import pytest
from starlette.testclient import TestClient
from tests.support.held_worker import HeldWorker
from tests.support.waiting import wait_until
from tests.support.web_pages import HTML, address_of, token_in
from tests.support.web_stores import small_study

import noisewise as nw
from noisewise.server.app import make_app
from noisewise.server.auth.tokens import TokenFile
from noisewise.server.pages import routes
from noisewise.server.pages.routes import _progress


@pytest.fixture
def client(place, tmp_path):
    app = make_app(place, tokens=TokenFile(tmp_path / "team.db.tokens"))
    with TestClient(app, base_url="http://127.0.0.1", headers=HTML) as opened:
        yield opened


def test_the_report_is_made_when_it_is_asked_for(client, tmp_path, monkeypatch):
    worker = HeldWorker(tmp_path, monkeypatch)
    page = address_of("reached", "report")
    assert "is ready" not in client.get(page).text
    assert "being made" in client.get(f"{page}?do=report").text
    worker.begun()
    shown = wait_until(
        lambda: "simulating" in (text := client.get(f"{page}?do=report").text) and text, "progress"
    )
    assert '<progress max="100"' in shown
    worker.go_on()
    ready = wait_until(
        lambda: "is ready" in (text := client.get(f"{page}?do=report").text) and text, "the report"
    )
    assert "api/v1/studies/reached/report.html" in ready


def test_what_is_computed_for_a_page_is_cancelled(client, tmp_path, monkeypatch):
    HeldWorker(tmp_path, monkeypatch)
    page = client.get(address_of("going", "plan?do=plan"))
    assert "Possible futures are being simulated" in page.text
    assert "waiting for its turn" not in page.text
    task = re.search(r'name="task" value="([^"]+)"', page.text)[1]
    fields = {"task": task, "back": "report", "csrf_token": token_in(page)}
    gone = client.post(address_of("going", "cancel"), data=fields, follow_redirects=False)
    assert gone.headers["location"] == "report"
    assert [one.state for one in client.app.state.tasks.all()] == ["cancelled"]


def test_progress_is_told_as_a_share():
    assert _progress(None, waiting=True) == ("waiting for its turn", None)
    assert _progress({"doing": "simulating", "done": 3, "of": 60}, waiting=False) == ("simulating", 5.0)
    assert _progress({"doing": "reading the log", "done": 0, "of": 1}, waiting=False) == (
        "reading the log",
        None,
    )


def test_a_page_waits_a_moment_where_no_process_has_to_start(monkeypatch):
    monkeypatch.setattr(routes, "AT_ONCE", None)
    store = nw.MemoryStorage()
    small_study(store)
    with TestClient(make_app(store), base_url="http://127.0.0.1", headers=HTML) as opened:
        page = opened.get(address_of("tea", "plan?do=plan")).text
    assert "Possible futures are being simulated" not in page
