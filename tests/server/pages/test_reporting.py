"""The report as a page: made by a worker, opened, downloaded; links to it are made, listed and revoked."""

import re

import pytest
from starlette.testclient import TestClient
from tests.support.held_worker import HeldWorker
from tests.support.waiting import wait_until
from tests.support.web_pages import HTML, address_of, token_in
from tests.support.web_stores import guarded_app, small_study

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


def send(client, study, form, **fields):
    fields["csrf_token"] = token_in(client.get(address_of(study, "report")))
    return client.post(address_of(study, form), data=fields, follow_redirects=False)


def test_a_link_shows_the_report_until_it_is_revoked(client):
    assert "No link is valid now." in client.get(address_of("reached", "report")).text
    made = send(client, "reached", "share", name="the <reviewers>")
    assert made.status_code == 200
    secret = re.search(r'href="\.\./\.\./share/(nws_[\w-]+)"', made.text)[1]
    assert "the &lt;reviewers&gt;" in made.text
    assert client.get(f"/share/{secret}").status_code == 200
    listed = client.get(address_of("reached", "report")).text
    assert secret not in listed
    assert "the &lt;reviewers&gt;" in listed
    assert "the &lt;reviewers" not in client.get(address_of("going", "report")).text
    id = re.search(r'name="id" value="([^"]+)"', listed)[1]
    assert send(client, "going", "unshare", id=id).status_code == 404
    assert send(client, "reached", "unshare", id=id).status_code == 303
    assert client.get(f"/share/{secret}").status_code == 404


def test_a_link_needs_somebody_whom_it_is_for(client):
    for name in ("", "  ", "a\u200bb"):
        answer = send(client, "reached", "share", name=name)
        assert answer.status_code == 422
        assert "No link is valid now." in answer.text


def test_only_owners_see_links(tmp_path):
    app, secrets = guarded_app(tmp_path)
    with TestClient(app, base_url="http://localhost", headers=HTML) as client:
        client.post("/session", data={"token": secrets["worker"], "next": "/"})
        page = client.get("/s/tea/report")
        assert page.status_code == 200
        assert "Links to the report" not in page.text
        assert client.post("/s/tea/share", data={"name": "me"}).status_code == 403


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
    assert client.app.state.tasks.find(task).state == "cancelled"


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
