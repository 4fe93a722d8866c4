"""CTL-1 to CTL-7 and CTL-14: tokens, choosing, fan-out, scopes and loops."""

from typing import Any

import msgspec
import pytest

from support.engine_runs import Player, append, workflow
from wonder.engine.decisions import CreateToken, DispatchTask, WriteContext
from wonder.engine.facts import TaskStarted
from wonder.engine.limits import Limits
from wonder.engine.replay import comparable, fold
from wonder.engine.restore import Snapshot, restore, take_snapshot
from wonder.engine.views import view_from

TASK: dict[str, Any] = {}


def test_ctl_1_a_token_is_dispatched_in_the_turn_that_made_it() -> None:
    player = Player(workflow({"a": TASK}, [])).start()
    assert [type(d).__name__ for d in player.last if isinstance(d, CreateToken | DispatchTask)] == [
        "CreateToken",
        "DispatchTask",
    ]
    assert player.live() == ["a@0 dispatched"]


def test_ctl_1_executing_and_node_started_come_with_the_true_time() -> None:
    player = Player(workflow({"a": TASK}, [])).start()
    player.now_ms = 5_000
    player.bring(TaskStarted(player.token("a").id, 1_234))
    assert player.live() == ["a@0 executing"]
    assert [event.at_ms for event in player.events("node_started")] == [1_234]
    player.complete("a")
    assert len(player.events("node_started")) == 1


def test_ctl_1_a_task_time_out_ends_its_token_timed_out() -> None:
    player = Player(workflow({"a": TASK}, [])).start()
    player.fail("a", "TASK_TIMEOUT")
    assert player.ends() == {"a@0": "timed_out"}
    assert player.error == "TASK_TIMEOUT"


def test_ctl_2_paths_tell_the_branch_and_the_fan_in_once() -> None:
    loop = {"from": "c", "to": "a", "loop_config": {"max_iterations": 1}}
    player = Player(
        workflow(
            {"a": TASK, "b": TASK, "c": TASK, "d": TASK},
            [
                {"from": "a", "to": "b", "spawn_count": 2},
                {"from": "b", "to": "c", "join": {"sibling_group": "a"}},
                loop,
                {"from": "c", "to": "d", "priority": 1},
            ],
        )
    ).start()
    player.complete("a")
    assert [t.path_id for t in player.tokens("b")] == ["0.0", "0.1"]
    player.complete("b@0.0")
    player.complete("b@0.1")
    assert player.token("c").path_id == "0.fanin"
    player.complete("c")
    player.complete("a")
    assert [t.path_id for t in player.tokens("b")] == ["0.fanin.0", "0.fanin.1"]
    player.complete("b@0.fanin.0")
    player.complete("b@0.fanin.1")
    assert player.token("c").path_id == "0.fanin"
    player.complete("c")
    assert player.token("d").path_id == "0.fanin"


@pytest.mark.parametrize(
    ("n", "expected"),
    [(0, ["low"]), (5, ["high", "higher"]), (3, ["high"]), (None, ["other"])],
)
def test_ctl_3_all_matches_of_the_first_matching_tier_fire(n: int | None, expected: list[str]) -> None:
    compiled = workflow(
        {"a": {"output": {"state.n": "$.n"}}, "high": TASK, "higher": TASK, "low": TASK, "other": TASK},
        [
            {"from": "a", "to": "other", "priority": 2},
            {"from": "a", "to": "high", "if": "state.n > 2"},
            {"from": "a", "to": "higher", "if": "state.n > 4"},
            {"from": "a", "to": "low", "if": "state.n <= 2", "priority": 1},
        ],
    )
    player = Player(compiled).start()
    player.complete("a", {"n": n})
    assert [t.node.ref for t in player.run.tokens.values()] == expected


def test_ctl_3_what_was_looked_at_is_told_with_values() -> None:
    compiled = workflow(
        {"a": {"output": {"state.n": "$.n"}}, "b": TASK, "c": TASK},
        [{"from": "a", "to": "b", "if": "state.n > 2"}, {"from": "a", "to": "c", "priority": 7}],
    )
    player = Player(compiled).start()
    player.complete("a", {"n": 1})
    told = player.events("transitions_evaluated")[0].metadata["tiers"]
    assert [tier["priority"] for tier in told] == [0, 7]
    assert told[0]["candidates"][0] == {
        "transition": "t0-id",
        "to": "b",
        "matched": False,
        "condition": "state.n > 2",
        "values": {"state.n": 1},
    }
    assert told[1]["candidates"][0]["matched"] is True


def test_ctl_4_a_node_without_transitions_ends_its_token_and_the_last_one_ends_the_run() -> None:
    both = [{"from": "a", "to": "b"}, {"from": "a", "to": "c"}]
    player = Player(workflow({"a": TASK, "b": TASK, "c": TASK}, both)).start()
    player.complete("a")
    player.complete("b")
    assert player.run.status == "running"
    player.complete("c")
    assert player.run.status == "completed"


def test_ctl_4_no_match_names_the_node_and_every_condition_with_its_value() -> None:
    compiled = workflow({"a": TASK, "b": TASK}, [{"from": "a", "to": "b", "if": "state.n > 2"}])
    player = Player(compiled).start()
    player.complete("a")
    assert player.error == "NO_TRANSITION_MATCHED"
    assert player.run.error is not None
    assert "'a'" in player.run.error.message
    assert "state.n > 2 is NULL" in player.run.error.message
    assert player.ends() == {"a@0": "failed"}


@pytest.mark.parametrize(
    ("transitions", "group_size"),
    [
        ([{"from": "a", "to": "b"}], None),
        ([{"from": "a", "to": "b", "spawn_count": 1}], 1),
        ([{"from": "a", "to": "b", "spawn_count": 3}], 3),
        ([{"from": "a", "to": "b", "foreach": {"collection": "input.one"}}], 1),
        ([{"from": "a", "to": "b"}, {"from": "a", "to": "b"}], 2),
        ([{"from": "a", "to": "b"}, {"from": "a", "to": "b", "if": "false"}], None),
        # A tier that a join names fans out even when one transition matches.
        ([{"from": "a", "to": "b"}, {"from": "a", "to": "b", "if": "false"}, "join a"], 1),
        ([{"from": "a", "to": "b", "ref": "t"}, {"from": "a", "to": "b", "if": "false"}, "join t"], 1),
    ],
)
def test_ctl_5_what_is_a_fan_out(transitions: list[Any], group_size: int | None) -> None:
    made = [t for t in transitions if isinstance(t, dict)]
    for name in [t.removeprefix("join ") for t in transitions if isinstance(t, str)]:
        made.append({"from": "b", "to": "c", "join": {"sibling_group": name}})
    player = Player(workflow({"a": TASK, "b": TASK, "c": TASK}, made)).start({"one": [7]})
    player.complete("a")
    groups = list(player.run.groups.values())
    assert [group.total for group in groups] == ([] if group_size is None else [group_size])


def test_ctl_5_branches_know_their_place_item_and_outer_branch() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": {"input": {"branch": "$._branch", "inner": "$.y", "outer": "$.x"}}},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs", "item_var": "x"}, "ref": "outer"},
            {"from": "b", "to": "c", "foreach": {"collection": "x.ys", "item_var": "y"}, "ref": "inner"},
        ],
    )
    player = Player(compiled).start({"xs": [{"ys": [1]}, {"ys": [2, 3]}]})
    player.complete("a")
    player.complete("b@0.1")
    last = player.inputs("c")[-1]
    assert (last["inner"], last["outer"]) == (3, {"ys": [2, 3]})
    assert last["branch"] == {
        "index": 1,
        "total": 2,
        "fan_out_node_id": "b",
        "fan_out_transition_id": "inner-id",
        "output": {},
        "item": 3,
        "item_index": 1,
        "parent": {
            "index": 1,
            "total": 2,
            "fan_out_node_id": "a",
            "fan_out_transition_id": "outer-id",
            "output": {},
            "item": {"ys": [2, 3]},
            "item_index": 1,
        },
    }


def test_ctl_5_branches_are_numbered_by_transition_then_by_item() -> None:
    compiled = workflow(
        {"a": TASK, "b": {"input": "$._branch.index"}, "c": {"input": "$._branch.index"}},
        [
            {"from": "a", "to": "c", "spawn_count": 2},
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs"}},
        ],
    )
    player = Player(compiled).start({"xs": [5, 6]})
    player.complete("a")
    assert player.inputs("c") == [0, 1]
    assert player.inputs("b") == [2, 3]


def test_ctl_5a_max_parallel_makes_all_tokens_and_begins_so_many() -> None:
    compiled = workflow(
        {"a": TASK, "b": {"output": {"state.x": "$.x"}}, "c": TASK},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs", "max_parallel": 2}},
            {"from": "b", "to": "c", "join": {"sibling_group": "a", "merge": append("state.all")}},
        ],
    )
    player = Player(compiled).start({"xs": [1, 2, 3, 4, 5]})
    player.complete("a")
    most = 0
    for number in range(5):
        under_way = [t for t in player.tokens("b") if t.status == "dispatched"]
        assert len(player.tokens("b")) == 5
        most = max(most, len(under_way))
        assert len(under_way) == min(2, 5 - number)
        player.complete(f"b@{under_way[0].path_id}", {"x": number})
    assert most == 2
    assert player.run.state["all"] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("collection", "code"),
    [
        ([], None),
        (None, "BAD_COLLECTION"),
        ("text", "BAD_COLLECTION"),
        ({"a": 1}, "BAD_COLLECTION"),
        ([1] * 6, "FOREACH_LIMIT_EXCEEDED"),
    ],
)
def test_ctl_6_collections_that_are_empty_wrong_or_too_long(collection: Any, code: str | None) -> None:
    compiled = workflow({"a": TASK, "b": TASK}, [{"from": "a", "to": "b", "foreach": {"collection": "input.xs"}}])
    player = Player(compiled, Limits(foreach_limit=5)).start({} if collection is None else {"xs": collection})
    player.complete("a")
    assert player.error == code
    assert player.run.status == ("failed" if code else "completed")
    assert not player.inputs("b")


@pytest.mark.parametrize(
    ("collection", "items"),
    [
        ("json_array(1, 'two', input.xs)", [1, "two", [3, 4]]),
        ("coalesce(state.none, input.xs)", [3, 4]),
        ("CASE WHEN input.few THEN json_array(input.xs -> 0) ELSE input.xs END", [3]),
        ("json_remove(input.xs, '$[0]')", [4]),
        ("input.text -> '$'", ["a"]),
        ("$.input.rows[*].id", [7, 8]),
        ("$.input.rows[?@.ok == true].id", [8]),
        ("input.text", "BAD_COLLECTION"),  # a string that happens to be JSON is a string
        ("json_array_length(input.xs)", "BAD_COLLECTION"),
        ("NULL", "BAD_COLLECTION"),
        ("json_extract('{', '$.a')", "EXPRESSION_ERROR"),
    ],
)
def test_ctx_6_the_collection_of_a_foreach_is_a_path_a_query_or_any_expression(collection: str, items: Any) -> None:
    made = {"from": "a", "to": "b", "foreach": {"collection": collection}}
    player = Player(workflow({"a": TASK, "b": {"input": "$.item"}}, [made]))
    rows = [{"id": 7, "ok": False}, {"id": 8, "ok": True}]
    player.start({"xs": [3, 4], "few": True, "rows": rows, "text": '["a"]'}).complete("a")
    assert (player.error or player.inputs("b")) == items


def test_ctx_6_a_collection_that_is_computed_sees_the_branch_and_the_item_around_it() -> None:
    outer = {"from": "a", "to": "b", "foreach": {"collection": "input.xs", "item_var": "x"}}
    inner = {"from": "b", "to": "c", "foreach": {"collection": "json_array(x, _branch.index)", "item_var": "y"}}
    player = Player(workflow({"a": TASK, "b": TASK, "c": {"input": "$.y"}}, [outer, inner])).start({"xs": ["p", "q"]})
    player.complete("a")
    player.complete("b@0.0")
    player.complete("b@0.1")
    assert player.inputs("c") == ["p", 0, "q", 1]


GIVEN: dict[str, Any] = {"data": {"secret": 1, "name": "Ada", "deep": {"a": 1, "b": 2}}, "n": 1}


@pytest.mark.parametrize(
    ("updates", "state"),
    [
        # a key that was removed stays removed
        ([("state.data", "json_remove(state.data, '$.secret')")], {"data": {"name": "Ada", "deep": {"a": 1, "b": 2}}}),
        ([("state.data.deep", "json_remove(state.data.deep, '$.a')")], {"data": {**GIVEN["data"], "deep": {"b": 2}}}),
        ([("state.data", {"$literal": {}})], {"data": {}}),
        # what was written as a whole stays so when something in it is written
        ([("state.data", {"$literal": {}}), ("state.data.x.y", "1")], {"data": {"x": {"y": 1}}}),
        # a target hides what is there, and nothing else
        ([("state.data.name", "'Bob'")], {"data": {**GIVEN["data"], "name": "Bob"}}),
        (
            [("state.data.deep.a", "7"), ("state.data.new.x", "8")],
            {"data": {**GIVEN["data"], "deep": {"a": 7, "b": 2}, "new": {"x": 8}}},
        ),
        # written in parts first, then as a whole
        ([("state.data.name", "'Bob'"), ("state.data", {"$literal": {"z": 1}})], {"data": {"z": 1}}),
        # an object, then something else, then an object made on the way of another target
        ([("state.data", {"$literal": {"z": 1}}), ("state.data", "5")], {"data": 5}),
        ([("state", {"$literal": {"only": True}})], None),
        ([("state", {"$literal": {}})], None),
        ([("_branch.output.data", {"$literal": {"z": 1}})], {"data": {"z": 1}}),
    ],
)
def test_ctl_7_a_branch_reads_exactly_what_it_wrote(updates: list[Any], state: Any) -> None:
    nodes = {"a": {"output": {"state": "$"}}, "b": {"updates": updates}, "c": {"input": "$.state"}, "d": TASK}
    ways = [{"from": "a", "to": "b", "spawn_count": 1}, {"from": "b", "to": "c"}, {"from": "c", "to": "d"}]
    player = Player(workflow(nodes, ways)).start()
    player.complete("a", GIVEN)
    whole = updates[0][1]["$literal"] if state is None else {**GIVEN, **state}
    assert player.inputs("c") == [whole]
    assert player.run.state == GIVEN  # the others, and the run, see nothing of it
    # Rows, events and a restart say the same.
    assert fold(player.events()) == comparable(take_snapshot(player.run))
    stored = msgspec.json.decode(msgspec.json.encode(take_snapshot(player.run)), type=Snapshot)
    restored = restore(player.compiled, stored)
    (token,) = restored.tokens.values()
    assert view_from(restored, token.scope, None, with_branch=False)["state"] == whole


def test_ctl_7_an_inner_branch_reads_over_what_the_outer_one_wrote_as_a_whole() -> None:
    nodes = {
        "a": {"output": {"state": "$"}},
        "b": {"updates": [("state.data", {"$literal": {"outer": 1}})]},
        "c": {"updates": [("state.data.inner", "2")]},
        "d": {"input": "$.state"},
    }
    ways = [{"from": one, "to": other, "spawn_count": 1} for one, other in ("ab", "bc")]
    player = Player(workflow(nodes, [*ways, {"from": "c", "to": "d"}])).start()
    player.complete("a", GIVEN)
    assert player.inputs("d") == [{"data": {"outer": 1, "inner": 2}, "n": 1}]


def test_ctl_7_a_branch_writes_to_its_own_output_and_reads_it_over_the_state() -> None:
    compiled = workflow(
        {
            "a": {"output": {"state": {"user": {"name": "Ada", "age": 36}, "n": 1}}},
            "b": {"output": {"state.user.age": "$.age", "_branch.output.mine": "$.age", "output.last": "$.age"}},
            "c": {"input": {"state": "$.state", "output": "$.output", "own": "$._branch.output"}},
        },
        [{"from": "a", "to": "b", "spawn_count": 2}, {"from": "b", "to": "c"}],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.1", {"age": 7})
    assert player.inputs("c") == [
        {
            "state": {"user": {"name": "Ada", "age": 7}, "n": 1, "mine": 7},
            "output": {"last": 7},
            "own": {"user": {"age": 7}, "mine": 7},
        }
    ]
    assert player.run.state == {"user": {"name": "Ada", "age": 36}, "n": 1}
    player.complete("b@0.0", {"age": 8})
    assert player.inputs("c")[-1]["state"]["user"]["age"] == 8
    assert player.run.output == {"last": 8}


def test_ctl_7_update_context_in_a_branch_obeys_the_same() -> None:
    compiled = workflow(
        {
            "a": TASK,
            "b": {"updates": [("state.n", "coalesce(state.n, 0) + _branch.index + 1"), ("state.n", "n * 10")]},
            "c": {"input": "$.state.n"},
        },
        [{"from": "a", "to": "b", "spawn_count": 2}, {"from": "b", "to": "c"}],
    )
    player = Player(compiled).start()
    player.complete("a")
    assert player.inputs("c") == [10, 20]
    assert player.run.state == {}


def test_ctl_7a_the_joined_token_is_in_the_outer_scope_again() -> None:
    compiled = workflow(
        {
            "a": TASK,
            "b": TASK,
            "c": {"output": {"state.x": "$.x"}},
            "d": {"input": {"b": "$._branch.index", "s": "$.state"}},
        },
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "c", "spawn_count": 2},
            {"from": "c", "to": "d", "join": {"sibling_group": "b", "merge": append("state.inner")}},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    player.complete("b@0.1")
    player.complete("c@0.1.0", {"x": "p"})
    player.complete("c@0.1.1", {"x": "q"})
    assert player.inputs("d") == [{"b": 1, "s": {"inner": ["p", "q"]}}]
    assert player.run.state == {}


def _loop(**config: Any) -> Player:
    compiled = workflow(
        {"a": TASK, "b": TASK, "end": TASK},
        [
            {"from": "a", "to": "b"},
            {"from": "b", "to": "a", "loop_config": config, "if": "output.stop IS NULL"},
            {"from": "b", "to": "end", "priority": 1, "if": "true"},
        ],
    )
    return Player(compiled).start()


def test_ctl_14_at_its_limit_a_loop_no_longer_matches_and_a_later_tier_leaves_it() -> None:
    player = _loop(max_iterations=2)
    for _ in range(2):
        player.complete("a")
        player.complete("b")
        assert player.tokens("a")
    player.complete("a")
    player.complete("b")
    assert player.tokens("end")


def test_ctl_14_a_loop_ends_by_time_since_its_first_iteration() -> None:
    player = _loop(timeout_ms=100)
    player.complete("a")
    player.now_ms += 1_000
    player.complete("b")
    assert player.tokens("a")
    player.now_ms += 99
    player.complete("a")
    player.complete("b")
    assert player.tokens("a")
    player.now_ms += 1
    player.complete("a")
    player.complete("b")
    assert player.tokens("end")


@pytest.mark.parametrize(
    ("condition", "code"), [("true", "LOOP_LIMIT_EXCEEDED"), ("state.n = 1", "NO_TRANSITION_MATCHED")]
)
def test_ctl_14_a_loop_that_nothing_leaves_fails(condition: str, code: str) -> None:
    loop = {"from": "a", "to": "a", "loop_config": {"max_iterations": 1}, "if": condition}
    compiled = workflow({"a": {"output": {"state.n": "$.n"}}}, [loop])
    player = Player(compiled).start()
    player.complete("a", {"n": 1})
    player.complete("a", {"n": 2})
    assert player.error == code


def test_ctl_14_an_inner_loop_starts_afresh_when_its_node_is_left() -> None:
    compiled = workflow(
        {"inner": TASK, "outer": TASK, "end": TASK},
        [
            {"from": "inner", "to": "inner", "loop_config": {"max_iterations": 2}},
            {"from": "inner", "to": "outer", "priority": 1},
            {"from": "outer", "to": "inner", "loop_config": {"max_iterations": 2}},
            {"from": "outer", "to": "end", "priority": 1},
        ],
    )
    player = Player(compiled).start()
    visits = ""
    while not player.run.ended:
        (token,) = player.run.tokens.values()
        visits += token.node.ref[0]
        player.complete(token.node.ref)
    assert visits == "iiioiiioiiioe"


def test_ctl_14_loops_are_counted_per_branch() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "end": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "b", "loop_config": {"max_iterations": 1}},
            {"from": "b", "to": "end", "priority": 1},
        ],
    )
    player = Player(compiled).start()
    player.complete("a")
    for path in ("0.0", "0.1"):
        player.complete(f"b@{path}")
        player.complete(f"b@{path}")
        assert player.tokens(f"end@{path}")


def test_ctx_3_a_node_that_changes_one_field_writes_one_field() -> None:
    compiled = workflow(
        {"a": {"output": {"state.big": "$.big"}}, "b": {"output": {"state.n": "$.n"}}}, [{"from": "a", "to": "b"}]
    )
    player = Player(compiled).start()
    player.complete("a", {"big": list(range(100))})
    player.complete("b", {"n": 1})
    assert [(c.path, c.value) for c in player.of(WriteContext)[-1].changes] == [(("state", "n"), 1)]


def test_ctx_5_a_query_that_finds_nothing_leaves_its_target_alone() -> None:
    compiled = workflow({"a": {"output": {"state.x": "$.x", "state.y": "$.y"}}}, [])
    player = Player(compiled).start()
    player.complete("a", {"y": None})
    assert player.run.state == {"y": None}


@pytest.mark.parametrize(
    ("schema", "output", "code"),
    [
        ({"properties": {"n": {"type": "integer"}}}, {"n": "x"}, "CONTEXT_SCHEMA"),
        ({"properties": {"n": {"type": "integer"}}}, {"n": 1}, None),
        ({"properties": {}, "additionalProperties": False}, {"n": 1}, "CONTEXT_SCHEMA"),
        ({"required": ["other"]}, {"n": 1}, None),
        ({"maxProperties": 0}, {"n": 1}, "CONTEXT_SCHEMA"),
        (
            {"$defs": {"i": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/i"}}},
            {"n": "x"},
            "CONTEXT_SCHEMA",
        ),
        ({"properties": {"n": {"type": "object", "required": ["a", "b"]}}}, {"n": {"a": 1}}, "CONTEXT_SCHEMA"),
    ],
)
def test_ctx_5b_a_write_that_does_not_fit_the_schema_fails_the_node(schema: Any, output: Any, code: str | None) -> None:
    compiled = workflow({"a": {"output": {"state.n": "$.n"}}}, [], context_schema={"type": "object", **schema})
    player = Player(compiled).start()
    player.complete("a", output)
    assert player.error == code
    assert player.run.state == ({} if code else output)


def test_ctx_5b_defaults_of_both_schemas_are_filled_in_at_the_start() -> None:
    compiled = workflow(
        {"a": TASK},
        [],
        input_schema={"type": "object", "properties": {"x": {"default": 1}}},
        context_schema={"type": "object", "properties": {"y": {"default": [2]}}},
    )
    player = Player(compiled).start()
    assert (player.run.input, player.run.state) == ({"x": 1}, {"y": [2]})


def test_a_long_list_that_grows_by_one_is_checked_only_where_it_grew() -> None:
    schema = {"type": "object", "properties": {"xs": {"type": "array", "items": {"type": "integer"}}}}
    compiled = workflow({"a": {"output": {"state.xs[2]": "$.x"}}}, [], context_schema=schema)
    player = Player(compiled).start()
    player.run.state = {"xs": [1, "was there before"]}
    player.complete("a", {"x": 3})
    assert player.run.status == "completed"
