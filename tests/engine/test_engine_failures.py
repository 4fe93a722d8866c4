"""CTL-15, CTL-15a, EXP-7, FIL-2, FIL-3: failures and their routes, and pure nodes."""

from typing import Any

import pytest

from support.engine_runs import Player, workflow
from wonder.engine.decisions import ContinueLater, DispatchTask, RecordEvent, SendMetric
from wonder.engine.facts import CancelRequested, ProcessLost, TaskFailed, TimerFired, WorkerLost
from wonder.engine.failure import Failure
from wonder.engine.limits import Limits

TASK: dict[str, Any] = {}


def test_ctl_15_only_transitions_that_read_last_error_take_a_failure() -> None:
    compiled = workflow(
        {
            "a": TASK,
            "ok": TASK,
            "fix": {"input": {"one": "$._last_error", "two": "$.state._last_error"}},
            "next": {"input": "$._last_error"},
        },
        [
            {"from": "a", "to": "ok"},
            {"from": "a", "to": "fix", "if": "_last_error.code = 'BROKEN'"},
            {"from": "fix", "to": "next"},
        ],
    )
    player = Player(compiled).start()
    player.fail("a")
    assert player.live() == ["fix@0 dispatched"]
    assert player.ends() == {"a@0": "failed"}
    error = {
        "node": "a",
        "code": "BROKEN",
        "message": "it is BROKEN",
        "attempts": 1,
        "retryable": False,
        "details": None,
    }
    assert player.inputs("fix") == [{"one": error, "two": error}]
    assert "_last_error" not in player.run.state
    player.complete("fix")
    assert player.inputs("next") == [None]  # when such a token succeeds, it is gone


def test_ctl_15_error_transitions_are_taken_in_tiers() -> None:
    compiled = workflow(
        {"a": TASK, "first": TASK, "second": TASK},
        [
            {"from": "a", "to": "second", "if": "state._last_error IS NOT NULL", "priority": 2},
            {"from": "a", "to": "first", "if": "state._last_error.code = 'RARE'", "priority": 1},
        ],
    )
    for code, expected in (("RARE", "first"), ("BROKEN", "second")):
        player = Player(compiled).start()
        player.fail("a", code)
        assert player.live() == [f"{expected}@0 dispatched"]


def test_ctl_15_a_success_takes_no_error_transition() -> None:
    compiled = workflow({"a": TASK, "b": TASK}, [{"from": "a", "to": "b", "if": "_last_error.code = 'BROKEN'"}])
    player = Player(compiled).start()
    player.complete("a")
    assert player.error == "NO_TRANSITION_MATCHED"


def test_ctl_15_a_failed_branch_may_be_routed_into_its_join() -> None:
    join = {"sibling_group": "a"}
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "c", "join": join},
            {"from": "b", "to": "c", "join": join, "if": "_last_error IS NOT NULL", "priority": 1},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.fail("b@0.0")
    player.complete("b@0.1")
    assert player.live() == ["c@0.fanin dispatched"]
    assert player.events("token_failed")[0].path_id == "0.0"


@pytest.mark.parametrize(
    ("strategy", "fails"),
    [("all", True), ("any", False), ({"m_of_n": 2}, False), (None, True)],
)
def test_ctl_15a_a_failure_stays_in_its_branch_only_where_joins_can_do_without(strategy: Any, fails: bool) -> None:
    joins = [] if strategy is None else [{"from": "b", "to": "c", "join": {"strategy": strategy, "sibling_group": "a"}}]
    compiled = workflow({"a": TASK, "b": TASK, "c": TASK}, [{"from": "a", "to": "b", "spawn_count": 3}, *joins])
    player = Player(compiled).start()
    player.complete("a")
    player.fail("b@0.1")
    assert player.run.status == ("failed" if fails else "running")
    assert (player.ends().get("b@0.0") == "cancelled") is fails
    assert player.error == ("BROKEN" if fails else None)


def test_ctl_15a_a_failure_goes_outward_until_a_group_can_do_without_the_branch() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": TASK, "in": TASK, "out": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "c", "spawn_count": 2},
            {"from": "c", "to": "in", "join": {"sibling_group": "b"}},
            {"from": "in", "to": "out", "join": {"strategy": "any", "sibling_group": "a"}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.0")
    player.fail("c@0.0.1")
    assert player.live() == ["b@0.1 dispatched"]
    assert player.ends()["c@0.0.0"] == "cancelled"
    player.complete("b@0.1")
    player.fail("c@0.1.0")
    assert player.error == "FAN_IN_UNSATISFIABLE"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"foreach": {"collection": "state.none"}}, "BAD_COLLECTION"),
        ({"if": "json_extract('{', '$')"}, "EXPRESSION_ERROR"),
        ({"if": "false"}, "NO_TRANSITION_MATCHED"),
    ],
)
def test_ctl_15a_failures_of_routing_are_never_routed(fields: dict[str, Any], code: str) -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "fix": TASK},
        [
            {"from": "a", "to": "b", **fields},
            {"from": "a", "to": "fix", "if": "_last_error IS NOT NULL", "priority": 1},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    assert player.error == code


def test_ctx_5a_a_target_that_can_t_be_written_fails_the_node_and_writes_nothing() -> None:
    compiled = workflow(
        {"a": {"output": {"state.x": "$.x", "state.x.y": "$.y"}}, "fix": {"input": "$._last_error.code"}},
        [{"from": "a", "to": "fix", "if": "_last_error IS NOT NULL"}],
    )
    player = Player(compiled).start()
    player.complete("a", {"x": 1, "y": 2})
    assert player.inputs("fix") == ["TARGET_UNWRITABLE"]
    assert player.run.state == {}


@pytest.mark.parametrize("target", ["_branch.output.x", "state"])
def test_ctx_5a_no_branch_and_no_object_are_clear_failures(target: str) -> None:
    player = Player(workflow({"a": {"output": {target: "$.x"}}}, [])).start()
    player.complete("a", {"x": 1})
    assert player.error == "TARGET_UNWRITABLE"


def test_tsk_5_a_task_whose_worker_was_lost_is_dispatched_again_at_most_three_times() -> None:
    player = Player(workflow({"a": {"input": {"n": 1}}}, [])).start()
    token = player.token("a").id
    for losses in (1, 2, 3):
        (again,) = [d for d in player.bring(WorkerLost(token)) if isinstance(d, DispatchTask)]
        assert (again.input, again.losses) == ({"n": 1}, losses)
    player.bring(WorkerLost(token))
    assert player.error == "WORKER_LOST"


def test_fil_2_a_pure_node_is_never_dispatched() -> None:
    compiled = workflow({"a": {"updates": [("state.n", "1")]}, "b": TASK}, [{"from": "a", "to": "b"}])
    player = Player(compiled).start()
    assert player.live() == ["b@0 dispatched"]
    assert [d.node_id for d in player.of(DispatchTask)] == ["b"]
    assert player.run.state == {"n": 1}


@pytest.mark.parametrize(
    ("updates", "state"),
    [
        ([("state.n", "1 + 1"), ("state.m", "n * 10")], {"n": 2, "m": 20}),  # each sees those before it
        ([("state.t", {"$literal": "1 + 1"}), ("state.v", [1, {"a": None}])], {"t": "1 + 1", "v": [1, {"a": None}]}),
        ([("state.flag", "1"), ("state.other", "1")], {"flag": True, "other": 1}),  # EXP-6: the schema says boolean
        ([("state.copy", "input")], {"copy": {}}),
    ],
)
def test_fil_3_updates(updates: list[tuple[str, Any]], state: Any) -> None:
    schema = {"type": "object", "properties": {"flag": {"type": ["boolean", "null"]}}, "additionalProperties": True}
    player = Player(workflow({"a": {"updates": updates}}, [], context_schema=schema)).start()
    assert player.run.state == state
    assert player.run.status == "completed"


@pytest.mark.parametrize("root", ["state", "output"])
@pytest.mark.parametrize(("expr", "fits"), [("input.one", False), ("input.one + 0", True), ("input.yes", True)])
def test_exp_6_a_bare_path_is_copied_unchanged_and_1_does_not_fit_a_boolean(root: str, expr: str, fits: bool) -> None:
    """The same as an output_mapping does, which can only copy."""
    schema = {"type": "object", "properties": {"flag": {"type": "boolean"}}}
    nodes = {"a": {"updates": [(f"{root}.flag", expr)]}}
    player = Player(workflow(nodes, [], context_schema=schema, output_schema=schema)).start({"one": 1, "yes": True})
    mapped = Player(workflow({"a": {"output": {f"{root}.flag": "$"}}}, [], context_schema=schema, output_schema=schema))
    mapped.start().complete("a", True if fits else 1)
    assert player.error == mapped.error == (None if fits else {"state": "CONTEXT_SCHEMA"}.get(root, "OUTPUT_SCHEMA"))
    assert not fits or getattr(player.run, root) == {"flag": True}


def test_exp_7_an_update_that_can_t_be_evaluated_fails_the_node() -> None:
    updates = [("state.n", "1"), ("state.m", "json_extract('{', '$')")]
    player = Player(workflow({"a": {"updates": updates}}, [])).start()
    assert player.error == "EXPRESSION_ERROR"
    assert player.run.state == {}


def test_an_update_that_nests_without_end_fails_instead_of_crashing() -> None:
    compiled = workflow({"a": {"updates": [("state.inner", "state")]}}, [{"from": "a", "to": "a"}])
    player = Player(compiled).start()
    assert player.error == "BAD_VALUE"


@pytest.mark.parametrize(
    ("expr", "code"), [("1 = 1", None), ("1 = 2", "ASSERTION_FAILED"), ("NULL", "ASSERTION_FAILED")]
)
def test_an_assertion_fails_unless_it_holds(expr: str, code: str | None) -> None:
    assert Player(workflow({"a": {"kind": "assert", "expr": expr}}, [])).start().error == code


def test_emit_metric_sends_a_number_with_dimensions() -> None:
    node = {
        "kind": "emit_metric",
        "metric_name": "m",
        "value": {"expr": "input.n * 2"},
        "dimensions": {"d": "is {{input.n}}"},
    }
    player = Player(workflow({"a": node}, [])).start({"n": 3})
    (metric,) = player.of(SendMetric)
    assert (metric.name, metric.value, metric.dimensions) == ("m", 6, {"d": "is 3"})


@pytest.mark.parametrize("value", [{"expr": "'x'"}, {"expr": "input.huge"}, {"expr": "-1e201"}, 1.7e308])
def test_a_metric_that_is_no_number_or_too_large_to_be_added_up_fails_its_node(value: Any) -> None:
    node = {"kind": "emit_metric", "metric_name": "m", "value": value}
    player = Player(workflow({"a": node}, [])).start({"huge": 10**400})
    assert player.error == "METRIC_NOT_NUMBER"
    assert player.of(SendMetric) == []


def test_a_dimension_of_a_metric_has_at_most_so_many_characters() -> None:
    node = {"kind": "emit_metric", "metric_name": "m", "value": 1, "dimensions": {"d": "{{input.text}}"}}
    assert Player(workflow({"a": node}, [])).start({"text": "x" * 1_000}).error is None
    assert Player(workflow({"a": node}, [])).start({"text": "x" * 1_001}).error == "TEMPLATE_TOO_LARGE"


def test_ctl_20_a_run_does_so_many_pure_nodes_in_one_turn() -> None:
    compiled = workflow(
        {"a": {"updates": [("state.n", "coalesce(state.n, 0) + 1")]}},
        [{"from": "a", "to": "a"}],
        timeout_ms=50,
        on_timeout="fail",
    )
    player = Player(compiled, Limits(pure_nodes_max=10)).start()
    assert player.run.state == {"n": 10}
    assert isinstance(player.last[-1], ContinueLater)
    player.go_on()
    assert player.run.state == {"n": 20}
    assert player.run.has_work
    player.now_ms += 50
    player.bring(TimerFired("workflow"))  # an endless loop times out like any other
    assert player.error == "WORKFLOW_TIMEOUT"


def test_ctl_20_an_endless_pure_loop_can_be_cancelled_and_keeps_flat() -> None:
    compiled = workflow({"a": {"updates": []}}, [{"from": "a", "to": "a"}])
    player = Player(compiled).start()
    for _ in range(5):
        player.go_on()
        assert len(player.run.tokens) == 1
        assert len(player.run.root.tokens) == 1
    player.bring(CancelRequested())
    assert player.run.status == "cancelled"


def test_fan_outs_that_nest_without_end_fail_clearly() -> None:
    compiled = workflow({"a": {"updates": []}}, [{"from": "a", "to": "a", "spawn_count": 1}])
    assert Player(compiled).start().error == "FAN_OUT_TOO_DEEP"


def test_branches_that_double_again_and_again_fail_before_they_take_all_memory() -> None:
    """CTL-6, RES-6: nested, they are bounded by twice what one foreach may make."""
    compiled = workflow({"a": {}, "b": {}}, [{"from": "a", "to": "b"}, {"from": "b", "to": "b", "spawn_count": 2}])
    player = Player(compiled, Limits(foreach_limit=5)).start()
    player.complete("a")
    most = 0
    while not player.run.ended:
        most = max(most, len(player.run.tokens))
        player.complete(f"b@{player.tokens('b')[0].path_id}")
    assert player.error == "RUN_LIMIT_LIVE_TOKENS"
    assert most == 10


def test_tsk_6_attempts_that_were_lost_with_their_process_are_told_and_counted() -> None:
    """However often that happens: TSK-5's limit is on lost workers."""
    player = Player(workflow({"a": {"input": {"n": 1}}}, [])).start()
    for losses in range(1, 6):
        (again,) = [d for d in player.bring(ProcessLost()) if isinstance(d, DispatchTask)]
        assert (again.input, again.losses) == ({"n": 1}, losses)
    told = [event.metadata for event in player.of(RecordEvent) if event.type == "token_dispatched"]
    assert told == [{}, *({"losses": n, "lost_with": "process"} for n in range(1, 6))]
    assert not player.bring(ProcessLost(frozenset([player.token("a").id])))
    player.complete("a", {})
    (ended,) = [event for event in player.of(RecordEvent) if event.type == "node_completed"]
    assert ended.metadata["attempts"] == 6


def test_ctl_15_the_attempts_of_an_error_include_the_lost_ones() -> None:
    player = Player(workflow({"a": TASK}, [])).start()
    player.bring(ProcessLost())
    player.bring(TaskFailed(player.token("a").id, Failure("BROKEN", "broken", 3)))
    assert player.run.error is not None
    assert player.run.error.attempts == 4
