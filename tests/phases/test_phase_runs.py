"""Phase workflows run as the graphs that they are compiled to (PHS-1, PHS-2, PHS-3)."""

from typing import Any

import pytest

from support.phase_runs import PhaseRun, compiled, known, phases, sound, tool
from wonder.engine.decisions import DispatchTask
from wonder.phases.compiling import compile_phases

S, N, ANY = {"type": "string"}, {"type": "number"}, {}
LIST = {"type": "array", "items": N}
OPEN = known({"t/any": (ANY, ANY), "t/list": (ANY, {"type": "object", "properties": {"items": LIST, "note": S}})})


def step(name: str, fields: dict[str, Any] | None = None, /, **given: Any) -> dict[str, Any]:
    return {"name": name, "tool": tool("t", "any"), "input": given, **(fields or {})}


def run(*steps: Any, does: dict[str, Any], given: Any = None, what: Any = OPEN, **fields: Any) -> PhaseRun:
    return PhaseRun(phases(*steps, **fields), what, does).start(given)


def same(value: Any) -> Any:
    return value


def test_phases_run_one_after_the_other_and_the_last_step_gives_the_output():
    ended = run(
        step("A", x="@input.x"),
        step("B", y="@A.output.x"),
        does={"A": same, "B": lambda given: [given["y"]]},
        given={"x": 1},
    )
    assert (ended.status, ended.output) == ("completed", [1])
    assert ended.steps == {"A": {"x": 1}, "B": [1]}


def test_steps_of_a_phase_run_in_parallel_and_wait_for_all():
    workflow = phases(step("A"), [step("B"), step("C"), step("D")], step("E", c="@C.output", a="@A.output"))
    ended = PhaseRun(workflow, OPEN, {name: lambda _, name=name: name.lower() for name in "ABCD"} | {"E": same})
    player = ended.player
    player.start()
    player.complete("A", "a")
    assert sorted(token.node.ref for token in player.run.tokens.values()) == ["B", "C", "D"]
    player.complete("D", "d")
    player.complete("B", "b")
    assert [token.node.ref for token in player.run.tokens.values() if token.status == "dispatched"] == ["C"]
    player.complete("C", "c")
    player.complete("E", 5)
    assert player.run.state["steps"] == {"A": "a", "B": "b", "C": "c", "D": "d", "E": 5}
    assert player.run.output == 5


def test_phs_3_the_output_of_a_last_phase_of_several_steps_is_keyed_by_their_names():
    each = step("C c", {"forEach": "@A.output"}, n="@item")
    ended = run(step("A"), [step("B-b"), each], does={"A": lambda _: [1, 2], "B-b": lambda _: None, "C c": same})
    assert ended.output == {"B-b": None, "C c": [{"n": 1}, {"n": 2}]}
    assert ended.steps == {"A": [1, 2], "B-b": None, "C c": [{"n": 1}, {"n": 2}]}


@pytest.mark.parametrize("value", [None, False, 0, 1.5, "", "text", [], [None], {}, {"a": None}, 2**70])
def test_phs_3_the_output_can_be_any_json_value(value):
    assert run(step("A"), does={"A": lambda _: value}).output == value
    ended = run([step("A"), step("B")], step("C", a="@A.output"), does={"A": lambda _: value, "B": same, "C": same})
    assert ended.output == {"a": value}


def test_for_each_gives_the_list_of_outputs_in_order():
    ended = run(
        step("A"),
        step("B", {"forEach": "@A.output.items", "as": "order"}, n="@order.n", again="@item.n", at="@index"),
        step("C", all="@B.output", second="@B.output[1].n"),
        does={"A": lambda _: {"items": [{"n": 3}, {"n": 4}]}, "B": same, "C": same},
    )
    rows = [{"n": 3, "again": 3, "at": 0}, {"n": 4, "again": 4, "at": 1}]
    assert ended.output == {"all": rows, "second": 4}


def test_for_each_over_no_items_gives_an_empty_list():
    assert run(step("B", {"forEach": "@input"}), does={}, given=[]).output == []
    ended = run([step("A"), step("B", {"forEach": "@input"})], does={"A": same}, given=[])
    assert ended.output == {"A": {}, "B": []}


def test_phs_2_a_missing_list_fails_the_step():
    workflow = phases({**step("A"), "tool": tool("t", "list")}, step("B", {"forEach": "@A.output.items"}))
    for found in ({}, {"items": "[1]"}, {"items": "x"}, {"items": {}}, {"items": None}):
        ended = PhaseRun(workflow, OPEN, {"A": lambda _, found=found: found}).start()
        assert (ended.status, ended.player.error) == ("failed", "BAD_COLLECTION")
        assert "state.steps.A.items" in ended.error.message


def test_phs_2_more_items_than_max_iterations_fail_the_step_by_name():
    each = step("B", {"forEach": "@input", "maxIterations": 3}, n="@item")
    assert run(each, does={"B": same}, given=[1, 2, 3]).status == "completed"
    ended = run(each, does={"B": same}, given=[1, 2, 3, 4])
    assert (ended.status, ended.player.error) == ("failed", "ASSERTION_FAILED")
    assert "maxIterations of 3" in ended.error.message
    assert ended.inputs == {}
    assert run(step("B", {"forEach": "@input"}), does={"B": same}, given=[0] * 101).status == "failed"


def test_ctl_5a_max_parallel_limits_how_many_are_under_way():
    workflow = phases(step("B", {"forEach": "@input", "maxParallel": 2}, n="@item"))
    player = PhaseRun(workflow, OPEN, {}).player
    player.start([1, 2, 3, 4])
    assert player.inputs(player.token("B@0.0").node.id) == [{"n": 1}, {"n": 2}]


def test_phs_1_the_first_step_that_fails_fails_the_run_and_cancels_the_others():
    workflow = phases([step("A"), step("B", {"forEach": "@input"})], step("C"))
    player = PhaseRun(workflow, OPEN, {}).player
    player.start([1, 2])
    player.fail("B@0.1.1")
    assert (player.run.status, player.error) == ("failed", "BROKEN")
    assert len(player.aborted()) == 2
    assert player.run.error.node == "B"


def test_phs_2_a_missing_optional_value_leaves_its_key_out():
    first = {**step("A"), "tool": tool("t", "list")}
    second = step("B", note="@A.output.note", deep={"note": "@A.output.note", "x": 1}, list=["@A.output.note", 2])
    ended = run(first, second, does={"A": lambda _: {}, "B": same})
    assert ended.output == {"deep": {"x": 1}, "list": [None, 2]}
    ended = run(first, second, does={"A": lambda _: {"note": None}, "B": same})
    assert ended.output == {"note": None, "deep": {"note": None, "x": 1}, "list": [None, 2]}


def test_phs_2_only_whole_texts_are_refs_and_literals_stay_as_they_are():
    given = {
        "text": "see @input.x",
        "at": "@@input.x",
        "dollar": "$.input.x",
        "price": "$5",
        "literal": {"$literal": "@@x"},
        "nested": [{"$literal": 1, "b": "$"}, "@input.x", ["@@", True, None, 1.0]],
        "name": "state.x",
        "": {"a.b": "@input.x"},
    }
    ended = run(step("A", **given), does={"A": same}, given={"x": 7})
    assert ended.output == {
        "text": "see @input.x",
        "at": "@input.x",
        "dollar": "$.input.x",
        "price": "$5",
        "literal": {"$literal": "@x"},
        "nested": [{"$literal": 1, "b": "$"}, 7, ["@", True, None, 1.0]],
        "name": "state.x",
        "": {"a.b": 7},
    }


@pytest.mark.parametrize(
    "name", ["a-b", "a b", "a.b", 'say "hi"', "it's", "a\\b", "[0]", "$", "ünï", "phase-1", "x.each", "select", "a/b@1"]
)
def test_a_step_may_have_any_name(name):
    quoted = '"' + name.replace('"', '""') + '"'
    ended = run(
        step(name, x="@input"),
        [step("x", {"forEach": f"@{name}.output.x"}, y="@item"), step(name + "2", z=f"@{quoted}.output.x[0]")],
        step("last", all=f"@{name}2.output", x="@x.output"),
        does={name: same, "x": same, name + "2": same, "last": same},
        given=[5],
    )
    assert ended.output == {"all": {"z": 5}, "x": [{"y": 5}]}
    assert list(ended.steps) == [name, "x", name + "2", "last"]


def test_sleep_waits_so_long_or_until_a_moment():
    player = PhaseRun(phases({"name": "z", "sleep": {"ms": 30000}}), OPEN, {}).player
    player.start()
    assert list(player.run.timers.values()) == [player.now_ms + 30_000]
    player.fire("sleep")
    assert (player.run.status, player.run.output) == ("completed", {})
    for until, given in (("1970-01-02T00:00:00Z", None), ("@input.at", {"at": "1970-01-02T00:00:00Z"})):
        player = PhaseRun(phases({"name": "z", "sleep": {"until": until}}), OPEN, {}).player
        player.start(given)
        assert list(player.run.timers.values()) == [86_400_000]


def test_sleep_until_what_is_missing_or_no_moment_fails_the_step():
    first = {**step("A"), "tool": tool("t", "list")}
    workflow = phases(first, {"name": "z", "sleep": {"until": "@A.output.note"}})
    missing = PhaseRun(workflow, OPEN, {"A": lambda _: {}}).start()
    assert (missing.status, missing.player.error) == ("failed", "ACTION_INPUT_SCHEMA")
    none = PhaseRun(workflow, OPEN, {"A": lambda _: {"note": "soon"}}).start()
    assert none.status == "failed"
    assert "soon" in none.error.message


def test_sleep_in_a_for_each_reads_the_item():
    workflow = phases({"name": "z", "forEach": "@input", "as": "at", "sleep": {"until": "@at.time"}})
    player = PhaseRun(workflow, OPEN, {}).player
    player.start([{"time": "1970-01-03"}, {"time": "1970-01-02"}])
    assert sorted(player.run.timers.values()) == [86_400_000, 2 * 86_400_000]


def test_phs_1_retry_is_the_tasks_with_a_constant_delay_and_without_it_there_is_one_attempt():
    def written(**retry: Any) -> Any:
        workflow = phases(step("A", retry))
        return compile_phases(workflow, sound(workflow, OPEN))["workflow"]["nodes"]["A"]

    assert "task" not in written()
    task = written(retry={"maxAttempts": 5, "backoffMs": 20})["task"]
    assert task["retry"] == {"max_attempts": 5, "backoff": "none", "initial_delay_ms": 20}
    assert [one["on_failure"] for one in task["steps"]] == ["retry"]
    assert written(retry={})["task"]["retry"] == {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 1000}
    compiled(phases(step("A", {"retry": {}, "forEach": "@input"}), step("A.call"), step("A.call~")), OPEN)


def test_phs_1_the_graph_is_the_one_of_the_specification():
    workflow = phases(step("A"), [step("B"), step("S", {"forEach": "@A.output.items"})], step("Z"))
    bundle = compile_phases(workflow, sound(workflow, known({"t/any": (ANY, {"type": "object"})})))["workflow"]
    assert list(bundle["nodes"]) == ["A", "phase-1", "B", "S.each", "S", "S.all", "phase-1.all", "Z"]
    assert bundle["initial_node"] == "A"
    edges = [
        (one["from"], one["to"], one.get("synchronization", {}).get("sibling_group"), "foreach" in one)
        for one in bundle["transitions"]
    ]
    assert edges == [
        ("A", "phase-1", None, False),
        ("phase-1", "B", None, False),
        ("phase-1", "S.each", None, False),
        ("S.each", "S", None, True),
        ("S", "S.all", "S.each", False),
        ("B", "phase-1.all", "phase-1", False),
        ("S.all", "phase-1.all", "phase-1", False),
        ("phase-1.all", "Z", None, False),
    ]
    assert {
        node.ref: node.pure is not None
        for node in compiled(workflow, known({"t/any": (ANY, {"type": "object"})})).nodes.values()
    } == {
        **dict.fromkeys(["A", "B", "S", "Z"], False),
        **dict.fromkeys(["phase-1", "S.each", "S.all", "phase-1.all"], True),
    }


def test_what_a_tool_takes_and_gives_is_checked_at_run_time_too():
    takes, gives = {"type": "object", "properties": {"n": N}}, {"type": "object"}
    workflow = phases(step("A", n="@input.n"), {"name": "T", "transform": "code", "input": {"s": "@A.output"}})
    what = known({"t/any": (takes, gives)}, {"code": (ANY, S)})
    nodes = compile_phases(workflow, sound(workflow, what))["workflow"]["nodes"]
    assert (nodes["A"]["action"]["requires"], nodes["A"]["action"]["produces"]) == (takes, gives)
    assert nodes["T"]["action"] == {"kind": "transform", "implementation": {"source": "code"}, "produces": S}


def test_servers_and_triggers_come_along():
    servers = {"t": {"transport": "stdio", "command": ["serve"], "env": {"A": "b"}}}
    fires = {
        "workflowId": "next",
        "forEach": "@a-b.output",
        "inputs": {"x": ["@item.x", "@@y"], "y": "@a-b.output[0]"},
        "max_retries": 2,
    }
    workflow = phases(step("a-b"), mcp_servers=servers, triggers=[fires], description="what it does")
    bundle = compile_phases(workflow, sound(workflow, OPEN))
    assert bundle["mcp_servers"] == servers
    assert bundle["workflow"]["description"] == "what it does"
    assert bundle["workflow"]["triggers"] == [
        {
            "workflowId": "next",
            "forEach": '@"a-b".output',
            "inputs": {"x": ["@item.x", "@@y"], "y": '@"a-b".output[0]'},
            "max_retries": 2,
        }
    ]


def test_a_step_is_dispatched_once_with_its_own_input():
    player = PhaseRun(phases([step("A", x=1), step("B", x=2)]), OPEN, {}).player
    player.start()
    assert [task.input for task in player.of(DispatchTask)] == [{"x": 1}, {"x": 2}]
