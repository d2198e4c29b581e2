"""Tokens and sessions: who may come in, and what is remembered of them."""

import html
import os
import re
import stat
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.support.commands import run
from tests.support.web_stores import API, bearer, guarded_app, small_study

import noisewise as nw
from noisewise.server.answers import name_in_path
from noisewise.server.auth.keys import COOKIE, IDLE, Sessions
from noisewise.server.auth.tokens import TokenFile, tokens_of

NEXT = re.compile(r'name="next" value="([^"]*)"')
RESULT = {"option": "A", "value": 1.0, "se": 0.1}


@pytest.fixture
def guarded(tmp_path):
    app, secrets = guarded_app(tmp_path)
    with TestClient(app, base_url="http://localhost", follow_redirects=False) as client:
        client.secrets, client.folder = secrets, tmp_path
        yield client


def signed_in(client, role):
    """Sign in with a form as a browser does; the CSRF token of its session."""
    answer = client.post("/session", data={"token": client.secrets[role], "next": "/"})
    assert answer.status_code == 303, answer.text
    return client.app.state.keys.sessions.csrf(client.cookies[COOKIE])


def test_a_token_has_256_bits_and_is_kept_as_its_hash_for_its_owner_alone(tmp_path):
    file = TokenFile(tmp_path / "tokens")
    made = {file.add(f"n{number}", "viewer")[1] for number in range(20)}
    assert len(made) == 20
    assert all(re.fullmatch(r"nw_[A-Za-z0-9_-]{43}", secret) for secret in made)
    kept = file.path.read_text()
    assert not any(secret in kept for secret in made)
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600


def test_a_token_that_is_revoked_elsewhere_is_refused_at_once(guarded):
    headers = bearer(guarded.secrets["viewer"])
    assert guarded.get(f"{API}/tea", headers=headers).status_code == 200
    TokenFile(guarded.folder / "studies.db.tokens").revoke("viewer one")
    assert guarded.get(f"{API}/tea", headers=headers).status_code == 401


def test_tokens_that_were_all_revoked_do_not_open_the_server(guarded):
    file = TokenFile(guarded.folder / "studies.db.tokens")
    for token in file.tokens():
        file.revoke(token.id)
    assert guarded.get(f"{API}/tea").status_code == 401


def test_a_broken_line_is_named_and_nobody_comes_in(guarded):
    path = guarded.folder / "studies.db.tokens"
    path.write_text(path.read_text() + "nonsense\n")
    with pytest.raises(ValueError, match=r"line 7 .* is not a token"):
        TokenFile(path).tokens()
    assert guarded.get(f"{API}/tea", headers=bearer(guarded.secrets["owner"])).status_code == 503


def test_who_told_it_is_the_holder_of_the_token_whatever_the_request_says(guarded):
    headers = bearer(guarded.secrets["worker"])
    guarded.post(f"{API}/tea/tells", json=RESULT | {"by": "somebody else"}, headers=headers)
    guarded.post(f"{API}/tea/tells/all", json={"results": [RESULT, RESULT]}, headers=headers)
    guarded.post(f"{API}/tea/asks", json={"by": "somebody else"}, headers=headers)
    guarded.post(f"{API}/tea/imports", json={"table": "option,value,se,by\nA,1,1,else\n"}, headers=headers)
    guarded.post(f"{API}/tea/release", json={"jobs": ["ask-1"]}, headers=headers)
    owner = bearer(guarded.secrets["owner"])
    guarded.post(f"{API}/tea/void", json={"measurement": "m-1", "reason": "spilled"}, headers=owner)
    events = nw.load_study(guarded.folder / "studies.db").events()[4:]
    assert [(event.kind, event.body["by"]) for event in events] == [
        *[("tell", "worker one")] * 3,
        ("ask", "worker one"),
        ("tell", "worker one"),
        ("release", "worker one"),
        ("void", "owner one"),
    ]


def test_a_browser_signs_in_and_out(guarded):
    csrf = signed_in(guarded, "worker")
    cookie = guarded.cookies.jar._cookies["localhost.local"]["/"][COOKIE]
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "strict"
    assert guarded.get(f"{API}/tea").status_code == 200
    assert guarded.post("/session/end", data={"csrf_token": "wrong"}).status_code == 403
    assert guarded.post("/session/end", data={"csrf_token": csrf}).status_code == 303
    assert guarded.get(f"{API}/tea").status_code == 401


def test_a_change_by_a_session_needs_its_csrf_token(guarded):
    csrf = signed_in(guarded, "worker")
    assert guarded.post(f"{API}/tea/tells", json=RESULT).status_code == 403
    wrong = {"X-CSRF-Token": "0" * 64}
    assert guarded.post(f"{API}/tea/tells", json=RESULT, headers=wrong).status_code == 403
    told = guarded.post(f"{API}/tea/tells", json=RESULT, headers={"X-CSRF-Token": csrf})
    assert told.status_code == 201


def test_a_session_ends_with_its_token(guarded):
    signed_in(guarded, "viewer")
    assert guarded.get(f"{API}/tea").status_code == 200
    TokenFile(guarded.folder / "studies.db.tokens").revoke("viewer one")
    assert guarded.get(f"{API}/tea").status_code == 401


def test_signing_in_leads_nowhere_else(guarded):
    for elsewhere in ("https://evil.example/", "//evil.example", "/\\evil.example", "javascript:x"):
        answer = guarded.post("/session", data={"token": guarded.secrets["viewer"], "next": elsewhere})
        assert (answer.status_code, answer.headers["location"]) == (303, "/"), elsewhere


@pytest.mark.parametrize("name", ["a?b#c", "\U0001f600", "a/b"])
def test_signing_in_leads_to_the_page_that_was_asked_for(guarded, name):
    small_study(guarded.folder / "studies.db", name=name)
    wanted = f"/s/{quote(name_in_path(name), safe='')}/options?q=A&standing=all"
    form = guarded.get(wanted, headers={"Accept": "text/html"}).text
    slip = {"token": "nw_slip", "next": html.unescape(NEXT.search(form)[1])}
    again = guarded.post("/session", data=slip, headers={"Accept": "text/html"})
    assert again.status_code == 401
    sent = html.unescape(NEXT.search(again.text)[1])
    answer = guarded.post("/session", data={"token": guarded.secrets["viewer"], "next": sent})
    assert answer.headers["location"] == wanted


def test_a_full_disk_leaves_no_half_of_a_token(guarded, monkeypatch):
    file = TokenFile(guarded.folder / "studies.db.tokens")
    before, whole = file.tokens(), os.write
    monkeypatch.setattr(os, "write", lambda handle, content: whole(handle, content[:40]))
    with pytest.raises(OSError, match="the disk is full"):
        file.add("Eve", "viewer")
    monkeypatch.undo()
    assert file.tokens() == before
    assert file.add("Ann", "viewer")[0] in file.tokens()
    assert guarded.get(f"{API}/tea", headers=bearer(guarded.secrets["owner"])).status_code == 200


def test_a_line_that_cannot_be_written_does_not_damage_those_of_others(tmp_path, monkeypatch):
    file, other = TokenFile(tmp_path / "s.tokens"), TokenFile(tmp_path / "s.tokens")
    whole = os.write

    def cut_off(handle, content):
        monkeypatch.undo()
        written = whole(handle, content[:40])
        other.add("Bob", "viewer")  # by another process, before this one learns that its disk is full
        return written

    monkeypatch.setattr(os, "write", cut_off)
    with pytest.raises(OSError, match="the disk is full"):
        file.add("Ann", "viewer")
    assert [token.name for token in file.tokens()] == ["Bob"]


def test_an_idle_session_ends():
    now = 0.0
    sessions = Sessions(lambda: now)
    session = sessions.begin("t-1")
    now = IDLE - 1.0
    assert sessions.find(session) == "t-1"
    now += IDLE + 1.0
    assert sessions.find(session) is None


def test_tokens_are_made_listed_and_revoked_by_the_command(tmp_path):
    store = tmp_path / "studies.db"
    small_study(store)
    made = run("token", "add", store, "Ann", "--role", "worker")
    secret = made.stdout.splitlines()[1]
    assert tokens_of(store).find(secret).name == "Ann"
    listed = run("token", "list", store)
    assert "Ann" in listed.stdout
    assert secret not in listed.stdout
    assert "Ann" in run("token", "revoke", store, "Ann").stdout
    assert tokens_of(store).find(secret) is None
    assert "no valid token" in str(run("token", "revoke", store, "Ann").exception)


def test_tokens_of_a_database_are_in_the_users_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tokens_of("postgresql://ann:secret@db.example:5432/lab")
    assert file.path == tokens_of("postgresql://bob:other@db.example:5432/lab").path
    assert file.path.parent == tmp_path / "noisewise"
    assert "secret" not in file.path.name
