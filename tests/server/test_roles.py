"""Every route refuses each role below the one it declares, and strangers; generated from the routes."""

import pytest
from starlette.testclient import TestClient
from tests.support.web_stores import bearer, guarded_app

from noisewise.server.app import make_app
from noisewise.server.auth.roles import ROLES, Role, role_of, routes_of

#: Routes for everybody, and why.
FOR_EVERYBODY = {
    ("GET", "/healthz"): "who watches over servers has no token",
    ("GET", "/readyz"): "the same",
    ("POST", "/session"): "it is how one signs in",
    ("POST", "/session/end"): "it is how one signs out, and wants the form's own CSRF token",
    ("GET", "/share/{secret}"): "the link is the secret",
    ("GET", "/charts.css"): "a style sheet, of the page where one signs in as well",
}
#: What somebody without a role may be answered there.
HARMLESS = {200, 401, 403, 404}


@pytest.fixture(scope="module")
def app_and_secrets(tmp_path_factory):
    return guarded_app(tmp_path_factory.mktemp("roles"))


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    return guarded_app(tmp_path_factory.mktemp("reading"), read_only=True, rate=1e9, burst=1e9)


ROUTES = list(routes_of(make_app(":memory:").routes))


def address_of(path):
    filled = {"study": "tea", "id": "nothing", "ending": "csv", "secret": "nws_" + "x" * 43}
    for name, value in filled.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, f"{path}: say what stands there"
    return path


def test_every_route_declares_a_role_or_is_known_to_be_for_everybody():
    open_ones = {(method, path) for method, path, route in ROUTES if role_of(route) is None}
    assert open_ones == FOR_EVERYBODY.keys()


def test_no_route_that_changes_something_is_for_viewers():
    reading = {"certificate/verify", "slot", "plan", "worth", "report"}
    changing = [
        (path, role_of(route))
        for method, path, route in ROUTES
        if method not in ("GET", "HEAD")
        and (method, path) not in FOR_EVERYBODY
        and not any(path.endswith(one) for one in reading)
        and not path.endswith("/tasks/{id}")  # one's own task
        and path.startswith("/api")
    ]
    assert len(changing) > 10
    assert {path for path, role in changing if role is Role.VIEWER} == set()


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in ROUTES])
def test_a_route_refuses_whoever_may_less(app_and_secrets, method, path):
    app, secrets = app_and_secrets
    needed = next(role_of(route) for m, p, route in ROUTES if (m, p) == (method, path))
    # From an address of its own: strangers may not ask often.
    whence = (f"{method} {path}", 1)
    client = TestClient(app, base_url="http://localhost", follow_redirects=False, client=whence)
    body = {"json": {}} if method == "POST" else {}
    stranger = client.request(method, address_of(path), **body)
    forged = client.request(method, address_of(path), headers=bearer("nw_" + "A" * 43), **body)
    if needed is None:
        assert {stranger.status_code, forged.status_code} <= HARMLESS
        return
    # A browser may be led to the page where one signs in.
    assert stranger.status_code == forged.status_code == 401
    assert stranger.headers["content-type"] == "application/problem+json"
    for word, role in ROLES.items():
        if role < needed:
            refused = client.request(method, address_of(path), headers=bearer(secrets[word]), **body)
            assert refused.status_code == 403, word
            assert needed.word in refused.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        (m, p)
        for m, p, route in ROUTES
        if m == "POST" and (role_of(route) or Role.VIEWER) > Role.VIEWER and "shares" not in p
    ],
)
def test_a_server_that_only_reads_refuses_every_change(reading, method, path):
    app, secrets = reading
    bodies = {
        "tells": {"option": "A", "value": 1.0, "se": 0.1},
        "studies": {"name": "new", "options": ["A", "B"], "eps": 1.0},
        "rebuild": {"log": "x"},
        "imports": {"table": "option,value,se\nA,1,1\n"},
        "fail": {"jobs": ["ask-1"], "reason": "broken"},
        "release": {"jobs": ["ask-1"]},
        "void": {"measurement": "m-1", "reason": "wrong"},
        "amend": {"measurement": "m-1", "reason": "wrong", "value": 1.0, "se": 0.1},
        "exclude": {"option": "A", "reason": "gone"},
        "include": {"option": "A"},
        "add": {"options": ["D"]},
        "rename": {"name": "other"},
    }
    client = TestClient(app, base_url="http://localhost")
    body = bodies.get(path.rsplit("/", 1)[-1], {})
    answer = client.request(method, address_of(path), headers=bearer(secrets["owner"]), json=body)
    assert answer.status_code == 403, answer.text
    assert "only reads" in answer.json()["detail"]


@pytest.mark.parametrize(
    "asked", [{"unknown": "add"}, {"amend": "a better look"}], ids=["adding options", "amending"]
)
def test_a_table_of_a_worker_neither_adds_options_nor_corrects(app_and_secrets, asked):
    app, secrets = app_and_secrets
    client = TestClient(app, base_url="http://localhost")
    body = {"table": "option,value,se\nstranger,1,1\n"} | asked
    path = next(path for method, path, _ in ROUTES if path.endswith("/imports") and method == "POST")
    answer = client.post(address_of(path), headers=bearer(secrets["worker"]), json=body)
    assert answer.status_code == 403, answer.text
    assert "needs the role owner" in answer.json()["detail"]
