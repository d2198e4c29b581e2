"""The matrix of roles: every route refuses whoever may less than its operation declares, with any method."""

import pytest
from starlette.testclient import TestClient
from tests.support.web_stores import bearer, guarded_app

from noisewise.operations.table import load_table
from noisewise.server.app import make_app
from noisewise.server.auth.roles import ROLES, Role, role_of, routes_of

#: Routes for everybody, and why.
FOR_EVERYBODY = {
    ("GET", "/healthz"): "who watches over servers has no token",
    ("GET", "/readyz"): "the same",
    ("POST", "/session"): "it is how one signs in",
    ("POST", "/session/end"): "it is how one signs out, and wants the form's own CSRF token",
    ("GET", "/charts.css"): "a style sheet, of the page where one signs in as well",
}
#: Routes of the interface that are no operations, with the roles that they need.
BY_HAND = {
    "verify": Role.VIEWER, "report.html": Role.VIEWER, "measurements": Role.VIEWER,
    "events": Role.VIEWER, "options": Role.VIEWER, "specification": Role.VIEWER,
    "export.{ending}": Role.VIEWER,
    "rebuild": Role.OWNER,
}  # fmt: skip
#: What somebody without a role may be answered there.
HARMLESS = {200, 401, 403, 404}
METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
#: What takes long, and is computed by another process.
LONG = ("plan", "worth", "report", "report.html", "verify")
API = "/api/v1/studies"
ROUTES = list(routes_of(make_app(":memory:").routes))
PATHS = sorted({path for _, path, _ in ROUTES})


def matrix():
    """The role that the declarations say for each operation's address, by method."""
    declared = {}
    for op in load_table().values():
        if "http" in op.on:
            below = "" if op.opens == "store" else "/{study}"
            path = f"{API}{below}/{op.path}".rstrip("/")
            declared["POST" if op.writes else "GET", path] = op.role
    return declared


@pytest.fixture(scope="module")
def app_and_secrets(tmp_path_factory):
    return guarded_app(tmp_path_factory.mktemp("roles"))


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    return guarded_app(tmp_path_factory.mktemp("reading"), read_only=True)


def address_of(path):
    filled = {"study": "tea", "ending": "csv"}
    for name, value in filled.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, f"{path}: say what stands there"
    return path


def test_every_route_has_the_role_of_its_operation_or_is_known_to_be_written_by_hand():
    declared = matrix()
    for method, path, route in ROUTES:
        role = role_of(route)
        if role is None:
            assert (method, path) in FOR_EVERYBODY
        elif (method, path) in declared:
            assert role == declared.pop((method, path))
        elif path.startswith("/api") and not (method == "POST" and ("GET", path) in matrix()):
            words = path.removeprefix("/api/v1/").split("/")
            assert role == next(BY_HAND[word] for word in words if word in BY_HAND), path
    assert not declared


def needed_role(method, path):
    """What a request needs; None: it is for everybody; False: there is no such route."""
    return next((role_of(route) for m, p, route in ROUTES if (m, p) == (method, path)), False)


@pytest.mark.parametrize("path", PATHS)
def test_a_route_refuses_whoever_may_less_with_every_method(app_and_secrets, path):
    app, secrets = app_and_secrets
    for method in METHODS:
        needed = needed_role(method, path)
        # From an address of its own: strangers may not ask often.
        whence = (f"{method} {path}", 1)
        client = TestClient(app, base_url="http://localhost", follow_redirects=False, client=whence)
        body = {"json": {}} if method != "GET" else {}

        def status(body=body, client=client, method=method, **headers):
            return client.request(method, address_of(path), headers=headers, **body)

        stranger, forged = status(), status(**bearer("nw_" + "A" * 43))
        if needed is False:
            for secret in secrets.values():
                assert status(**bearer(secret)).status_code in (404, 405), (method, path)
            continue
        if needed is None:
            assert {stranger.status_code, forged.status_code} <= HARMLESS
            continue
        # A browser may be led to the page where one signs in.
        assert stranger.status_code == forged.status_code == 401
        assert stranger.headers["content-type"] == "application/problem+json"
        for word, role in ROLES.items():
            if role < needed:
                refused = status(**bearer(secrets[word]))
                assert refused.status_code == 403, word
                assert needed.word in refused.json()["detail"]
            elif path.rsplit("/", 1)[-1] not in LONG:
                allowed = status(**bearer(secrets[word]))
                assert allowed.status_code != 401, word
                # A form of a page also needs the token of that page.
                assert allowed.status_code != 403 or "the form is too old" in allowed.json()["detail"], word


BODIES = {
    "tells": {"what": "A", "value": 1.0, "se": 0.1},
    "all": {"results": [{"option": "A", "value": 1.0, "se": 0.1}]},
    "studies": {"name": "new", "options": ["A", "B"], "eps": 1.0},
    "rebuild": {"log": "x"},
    "imports": {"table": "option,value,se\nA,1,1\n"},
    "release": {"jobs": ["ask-1"]},
    "void": {"measurement": "m-1", "reason": "wrong"},
    "amend": {"measurement": "m-1", "reason": "wrong", "value": 1.0, "se": 0.1},
    "exclude": {"option": "A", "reason": "gone"},
    "options": {"options": ["D"]},
    "rename": {"name": "tea", "new": "other"},
}


@pytest.mark.parametrize(
    ("method", "path"),
    [(m, p) for m, p, route in ROUTES if m == "POST" and (role_of(route) or Role.VIEWER) > Role.VIEWER],
)
def test_a_server_that_only_reads_refuses_every_change(reading, method, path):
    app, secrets = reading
    client = TestClient(app, base_url="http://localhost")
    body = BODIES.get(path.rsplit("/", 1)[-1], {})
    answer = client.request(method, address_of(path), headers=bearer(secrets["owner"]), json=body)
    assert answer.status_code == 403, answer.text
    assert "only reads" in answer.json()["detail"]


@pytest.mark.parametrize("asked", [{"add": True}, {"amend": "a better look"}], ids=["add", "amend"])
def test_a_parameter_may_need_another_role_than_its_operation(app_and_secrets, asked):
    app, secrets = app_and_secrets
    client = TestClient(app, base_url="http://localhost")
    body = {"table": "option,value,se\nstranger,1,1\n"} | asked
    answer = client.post(f"{API}/tea/imports", headers=bearer(secrets["worker"]), json=body)
    assert answer.status_code == 403, answer.text
    assert "needs the role owner" in answer.json()["detail"]
