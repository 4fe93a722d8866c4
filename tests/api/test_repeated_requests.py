"""A POST that is sent again with the same Idempotency-Key is carried out once (API-1)."""

from concurrent.futures import ThreadPoolExecutor

import httpx2

from support.asking import ECHO, deploy
from support.servers import RunningServer
from wonder.app.application import Application

KEY = {"Idempotency-Key": "one"}


def names(client: httpx2.Client) -> list[str]:
    return [one["name"] for one in client.get("/v1/projects").json()["projects"]]


def test_api_1_the_same_request_with_the_same_key_is_answered_from_what_is_kept(on_both: httpx2.Client) -> None:
    first = on_both.post("/v1/projects", json={"name": "once"}, headers=KEY)
    again = on_both.post("/v1/projects", json={"name": "once"}, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert ("idempotency-replayed" in first.headers, again.headers["idempotency-replayed"]) == (False, "true")
    other = on_both.post("/v1/projects", json={"name": "twice"}, headers=KEY)
    assert (other.status_code, other.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    elsewhere = on_both.post("/v1/events", json={"event": "e"}, headers=KEY)
    assert (elsewhere.status_code, elsewhere.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert names(on_both).count("once") == 1
    assert "twice" not in names(on_both)


def test_api_1_a_request_that_was_refused_may_be_corrected_under_its_key(on_both: httpx2.Client) -> None:
    headers = {"Idempotency-Key": "corrected"}
    refused = on_both.post("/v1/projects", json={"name": "no/name"}, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "NAME_REFUSED")
    assert on_both.post("/v1/projects", json={"name": "a-name"}, headers=headers).status_code == 201


def test_api_1_of_many_at_once_one_is_carried_out(both: RunningServer, on_both: httpx2.Client) -> None:
    headers = {"Idempotency-Key": "at once"}

    def ask(_: int) -> tuple[int, str]:
        answer = on_both.post("/v1/projects", json={"name": "at-once"}, headers=headers)
        return answer.status_code, answer.json().get("code", "")

    with ThreadPoolExecutor(8) as threads:
        answers = set(threads.map(ask, range(16)))
    assert answers <= {(201, ""), (409, "IDEMPOTENCY_UNDER_WAY")}
    assert (201, "") in answers
    assert names(on_both).count("at-once") == 1


def test_api_3_a_run_keeps_the_key_of_its_request_for_good(both: RunningServer, on_both: httpx2.Client) -> None:
    deploy(on_both, ECHO)
    path, body = "/v1/workflows/echo/runs", {"input": {"number": 1}}
    first = on_both.post(path, json=body, headers=KEY)
    again = on_both.post(path + "?wait=30", json={**body, "idempotency_key": "one"}, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["run_id"] == again.json()["run_id"]
    other = on_both.post(path, json={"input": {"number": 2}}, headers=KEY)
    assert (other.status_code, other.json()["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    both_keys = on_both.post(path, json={**body, "idempotency_key": "two"}, headers=KEY)
    assert (both_keys.status_code, both_keys.json()["code"]) == (400, "BAD_HEADERS")


def test_api_1_what_was_begun_and_never_answered_is_not_done_again(both: RunningServer, on_both: httpx2.Client) -> None:
    """As after a crash in the middle of it: first it may still be under way, later nobody can tell."""
    headers = {"Idempotency-Key": "crashed"}
    assert on_both.post("/v1/projects", json={"name": "crashed"}, headers=headers).status_code == 201

    async def unanswered(application: Application, begun_ms: int) -> None:
        change = "UPDATE http_answers SET http_status = NULL, answer = NULL, begun_ms = $1 WHERE key = 'crashed'"
        await application.store.commit([(change, [(begun_ms,)])])

    now_ms = both.door.application.engine.environment.now_ms()  # type: ignore[union-attr]
    for begun_ms, code in ((now_ms, "IDEMPOTENCY_UNDER_WAY"), (now_ms - 700_000, "IDEMPOTENCY_UNKNOWN")):
        both.ask(lambda application, begun_ms=begun_ms: unanswered(application, begun_ms))
        again = on_both.post("/v1/projects", json={"name": "crashed"}, headers=headers)
        assert (again.status_code, again.json()["code"]) == (409, code)
    both.ask(lambda application: unanswered(application, now_ms - 86_400_001))
    done = on_both.post("/v1/projects", json={"name": "crashed"}, headers=headers)
    assert (done.status_code, done.json()["code"]) == (409, "NAME_TAKEN"), "after a day the key is free"


def test_key_2_a_key_that_was_made_is_not_shown_again_and_stored_nowhere(both: RunningServer) -> None:
    async def answers(application: Application) -> str:
        return str(await application.store.query("SELECT * FROM http_answers"))

    with both.client() as local:
        made = local.post("/v1/keys", json={"role": "viewer"}, headers={"Idempotency-Key": "k"})
        assert made.status_code == 201, made.text
        key = made.json()["key"]
        assert key not in both.ask(answers)
        headers = {"Idempotency-Key": "k", "Authorization": f"Bearer {key}"}
        assert local.post("/v1/keys", json={"role": "viewer"}, headers=headers).status_code == 403


def test_a_key_that_can_not_be_one_is_refused(client: httpx2.Client) -> None:
    for key in ("", "x" * 201, "a\tb"):
        answer = client.post("/v1/projects", json={"name": "p"}, headers={"Idempotency-Key": key})
        assert (answer.status_code, answer.json()["code"]) == (400, "BAD_HEADERS"), key
