"""`wonder run` and what one does with runs: what a person and a program see, and the exit statuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from wonder.cli.main import main

SAMPLE = Path(__file__).parents[2] / "samples" / "orders" / "orders.yaml"
APPROVE = """\
workflow:
  name: approve
  context_schema: {type: object, properties: {ok: {type: boolean}}}
  output_schema: {type: object, properties: {ok: {type: boolean}}}
  initial_node: ask
  nodes:
    ask:
      action:
        kind: human_input
        implementation:
          prompt: "Spend {{cents}} cents?"
          schema: {type: object, required: [ok], properties: {ok: {type: boolean}}}
      input_mapping: {cents: $.input.cents}
      output_mapping: {state.ok: $.ok}
    done: {action: {kind: update_context, implementation: {updates: [{path: output.ok, expr: state.ok}]}}}
  transitions: [{from: ask, to: done}]
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty working directory and the address of an empty database, on each kind of database."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "approve.yaml").write_text(APPROVE)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    return url


def order(*lines: tuple[str, int]) -> str:
    listed = [{"item": item, "quantity": quantity} for item, quantity in lines]
    return json.dumps({"customer": "Ada", "lines": listed})


def run_json(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    capsys.readouterr()
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_cmd_4_a_run_that_completes_gives_its_output_and_status_0(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, shown = run_json(capsys, "run", str(SAMPLE), "--input", order(("lamp", 1), ("notebook", 2)))
    assert (status, shown["status"], shown["error"]) == (0, "completed", None)
    assert shown["output"] == {"invoice": "Ada owes 52.50", "lines": 2}
    assert main(["run", str(SAMPLE), "--input", order(("lamp", 1))]) == 0
    assert "✓ completed in " in capsys.readouterr().out


def test_a_run_that_fails_says_where_and_why_and_has_status_1(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, shown = run_json(capsys, "run", str(SAMPLE), "--input", order(("unicorn", 1)))
    assert (status, shown["status"], shown["error"]["node"]) == (1, "failed", "reserve")
    assert "the warehouse has no 'unicorn'" in shown["error"]["message"]
    main(["run", str(SAMPLE), "--input", order(("unicorn", 1))])
    assert "✗ failed after" in capsys.readouterr().out


def test_what_is_not_accepted_has_status_2_and_starts_nothing(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, shown = run_json(capsys, "run", str(SAMPLE), "--input", '{"customer": 1}')
    assert (status, shown["run_id"], shown["error"]["code"]) == (2, None, "INPUT_REFUSED")
    status, shown = run_json(capsys, "run", str(SAMPLE), "--input", "{")
    assert (status, shown["error"]["code"]) == (2, "BAD_VALUE")
    assert run_json(capsys, "runs", "list")[1]["runs"] == []


def test_a_run_that_waits_for_a_person_has_status_3_and_goes_on_with_the_answer(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """ACT-4"""
    status, shown = run_json(capsys, "run", "approve.yaml", "--input", '{"cents": 500}')
    assert (status, shown["status"]) == (3, "waiting")
    _, inbox = run_json(capsys, "inbox")
    (item,) = inbox["items"]
    assert (item["prompt"], item["run_id"]) == ("Spend 500 cents?", shown["run_id"])
    assert main(["answer", item["id"], '{"ok": 3}']) == 2
    assert "ok: expected boolean, found 3" in capsys.readouterr().err
    assert main(["answer", item["id"], '{"ok": true}']) == 0
    assert main(["answer", item["id"], '{"ok": true}']) == 2
    assert "the inbox has no open item" in capsys.readouterr().err
    _, after = run_json(capsys, "runs", "show", shown["run_id"])
    assert (after["status"], after["output"]) == ("completed", {"ok": True})


def test_runs_can_be_listed_shown_paused_resumed_and_cancelled(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, started = run_json(capsys, "run", "approve.yaml", "--input", '{"cents": 1}')
    run_id = started["run_id"]
    assert run_json(capsys, "runs", "pause", run_id)[1]["status"] == "paused"
    assert run_json(capsys, "runs", "resume", run_id)[1]["status"] == "waiting"
    assert main(["runs", "show", run_id]) == 0
    assert "ask   0     suspended" in capsys.readouterr().out
    assert run_json(capsys, "runs", "cancel", run_id)[1]["status"] == "cancelled"
    assert main(["runs", "cancel", run_id]) == 2
    assert "it has ended, or never was" in capsys.readouterr().err
    events = run_json(capsys, "runs", "events", run_id)[1]
    assert [event["sequence_number"] for event in events] == list(range(1, len(events) + 1))
    assert run_json(capsys, "runs", "context", run_id)[1]["input"] == {"cents": 1}
    assert run_json(capsys, "runs", "list", "--status", "cancelled")[1]["runs"][0]["run_id"] == run_id


def test_an_idempotency_key_starts_one_run_and_goes_on_with_it(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """CTL-17"""
    first = run_json(capsys, "run", "approve.yaml", "--input", '{"cents": 1}', "--key", "k")[1]
    again = run_json(capsys, "run", "approve.yaml", "--input", '{"cents": 1}', "--key", "k")[1]
    assert first["run_id"] == again["run_id"]
    status, other = run_json(capsys, "run", "approve.yaml", "--input", '{"cents": 2}', "--key", "k")
    assert (status, other["error"]["code"]) == (2, "IDEMPOTENCY_KEY_REUSED")


def allow_queries(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, database: str) -> None:
    """Have queries run as a reader: the tests' PostgreSQL is otherwise used as a superuser, which runs none."""
    if database.startswith("postgresql"):
        _, made = run_json(capsys, "db", "grant-reader")
        monkeypatch.setenv("WONDER_READER_URL", made["url"])


def test_cmd_6_queries_read_runs_and_contexts_and_change_nothing(
    database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["db", "migrate"])
    allow_queries(capsys, monkeypatch, database)
    run_json(capsys, "run", "approve.yaml", "--input", '{"cents": 7}')
    _, answer = run_json(capsys, "query", "SELECT workflow, status FROM run_log")
    assert answer["rows"] == [{"workflow": "approve", "status": "waiting"}]
    _, answer = run_json(capsys, "query", "SELECT count(*) AS n FROM context_approve")
    assert answer["rows"] == [{"n": 1}]
    for statement in ("DELETE FROM runs", "SELECT 1; DELETE FROM runs", "DROP TABLE runs", "SELEC"):
        assert main(["query", statement]) == 2
    assert run_json(capsys, "query", "SELECT count(*) AS n FROM runs")[1]["rows"] == [{"n": 1}]


def test_a_query_that_takes_too_long_is_ended(
    database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["db", "migrate"])
    allow_queries(capsys, monkeypatch, database)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    assert main(["query", endless, "--seconds", "0.5"]) == 2
    assert "took longer than 0.5 seconds" in capsys.readouterr().err


def test_a_failed_run_is_retried_as_a_new_one_and_the_old_one_stays(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CTL-19"""
    # Another name for each database: Python keeps a module that it has once imported.
    module = f"flaky_{database.partition(':')[0]}"
    (tmp_path / f"{module}.py").write_text(
        "from pathlib import Path\nimport wonder\n\n\n@wonder.function\ndef work(n):\n"
        "    if not Path('fixed').exists():\n"
        "        raise ValueError('broken')\n    return {'n': n}\n"
    )
    (tmp_path / "flaky.yaml").write_text(
        "workflow:\n  name: flaky\n  context_schema: {type: object, properties: {n: {type: integer}}}\n"
        "  initial_node: first\n  nodes:\n"
        "    first: {action: {kind: update_context, implementation: {updates: [{path: state.n, expr: '40 + 2'}]}}}\n"
        "    work:\n      action: {kind: python, implementation: {function: '" + module + ":work'}}\n"
        "      input_mapping: {n: $.state.n}\n      output_mapping: {output.n: $.n}\n"
        "  transitions: [{from: first, to: work}]\n"
    )
    status, failed = run_json(capsys, "run", "flaky.yaml")
    assert (status, failed["status"]) == (1, "failed")
    (tmp_path / "fixed").touch()
    status, retried = run_json(capsys, "runs", "retry", failed["run_id"], "--module", module)
    assert (status, retried["output"]) == (0, {"n": 42})
    assert retried["run_id"] != failed["run_id"]
    shown = run_json(capsys, "runs", "show", retried["run_id"])[1]
    assert [(token["node"], token["status"]) for token in shown["tokens"]] == [("work", "completed")]
    assert main(["runs", "show", retried["run_id"]]) == 0
    assert f"\n  retry of run {failed['run_id']}\n" in capsys.readouterr().out
    assert run_json(capsys, "runs", "show", failed["run_id"])[1]["status"] == "failed"
    events = run_json(capsys, "runs", "events", failed["run_id"])[1]
    dispatched = next(event["sequence_number"] for event in events if event["event_type"] == "token_dispatched")
    forked = run_json(
        capsys, "runs", "fork", failed["run_id"], "--at", str(dispatched), "--state", '{"n": 7}', "--module", module
    )[1]
    assert forked["output"] == {"n": 7}
    assert main(["runs", "show", forked["run_id"]]) == 0
    assert f"\n  forked from run {failed['run_id']} after event {dispatched}\n" in capsys.readouterr().out
    status, refused = run_json(capsys, "runs", "retry", retried["run_id"])
    assert (status, refused["code"]) == (2, "FORK_REFUSED")
    for run in (failed, retried, forked):
        assert run_json(capsys, "runs", "verify", run["run_id"]) == (
            0,
            {"run_id": run["run_id"], "verified": True, "faults": []},
        )
