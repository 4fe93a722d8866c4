"""The description of the server: valid, complete, and true of what the server answers (API-1)."""

import os
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from openapi_spec_validator import validate
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from support.servers import RunningServer
from wonder.api.routes import all_routes


@pytest.fixture(scope="module")
def described(client: httpx2.Client) -> dict[str, Any]:
    """The description that the server gives."""
    answer = client.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


def test_api_1_the_description_is_openapi_and_has_every_route(described: dict[str, Any]) -> None:
    validate(described)
    listed = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    plain = {("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/openapi.json"), ("GET", "/metrics")}
    assert listed == {(route.method, route.path) for route in all_routes()} | plain
    names = [one["operationId"] for methods in described["paths"].values() for one in methods.values()]
    assert len(set(names)) == len(names)


def test_api_1_every_answer_is_a_described_one(server: RunningServer, described: dict[str, Any]) -> None:
    """What is asked is made from the description: each operation gets some requests."""
    schema = schemathesis.openapi.from_dict(described)
    schema.config.base_url = server.url
    checks = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
    few = settings(
        max_examples=50 if os.environ["WONDER_DEEP"] == "1" else 2,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    # The same operations are there below each project.
    operations = [one for one in (one.ok() for one in schema.get_all_operations()) if "{project}" not in one.path]
    assert len(operations) > 80
    for operation in operations:

        @few
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            case.call_and_validate(checks=checks)

        ask()
