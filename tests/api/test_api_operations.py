"""Operations over HTTP: what is deployed, started, waited for and answered (API-1 to API-5)."""

import httpx2
import pytest

from support.asking import ASK, ECHO, deploy
from support.http_page import PAGE, page
from wonder.api.routes import LOCAL, PROJECT_ROUTES, SERVER_ROUTES, WORKSPACE_ROUTES
from wonder.operations.catalogue import all_operations


def test_every_operation_is_mounted_or_says_why_it_is_not() -> None:
    mounted = PROJECT_ROUTES.keys() | WORKSPACE_ROUTES.keys() | SERVER_ROUTES.keys()
    assert mounted | LOCAL.keys() == set(all_operations())
    assert not mounted & LOCAL.keys()
    assert all(LOCAL.values())


def test_api_3_a_run_is_started_waited_for_and_shown(on_both: httpx2.Client) -> None:
    deploy(on_both, ECHO)
    huge = 2**53 + 1
    started = on_both.post("/v1/workflows/echo/runs?wait=30", json={"input": {"number": huge}})
    assert started.status_code == 201, started.text
    assert started.json()["status"] == "completed"
    assert f'"number":{huge}' in started.text
    run_id = started.json()["run_id"]
    shown = on_both.get(f"/v1/runs/{run_id}?wait=30").json()
    assert (shown["status"], shown["output"]) == ("completed", {"number": huge})
    assert on_both.get(f"/v1/runs/{run_id}/outcome").json()["output"] == {"number": huge}
    events = on_both.get(f"/v1/runs/{run_id}/events").json()["items"]
    assert [event["sequence_number"] for event in events] == list(range(1, len(events) + 1))
    later = on_both.get(f"/v1/runs/{run_id}/events?after={len(events) - 1}&limit=5").json()["items"]
    assert later == events[-1:]
    assert on_both.get(f"/v1/runs/{run_id}/context").json()["input"] == {"number": huge}
    listed = on_both.get("/v1/runs?workflow=echo&status=completed").json()["runs"]
    assert run_id in [one["run_id"] for one in listed]


def test_api_4_an_answer_is_given_by_the_caller_whoever_the_body_names(on_both: httpx2.Client) -> None:
    deploy(on_both, ASK)
    run_id = on_both.post("/v1/workflows/asks/runs", json={}).json()["run_id"]
    waiting = on_both.get(f"/v1/runs/{run_id}?wait=1").json()
    assert waiting["status"] in ("running", "waiting")
    (item,) = [one for one in on_both.get("/v1/inbox").json()["items"] if one["run_id"] == run_id]
    refused = on_both.post(f"/v1/inbox/{item['id']}/answer", json={"answer": {}, "by": "somebody"})
    assert refused.status_code == 400
    assert refused.json()["code"] == "UNKNOWN_FIELD"
    answered = on_both.post(f"/v1/inbox/{item['id']}/answer", json={"answer": {}})
    assert answered.status_code == 200, answered.text
    assert on_both.get(f"/v1/runs/{run_id}?wait=30").json()["status"] == "completed"
    again = on_both.post(f"/v1/inbox/{item['id']}/answer", json={"answer": {}})
    assert (again.status_code, again.json()["code"]) == (409, "ITEM_CLOSED")


def test_api_1_a_path_names_the_project(client: httpx2.Client) -> None:
    assert client.post("/v1/projects", json={"name": "other"}).status_code == 201
    deploy(client, ECHO, to="/v1/projects/other")
    done = client.post("/v1/projects/other/workflows/echo/runs?wait=30", json={"input": {"number": 1}})
    run_id = done.json()["run_id"]
    assert client.get(f"/v1/projects/other/runs/{run_id}").json()["status"] == "completed"
    assert client.get(f"/v1/runs/{run_id}").status_code == 404
    assert client.get("/v1/projects/none/runs").status_code == 404


def test_a_wait_ends_when_its_time_is_up(client: httpx2.Client) -> None:
    deploy(client, ASK)
    started = client.post("/v1/workflows/asks/runs?wait=1", json={"input": {}})
    assert started.status_code == 201
    assert started.json()["status"] in ("running", "waiting")


def test_api_5_health_and_readiness_are_told_apart(on_both: httpx2.Client) -> None:
    assert on_both.get("/healthz").json() == {"status": "ok"}
    ready = on_both.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "database": True, "engine": "here"})


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/runs/01KNEVERWASANYTHINGLIKETHI", 404, "NOT_FOUND"),
        ("GET", "/v1/runs?limit=0", 400, "BAD_LIMIT"),
        ("GET", "/v1/runs?limit=many", 400, "INPUT_NOT_ACCEPTED"),
        ("GET", "/v1/runs?colour=red", 400, "UNKNOWN_PARAMETER"),
        ("GET", "/v1/runs?status=running&status=failed", 400, "BAD_QUERY"),
        ("GET", "/v1/runs?cursor=forged", 400, "BAD_CURSOR"),
        ("GET", "/v1/runs/x?wait=61", 400, "BAD_QUERY"),
        ("GET", "/v1/runs/x?wait=-1", 400, "BAD_QUERY"),
        ("GET", "/v1/runs/", 404, "NOT_FOUND"),
        ("GET", "/v1//runs", 404, "NOT_FOUND"),
        ("GET", "/v2/runs", 404, "NOT_FOUND"),
        ("GET", "/", 404, "NOT_FOUND"),
        ("DELETE", "/v1/runs", 405, "METHOD_NOT_ALLOWED"),
        ("OPTIONS", "/v1/runs", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/v1/workflows/nothing/runs", 404, "NOT_FOUND"),
    ],
)
def test_api_1_what_is_wrong_is_told_in_one_shape(
    client: httpx2.Client, method: str, path: str, status: int, code: str
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert answer.json().keys() == {"error", "code", "errors"}
    assert answer.json()["code"] == code


def test_api_5_metrics_count_requests_by_operation_and_status(client: httpx2.Client) -> None:
    client.get("/v1/runs/none")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert 'wonder_http_requests_total{operation="runs.show",status="404"}' in answer.text
    assert "wonder_http_requests_in_progress 1\n" in answer.text


def test_api_1_settings_are_changed_only_as_they_were_read(on_both: httpx2.Client) -> None:
    for path in ("/v1/projects/default/settings", "/v1/workspace/settings"):
        tag = on_both.get(path).headers["etag"]
        key = f"{path}/budget.alert_threshold_cents"
        changed = on_both.put(key, json={"value": 7}, headers={"If-Match": tag})
        assert changed.status_code == 200, changed.text
        late = on_both.put(key, json={"value": 8}, headers={"If-Match": tag})
        assert (late.status_code, late.json()["code"]) == (412, "SETTINGS_CHANGED")
        now = on_both.get(path)
        assert now.json()["settings"]["budget"]["alert_threshold_cents"] == 7
        assert now.headers["etag"] != tag
        assert on_both.put(key, json={"value": 9}, headers={"If-Match": "*"}).status_code == 200
        assert on_both.put(key, json={"value": 9}, headers={"If-Match": "W/x"}).json()["code"] == "BAD_HEADERS"
        assert on_both.put(key, json={"value": 9, "only_if": "x"}).json()["code"] == "UNKNOWN_FIELD"


def test_the_page_lists_every_path() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it anew: python tests/support/http_page.py"
