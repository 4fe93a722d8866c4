"""What people see of runs that go on, wait, or have ended: questions, events, times, attempts, family."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wonder.cli.main import main

SECONDS = 120
ASK = {"kind": "human_input", "implementation": {"prompt": "Go on?", "schema": {"type": "object"}}}
WAIT = {"kind": "wait_for_event", "implementation": {"event": "paid", "key": "order {{order}}"}}
NOTHING = {"kind": "update_context", "implementation": {"updates": []}}


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty working directory and the address of an empty database, on each kind of database."""
    monkeypatch.chdir(tmp_path)
    url = "sqlite:///runs.db" if request.param == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    monkeypatch.setenv("WONDER_DATABASE_URL", url)
    return url


def write(name: str, nodes: dict[str, Any], *pairs: tuple[str, str], **sections: Any) -> None:
    """Write a definition of one workflow; its first node is the initial one."""
    transitions = [{"from": left, "to": right} for left, right in pairs]
    graph = {"initial_node": next(iter(nodes)), "nodes": nodes, "transitions": transitions}
    Path(f"{name}.json").write_text(json.dumps({"workflow": {"name": name, **graph}, **sections}))


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    status = main(list(words))
    told = capsys.readouterr()
    return status, told.out + told.err


def run_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(command(capsys, *words, "--json")[1])


def test_a_question_with_a_deadline_is_shown_once_while_the_run_goes_on(database: str) -> None:
    """ACT-4: with the command that answers it; in a pipe too."""
    deadline = {**ASK["implementation"], "deadline_ms": 3_600_000}  # type: ignore[dict-item]
    write("ask", {"ask": {"action": {**ASK, "implementation": deadline}, "output_mapping": {"output.ok": "$.ok"}}})
    program = "from wonder.cli.main import entry; entry()"
    running = subprocess.Popen(
        [sys.executable, "-c", program, "run", "ask.json", "--wait"], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    try:
        assert running.stdout
        lines: list[str] = []
        while not lines or not re.search("wonder answer .* JSON", lines[-1]):
            lines.append(running.stdout.readline())
            # A pipe gets a line every few seconds.
            assert lines[-1], "it ended before it asked"
            assert len(lines) < 24, "it does not ask"
        item_id = lines[-1].split()[2]
        assert main(["answer", item_id, '{"ok": true}']) == 0
        rest, _ = running.communicate(timeout=SECONDS)
    finally:
        running.kill()
        running.wait()
    shown = "".join(lines) + rest
    assert (running.returncode, shown.count("Go on? (until ")) == (0, 1)
    assert '{"ok":true}' in rest


def test_a_run_that_waits_for_an_event_names_it_and_a_command_sends_it(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """ACT-10: with its key and payload."""
    pay = {"action": WAIT, "input_mapping": {"order": "$.input.order"}, "output_mapping": {"output.paid": "$.cents"}}
    write("pay", {"pay": pay})
    status, printed = command(capsys, "run", "pay.json", "--input", '{"order": 7}')
    sends = "wonder events send paid --key 'order 7'"
    assert (status, sends in printed) == (3, True)
    assert "waits for the event 'paid' with the key 'order 7'" in printed
    run_id = run_json(capsys, "runs", "list")["runs"][0]["run_id"]
    assert sends in command(capsys, "runs", "show", run_id)[1]
    shown = run_json(capsys, "runs", "show", run_id)
    assert shown["events"] == [{"run_id": run_id, "event": "paid", "key": "order 7"}]
    assert command(capsys, "events", "send", "paid", "--payload", "{")[0] == 2
    assert command(capsys, "events", "send", "paid", "--key", "order 8")[0] == 0
    assert run_json(capsys, "runs", "show", run_id)["status"] == "waiting"
    assert command(capsys, "events", "send", "paid", "--key", "order 7", "--payload", '{"cents": 5}')[0] == 0
    shown = run_json(capsys, "runs", "show", run_id)
    assert (shown["status"], shown["output"], shown["events"]) == ("completed", {"paid": 5}, [])


def test_a_run_is_shown_with_its_attempts_its_cost_and_the_own_time_of_its_nodes(
    database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another name for each database: Python keeps a module that it has once imported.
    module = f"unsteady_{database.partition(':')[0]}"
    Path(f"{module}.py").write_text(
        "TRIES = []\n\n\ndef work():\n    TRIES.append(1)\n    if len(TRIES) < 3:\n        raise ConnectionError\n"
    )
    retries = {"retry_policy": {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 0}}
    work = {"kind": "python", "implementation": {"function": f"{module}:work"}, "execution": retries}
    say = {"kind": "llm_call", "implementation": {"prompt_spec_id": "p", "model_profile_id": "m"}}
    joined = {"strategy": "all", "sibling_group": "work"}
    nodes = {
        "work": {"action": work, "input_mapping": {}},
        "say": {"action": say, "input_mapping": {}},
        "nap": {"action": {"kind": "sleep", "implementation": {"ms": 2_000}}},
        "end": {"action": NOTHING},
    }
    costs = {"cost_per_1k_input_tokens": 1.0, "cost_per_1k_output_tokens": 2.0}
    prompts = {"prompts": {"p": {"template": "hello"}}, "models": {"m": {"provider": "mock", "model_id": "m", **costs}}}
    write("costs", nodes, ("work", "say"), ("work", "nap"), **prompts)
    definition = json.loads(Path("costs.json").read_text())
    definition["workflow"]["transitions"] += [
        {"from": branch, "to": "end", "synchronization": joined} for branch in ("say", "nap")
    ]
    Path("costs.json").write_text(json.dumps(definition))
    status, printed = command(capsys, "run", "costs.json")
    assert status == 0, printed
    run_id = run_json(capsys, "runs", "list")["runs"][0]["run_id"]
    shown = run_json(capsys, "runs", "show", run_id)
    nodes_shown = {token["node"]: token for token in shown["tokens"]}
    assert (nodes_shown["work"]["attempts"], nodes_shown["say"]["attempts"]) == (3, 1)
    assert shown["cost_usd"] == nodes_shown["say"]["cost_usd"] > 0
    assert shown["llm_tokens"] == nodes_shown["say"]["llm_tokens"] > 0
    said = [event for event in run_json(capsys, "runs", "events", run_id) if event["node"] == "say"]
    own = {event["event_type"]: event["timestamp"] for event in said}
    assert nodes_shown["say"]["took_ms"] == own["node_completed"] - own["token_spawned"] < nodes_shown["nap"]["took_ms"]
    printed = command(capsys, "runs", "show", run_id)[1]
    assert "COST USD" in printed
    assert re.search(r"work +0 +completed +[0-9.]+ s +3 ", printed)
    assert f"{shown['cost_usd']:.6f} USD for {shown['llm_tokens']} tokens" in printed
    assert "3 attempts" in command(capsys, "runs", "events", run_id)[1]
    if database.startswith("postgresql"):
        monkeypatch.setenv("WONDER_READER_URL", run_json(capsys, "db", "grant-reader")["url"])
    spent = run_json(capsys, "query", f"SELECT sum(cost_usd) AS usd FROM event_log WHERE workflow_run_id = '{run_id}'")
    assert spent["rows"][0]["usd"] == pytest.approx(shown["cost_usd"])


def test_a_run_is_shown_with_those_that_it_called_and_its_caller(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """ACT-10"""
    write("child", {"ask": {"action": ASK}})
    assert command(capsys, "deploy", "child.json")[0] == 0
    call = {"kind": "workflow_call", "implementation": {"workflow_def_id": "child"}}
    write("parent", {"call": {"action": call, "input_mapping": {}}})
    assert command(capsys, "run", "parent.json")[0] == 3
    runs = run_json(capsys, "runs", "list")["runs"]
    child_id, parent_id = (run["run_id"] for run in runs)
    assert run_json(capsys, "runs", "show", parent_id)["children"] == [{"run_id": child_id, "status": "waiting"}]
    assert f"called run {child_id}: waiting" in command(capsys, "runs", "show", parent_id)[1]
    assert f"called by run {parent_id}" in command(capsys, "runs", "show", child_id)[1]


def test_a_key_that_leads_to_an_earlier_run_is_told_so(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """CTL-17"""
    write("once", {"end": {"action": NOTHING}})
    assert "this is the run" not in command(capsys, "run", "once.json", "--key", "k")[1]
    status, printed = command(capsys, "run", "once.json", "--key", "k")
    assert status == 0
    assert re.match(r"this is the run that the key 'k' started at [-0-9: ]+, with version 1; nothing new", printed)


def test_a_run_whose_calls_of_models_wait_in_line_says_so(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """RES-6"""
    say = {"kind": "llm_call", "implementation": {"prompt_spec_id": "p", "model_profile_id": "m"}}
    models = {"prompts": {"p": {"template": "hello"}}, "models": {"m": {"provider": "mock", "model_id": "m"}}}
    write("say", {"say": {"action": say, "input_mapping": {}}, "ask": {"action": ASK}}, ("say", "ask"), **models)
    assert command(capsys, "project", "set", "rate_limits.max_llm_calls_per_hour", "1")[0] == 0
    assert command(capsys, "run", "say.json")[0] == 3
    run_id = run_json(capsys, "runs", "list")["runs"][0]["run_id"]
    assert "used up max_llm_calls_per_hour: calls of models wait" in command(capsys, "runs", "show", run_id)[1]
    assert run_json(capsys, "runs", "show", run_id)["calls_wait_until_ms"] > 0
    assert command(capsys, "project", "set", "rate_limits.max_llm_calls_per_hour", "2")[0] == 0
    assert "max_llm_calls_per_hour" not in command(capsys, "runs", "show", run_id)[1]


def test_a_metric_that_nobody_gave_is_refused_and_steps_say_when_they_begin(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """EVT-4"""
    emit = {"kind": "emit_metric", "implementation": {"metric_name": "orders", "value": -3}}
    write("emit", {"emit": {"action": emit}})
    assert command(capsys, "run", "emit.json")[0] == 0
    shown = run_json(capsys, "metrics", "orders")
    assert [one["at_ms"] % shown["step_ms"] for one in shown["metrics"]] == [0]
    status, printed = command(capsys, "metrics", "order")
    assert (status, "there is no metric 'order'; did you mean 'orders'?" in printed) == (2, True)


def test_only_statuses_that_there_are_can_be_asked_for(database: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, printed = command(capsys, "runs", "list", "--status", "runing")
    assert status == 2
    assert "'queued', 'running', 'waiting', 'paused', 'quarantined', 'completed', 'failed', 'cancelled'" in printed


def test_evt_1_events_are_found_in_a_run_and_across_runs(
    database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    check = {"kind": "assert", "implementation": {"expr": "input.ok"}}
    nodes = {"begin": {"action": NOTHING}, "check": {"action": check}}
    write("checked", nodes, ("begin", "check"))
    definition = json.loads(Path("checked.json").read_text())
    definition["workflow"]["input_schema"] = {"type": "object", "properties": {"ok": {"type": "integer"}}}
    Path("checked.json").write_text(json.dumps(definition))
    ids = [run_json(capsys, "run", "checked.json", "--input", told)["run_id"] for told in ('{"ok": 1}', '{"ok": 0}')]
    found = run_json(capsys, "runs", "events", "--type", "node_failed", "--type", "workflow_completed")
    assert [(one["run_id"], one["event_type"]) for one in found] == [
        (ids[1], "node_failed"),
        (ids[0], "workflow_completed"),
    ]
    status, printed = command(capsys, "runs", "events", "--node", "check", "--type", "node_failed", "--since", "1h")
    assert (status, printed.startswith(f"run {ids[1]}\n")) == (0, True)
    assert "a node failed: ASSERTION_FAILED" in printed
    assert command(capsys, "runs", "events", "--until", "1h") == (0, "no event matches\n")
    token = found[0]["token_id"]
    of_token = run_json(capsys, "runs", "events", "--token", token)
    in_run = run_json(capsys, "runs", "events", ids[1], "--token", token)
    assert [one["sequence_number"] for one in of_token] == [one["sequence_number"] for one in reversed(in_run)]
    assert {one["node"] for one in in_run} == {"check"}
    assert len(run_json(capsys, "runs", "events", "--limit", "3")) == 3
    monkeypatch.setattr("wonder.cli.run_events._FOUND_SHOWN", 2)
    assert "these are the newest 2; --limit N shows more" in command(capsys, "runs", "events")[1]
    status, printed = command(capsys, "runs", "events", "--after", "3")
    assert (status, "name the run, or use --since" in printed) == (2, True)
    assert "did you mean 'node_failed'?" in command(capsys, "runs", "events", "--type", "node_faild")[1]


def test_evt_3_profiles_are_compared_by_cost_latency_and_failures(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """EVT-1: each attempt of a call is an event with its profile and its model."""
    usage = {"input_tokens": 1_000, "output_tokens": 500}
    cheap = {"answers": [{"answer": "a", "usage": usage}]}
    flaky = {"answers": [{"error": {"status": 429}}, {"answer": "b", "usage": usage, "delay_ms": 30}]}
    prices = {"cost_per_1k_input_tokens": 1.0, "cost_per_1k_output_tokens": 2.0}
    half = {"cost_per_1k_input_tokens": 0.5, "cost_per_1k_output_tokens": 1.0}
    models = {
        "cheap": {"provider": "mock", "model_id": "small", "execution_config": cheap, **half},
        "dear": {"provider": "mock", "model_id": "large", "execution_config": flaky, **prices},
    }
    again = {"retry_policy": {"max_attempts": 2, "backoff": "none", "initial_delay_ms": 0}}

    def asks(profile: str) -> dict[str, Any]:
        implementation = {"prompt_spec_id": "p", "model_profile_id": profile}
        action = {"kind": "llm_call", "implementation": implementation, "execution": again}
        return {"action": action, "input_mapping": {}}

    nodes = {"one": asks("cheap"), "two": asks("dear"), "three": asks("cheap")}
    write("asks", nodes, ("one", "two"), ("two", "three"), prompts={"p": {"template": "hello"}}, models=models)
    assert run_json(capsys, "run", "asks.json")["status"] == "completed"
    calls = run_json(capsys, "runs", "events", "--type", "llm_call_completed")
    assert [(one["node"], one["metadata"]["profile"], "error" in one["metadata"]) for one in reversed(calls)] == [
        ("one", "cheap", False),
        ("two", "dear", True),
        ("two", "dear", False),
        ("three", "cheap", False),
    ]
    found = run_json(capsys, "costs", "--by", "profile,model")
    assert [(row["profile"], row["model"], row["calls"], row["failures"]) for row in found["rows"]] == [
        ("cheap", "mock/small", 2, 0),
        ("dear", "mock/large", 2, 1),
    ]
    assert [(row["input_tokens"], row["output_tokens"], row["cost_usd"]) for row in found["rows"]] == [
        (2_000, 1_000, 2.0),
        (1_000, 500, 2.0),
    ]
    dear = found["rows"][1]
    assert dear["latency_p95_ms"] >= 30 > dear["latency_p50_ms"]
    assert (found["calls"], found["cost_usd"]) == (4, 4.0)
    by_node = run_json(capsys, "costs", "--by", "node", "--workflow", "asks", "--since", "1h")["rows"]
    assert {row["node"]: row["calls"] for row in by_node} == {"one": 1, "two": 2, "three": 1}
    (day,) = run_json(capsys, "costs", "--by", "day")["rows"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day["day"])
    assert run_json(capsys, "costs", "--workflow", "another")["rows"] == []
    status, printed = command(capsys, "costs", "--by", "profile")
    assert (status, "█" in printed, "4 calls, 4.000000 USD" in printed) == (0, True, True)
    assert command(capsys, "costs", "--until", "1h") == (0, "no model was called in this time\n")
    assert "is not one of model, profile, node and day" in command(capsys, "costs", "--by", "week")[1]
