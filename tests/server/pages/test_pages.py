"""Pages as browsers get them: all escaped, nothing inline, relative addresses; only forms change anything."""

import re

import pytest
from starlette.testclient import TestClient
from tests.support.page_worlds import NASTY
from tests.support.web_pages import HTML, Reader, address_of, token_in

import noisewise as nw
from noisewise.server.app import make_app
from noisewise.server.auth.tokens import TokenFile

PAGES = (
    "", "options", "measurements", "paste", "check", "plan", "worth", "log", "report", "add",
    "log?kind=tell&q=a", "log?q=m-1", "measurements?fix=m-1", "?next=now", "?made=1",
    "options?change=A", "log?page=2", "options?q=zzz", "measurements?q=zzz",
)  # fmt: skip
STUDIES = ("going", "reached", "withheld", "nothing", "alone", "days", NASTY)


@pytest.fixture
def client(place):
    with TestClient(make_app(place), base_url="http://127.0.0.1", headers=HTML) as opened:
        yield opened


@pytest.fixture(scope="module")
def reading(filled):
    """A server that is only read."""
    with TestClient(make_app(filled), base_url="http://127.0.0.1", headers=HTML) as opened:
        yield opened


def events_of(path):
    store = nw.open_store(path, read_only=True)
    return {name: nw.load_study(store, name, read_only=True).n_events for name in store.names()}


def send(client, study, form, page="measurements", **fields):
    fields["csrf_token"] = token_in(client.get(address_of(study, page)))
    return client.post(address_of(study, form), data=fields, follow_redirects=False)


@pytest.mark.parametrize("study", STUDIES)
def test_every_page_is_well_formed_has_nothing_inline_nor_absolute_and_writes_nothing(study, reading, filled):
    before = events_of(filled)
    for page in PAGES:
        answer = reading.get(address_of(study, page))
        assert answer.status_code == 200, page
        found = Reader(answer.text)
        assert found.inline == []
        assert found.wrong == []
        assert len(found.ids) == len(set(found.ids)), page
        assert [one for one in found.addresses if one.startswith("/") or ":" in one.partition("?")[0]] == []
    assert events_of(filled) == before


def test_names_of_people_are_never_markup(reading):
    pages = [reading.get("/").text]
    pages += [reading.get(address_of(NASTY, page)).text for page in PAGES]
    for text in pages:
        for wrong in ("<script>alert", "<img", "<i>0", "</td></td>", 'href="javascript'):
            assert wrong not in text
    assert "&lt;img src=x" in reading.get(address_of(NASTY, "options")).text
    assert "&lt;script&gt;" in pages[0]


def test_the_list_says_where_each_study_stands(reading):
    text = reading.get("/").text
    for word in ("stop allowed", "going on", "withheld", "not begun", "7 in this store"):
        assert word in text
    assert "reached" not in reading.get("/?q=going").text.partition('id="rows"')[2]


def test_a_study_that_is_not_there_is_a_page_for_people_and_a_document_for_programs(reading):
    page = reading.get("/s/nowhere/")
    assert page.status_code == 404
    assert "There is no study" in page.text
    assert page.headers["content-type"].startswith("text/html")
    other = reading.get("/s/nowhere/", headers={"accept": "application/json"})
    assert other.headers["content-type"] == "application/problem+json"


def test_a_form_tells_a_measurement_and_leads_to_it(place, client):
    before = events_of(place)["going"]
    answer = send(client, "going", "tell", what="A-05", kind="se", **{"se.value": "21.5", "se.se": "0.6"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "measurements?told=m-33#m-33"
    assert events_of(place)["going"] == before + 1
    page = client.get(address_of("going", "measurements?told=m-33"))
    assert "m-33 was recorded." in page.text


def test_a_form_that_is_sent_twice_does_once_what_it_says(place):
    """A double click, or going back and sending it again, also after a restart."""

    def sent(client, action, **fields):
        fields["csrf_token"] = token_in(client.get(address_of("going", "measurements")))
        return client.post(address_of("going", action), data=fields, follow_redirects=False)

    told = {"what": "A-05", "kind": "se", "se.value": "10.2", "se.se": "0.1"}
    before = events_of(place)["going"]
    with TestClient(make_app(place), base_url="http://127.0.0.1", headers=HTML) as client:
        once = re.search(
            r'name="once" value="([^"]+)"', client.get(address_of("going", "measurements")).text
        )[1]
        first, second = (sent(client, "tell", once=once, **told) for _ in range(2))
        assert first.status_code == second.status_code == 303
        assert second.headers["location"] == "./"
        assert events_of(place)["going"] == before + 1
        sent(client, "ask", once=once)
        sent(client, "ask", once=once)
        assert events_of(place)["going"] == before + 2
        sent(client, "tell", once=once, **told | {"se.value": "10.3"})  # went back, and typed another
        sent(client, "tell", once="another page", **told)  # measured again
        assert events_of(place)["going"] == before + 4
        numbers = {re.search(r'name="once" value="([^"]+)"', client.get("/new").text)[1] for _ in range(3)}
        assert len(numbers) == 3
    with TestClient(make_app(place), base_url="http://127.0.0.1", headers=HTML) as client:
        assert sent(client, "tell", once=once, **told).headers["location"] == "./"
        assert events_of(place)["going"] == before + 4


def test_a_refused_form_says_why_and_keeps_what_was_typed(place, client):
    before = events_of(place)
    answer = send(client, "going", "tell", what="A-99", kind="se", **{"se.value": "21.5", "se.se": "0.6"})
    assert answer.status_code == 422
    assert "neither an option nor a suggestion" in answer.text
    assert 'value="21.5"' in answer.text
    assert re.search(r'value="se" required checked', answer.text)
    assert events_of(place) == before


def test_a_preview_says_what_would_be_told_and_tells_nothing(place, client):
    before = events_of(place)
    fields = {"ci.value": "12.3", "ci.ci": "11.5,13.1"}
    answer = send(client, "going", "tell/preview", what="A-05", kind="ci", **fields)
    assert "A-05 = 12.3 ± 0.408; it enters with 0.408" in answer.text
    bad = send(client, "going", "tell/preview", what="A-05", kind="se", **{"se.value": "x", "se.se": "1"})
    assert "must be a number" in bad.text
    assert events_of(place) == before


def test_void_and_amend_need_a_reason(place, client):
    assert send(client, "going", "void", measurement="m-2", reason=" ").status_code == 422
    voided = send(client, "going", "void", measurement="m-2", reason="a slip")
    assert voided.status_code == 303
    assert "m-2 counts no longer." in client.get(address_of("going", voided.headers["location"])).text
    fields = {"se.value": "20", "se.se": "0.5"}
    assert (
        send(client, "going", "amend", measurement="m-3", kind="se", reason="", **fields).status_code == 422
    )
    assert (
        send(client, "going", "amend", measurement="m-3", kind="se", reason="typo", **fields).status_code
        == 303
    )
    study = nw.load_study(place, "going", read_only=True)
    assert study.frame("measurements")["voided"][1] == "a slip"
    assert study.frame("measurements")["value"][2] == 20.0


def test_suggestions_are_reserved_released_and_failed(place, client):
    assert send(client, "going", "ask", page="").status_code == 303
    job = nw.load_study(place, "going", read_only=True).pending[-1].id
    assert send(client, "going", "fail", page="", job=job, reason="").status_code == 422
    assert send(client, "going", "release", page="", job=job).headers["location"] == "./#under-way"
    assert send(client, "going", "release", page="", job=job).status_code == 422


def test_advice_of_the_check_is_followed_with_a_reason(place, client):
    fields = {"extra_scatter": "estimate"}
    assert send(client, "withheld", "switch", reason="", **fields).status_code == 422
    assert send(client, "withheld", "switch", reason="days differ", **fields).status_code == 303
    assert nw.load_study(place, "withheld", read_only=True).extra_scatter is not None


def test_a_form_without_its_token_changes_nothing(reading, filled):
    before = events_of(filled)
    fields = {"what": "A", "kind": "none", "none.value": "1", "option": "A-07", "reason": "x"}
    for form in ("tell", "void", "amend", "ask", "release", "fail", "exclude", "switch", "paste"):
        assert reading.post(address_of("going", form), data=fields).status_code == 403, form
    assert events_of(filled) == before


def test_a_viewer_sees_everything_and_no_form_that_changes(place, tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    viewer = {"authorization": f"Bearer {tokens.add('vera', 'viewer')[1]}"}
    worker = {"authorization": f"Bearer {tokens.add('walt', 'worker')[1]}"}
    app = make_app(place, tokens=tokens)
    with TestClient(app, base_url="http://127.0.0.1", headers=HTML) as client:
        page = client.get(address_of("going", "measurements"), headers=viewer)
        assert page.status_code == 200
        assert "vera, viewer" in page.text
        assert 'action="tell"' not in page.text
        assert "Amend or void" not in page.text
        other = client.get(address_of("going", "measurements"), headers=worker).text
        assert 'action="tell"' in other
        assert "Amend or void" not in other
        assert client.post(address_of("going", "void"), headers=worker, data={}).status_code == 403


def test_a_stranger_is_asked_to_sign_in(place, tmp_path):
    tokens = TokenFile(tmp_path / "tokens.json")
    secret = tokens.add("otto", "owner")[1]
    with TestClient(make_app(place, tokens=tokens), base_url="http://127.0.0.1", headers=HTML) as client:
        page = client.get(address_of("going", "log"))
        assert page.status_code == 401
        assert "Sign in" in page.text
        assert "A-05" not in page.text
        assert client.post("/session", data={"token": "nw_wrong", "next": "/"}).status_code == 401
        signed = client.post("/session", data={"token": secret, "next": "/s/going/log"})
        assert signed.status_code == 200
        assert "otto, owner" in signed.text


def test_a_read_only_server_has_no_forms(place):
    with TestClient(make_app(place, read_only=True), base_url="http://127.0.0.1", headers=HTML) as client:
        text = client.get(address_of("going", "measurements")).text
        assert 'method="post"' not in text
        assert "(read only)" in text
        for page in ("/new", address_of("going", "paste"), address_of("going", "add")):
            assert (client.get(page).status_code, 'action="' in client.get(page).text) == (403, False)


def test_the_check_of_many_measurements_comes_before_what_would_help(place, client, monkeypatch):
    monkeypatch.setattr("noisewise.server.pages.shown.LONG", 0)
    page = address_of("withheld", "check")
    first, asked = client.get(page).text, client.get(f"{page}?causes=now").text
    assert "Certificate withheld" in first
    assert 'hx-trigger="news from:body, load"' in first
    assert "causes=now" in first
    assert '<ol class="steps' not in first
    assert 'hx-trigger="news from:body"' in asked
    assert '<ol class="steps' in asked
    send(client, "withheld", "tell", what="A", kind="se", **{"se.value": "1", "se.se": "1"})
    by_script = client.get(page, headers={"hx-trigger": "check"}).text
    assert '<ol class="steps' in by_script
