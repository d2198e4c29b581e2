"""Random requests of every operation: nothing but what is described, and never a fault of the server."""

import hypothesis
import pytest
from tests.support.effort import effort
from tests.support.servers import in_thread
from tests.support.web_stores import guarded_app

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

#: Examples of each operation.
EXAMPLES = effort(1, 20)


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    app, secrets = guarded_app(tmp_path_factory.mktemp("schema"))
    with in_thread(app) as url:
        yield schemathesis.openapi.from_url(f"{url}/api/v1/openapi.json"), secrets["owner"]


def test_random_requests_are_answered_as_described(described):
    from schemathesis.checks import CHECKS, load_all_checks, not_a_server_error

    schema, secret = described
    load_all_checks()
    names = ("status_code_conformance", "content_type_conformance", "response_schema_conformance")
    checks = [not_a_server_error, *(CHECKS.get_one(name) for name in names)]
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 30
    tried = 0
    for operation in operations:

        @hypothesis.settings(
            max_examples=EXAMPLES,
            database=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=operation.as_strategy(), known=hypothesis.strategies.booleans())
        def answered(case, known):
            nonlocal tried
            tried += 1
            if known and "study" in case.path_parameters:
                case.path_parameters["study"] = "tea"
            if case.path.endswith("/plan") and case.method == "GET":
                case.query = {"paths": 2}
            answer = case.call(headers={"Authorization": f"Bearer {secret}"}, timeout=60)
            case.validate_response(answer, checks=checks)

        answered()
    assert tried >= len(operations)
