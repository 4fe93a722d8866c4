"""CTL-8 to CTL-13: joins, early completion, merges, nested fan-outs and time-outs."""

from typing import Any

import pytest

from support.engine_runs import Player, append, workflow
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.decisions import CancelTimer, ControlChild, StopAwaiting, WithdrawInput

TASK: dict[str, Any] = {}
WRITES = {"output": {"state.x": "$.x"}}


def joined(strategy: Any = "all", branches: int = 3, **join: Any) -> CompiledWorkflow:
    """a fans out to b; b goes to the join c, to nowhere (d) when it says so."""
    return workflow(
        {"a": TASK, "b": WRITES, "c": TASK, "d": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": branches},
            {"from": "b", "to": "d", "if": "state.x = 'away'"},
            {
                "from": "b",
                "to": "c",
                "priority": 1,
                "join": {"strategy": strategy, "sibling_group": "a", "merge": append("state.all"), **join},
            },
        ],
    )


def play(compiled: CompiledWorkflow, steps: list[tuple[str, Any]], value: Any = None) -> Player:
    """Complete the tasks named, or let them fail where the output is an exception's code in capitals."""
    player = Player(compiled).start(value)
    for name, output in steps:
        if output == "FAIL":
            player.fail(name)
        else:
            player.complete(name, output)
    return player


GO = [("a", {})]


@pytest.mark.parametrize(
    ("strategy", "outcomes", "result"),
    [
        ("all", ["x", "x"], "waits"),
        ("all", ["x", "x", "x"], ["x", "x", "x"]),
        ("all", ["x", "away", "x"], ["x", "x"]),  # a branch that ended elsewhere holds nobody up
        ("all", ["away", "away", "away"], []),  # all gone, none arrived
        ("all", ["x", "FAIL"], "BROKEN"),
        ("any", ["x"], ["x"]),
        ("any", ["away", "FAIL"], "waits"),
        ("any", ["away", "FAIL", "x"], ["x"]),
        ("any", ["away", "FAIL", "away"], "FAN_IN_UNSATISFIABLE"),
        ({"m_of_n": 2}, ["x"], "waits"),
        ({"m_of_n": 2}, ["x", "y"], ["x", "y"]),
        ({"m_of_n": 2}, ["FAIL", "x", "y"], ["x", "y"]),
        ({"m_of_n": 2}, ["FAIL", "away"], "FAN_IN_UNSATISFIABLE"),  # at once: one can't be two
        ({"m_of_n": 4}, [], "FAN_IN_UNSATISFIABLE"),  # the group was made too small
    ],
)
def test_ctl_9_a_join_goes_on_once_enough_branches_have_arrived(
    strategy: Any, outcomes: list[str], result: Any
) -> None:
    player = Player(joined(strategy)).start()
    player.complete("a")
    for index, outcome in enumerate(outcomes):
        if outcome == "FAIL":
            player.fail(f"b@0.{index}")
            continue
        player.complete(f"b@0.{index}", {"x": outcome})
        if player.tokens(f"d@0.{index}"):
            player.complete(f"d@0.{index}")
    if result == "waits":
        assert not player.tokens("c")
        assert player.run.status == "running"
    elif isinstance(result, list):
        assert player.token("c").path_id == "0.fanin"
        assert player.run.state["all"] == result
    else:
        assert player.error == result


@pytest.mark.parametrize(
    ("strategy", "result"), [("all", []), ("any", "FAN_IN_UNSATISFIABLE"), ({"m_of_n": 1}, "FAN_IN_UNSATISFIABLE")]
)
def test_ctl_9_an_empty_foreach_fires_its_join_with_an_empty_merge(strategy: Any, result: Any) -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs"}},
            {
                "from": "b",
                "to": "c",
                "join": {"strategy": strategy, "sibling_group": "a", "merge": append("state.all")},
            },
        ],
    )
    player = play(compiled, GO, {"xs": []})
    if isinstance(result, list):
        assert player.live() == ["c@0.fanin dispatched"]
        assert player.run.state == {"all": []}
    else:
        assert player.error == result


@pytest.mark.parametrize(("group", "waits"), [("each", False), ("a", True)])
def test_ctl_9_an_empty_foreach_beside_others_adds_no_branches(group: str, waits: bool) -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "other": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "ref": "each", "foreach": {"collection": "input.xs"}},
            {"from": "a", "to": "other"},
            {"from": "b", "to": "c", "join": {"sibling_group": group}},
            *([{"from": "other", "to": "c", "join": {"sibling_group": group}}] if group == "a" else []),
        ],
    )
    player = play(compiled, GO, {"xs": []})
    assert bool(player.tokens("c")) is not waits
    player.complete("other")
    assert len(player.tokens("c")) == 1


def test_ctl_9_unsatisfiable_tells_the_errors_of_the_branches() -> None:
    player = play(joined({"m_of_n": 2}), [*GO, ("b@0.0", "FAIL"), ("b@0.2", "FAIL")])
    assert player.error == "FAN_IN_UNSATISFIABLE"
    assert player.run.error is not None
    assert [(e["branch"], e["error"]["code"]) for e in player.run.error.details["errors"]] == [
        (0, "BROKEN"),
        (2, "BROKEN"),
    ]
    assert player.ends()["b@0.1"] == "cancelled"
    assert player.events("fan_in_failed")


@pytest.mark.parametrize(
    ("needed", "moves", "words"),
    [
        (4, GO, "it needs 4 branches, and its fan-out made 3; lower m_of_n, or make more branches"),
        (
            3,
            [*GO, ("b@0.0", {}), ("b@0.2", "FAIL")],
            "it needs 3 branches, and 2 can arrive at the most: 1 of 3 arrived, 1 under way, 1 failed, ended or "
            "wait at another join; lower m_of_n, or let more branches come (branch 2: it is BROKEN)",
        ),
    ],
)
def test_ctl_9_a_join_that_can_not_be_met_says_how_many_branches_could_come(
    needed: int, moves: list[Any], words: str
) -> None:
    player = play(joined({"m_of_n": needed}), moves)
    assert player.run.error is not None
    assert player.run.error.message == f"the join into 'c' can't be met: {words}"


def test_ctl_8_several_transitions_into_one_join_are_one_fan_in() -> None:
    join = {"join": {"sibling_group": "a", "merge": append("state.all")}}
    compiled = workflow(
        {"a": TASK, "b": WRITES, "c": WRITES, "d": TASK},
        [
            {"from": "a", "to": "b"},
            {"from": "a", "to": "c"},
            {"from": "b", "to": "d", **join},
            {"from": "c", "to": "d", **join},
        ],
    )
    player = play(compiled, [*GO, ("c", {"x": 2}), ("b", {"x": 1})])
    assert player.live() == ["d@0.fanin dispatched"]
    assert player.run.state == {"all": [1, 2]}


def test_ctl_8_a_transition_into_the_join_may_itself_be_a_branch() -> None:
    join = {"join": {"sibling_group": "a", "merge": append("state.all")}}
    compiled = workflow(
        {"a": TASK, "b": WRITES, "c": TASK},
        [{"from": "a", "to": "b"}, {"from": "a", "to": "c", **join}, {"from": "b", "to": "c", **join}],
    )
    player = play(compiled, GO)
    assert player.live() == ["b@0.0 dispatched", "c@0.1 waiting_for_siblings"]
    player.complete("b", {"x": 1})
    assert player.live() == ["c@0.fanin dispatched"]
    assert player.run.state == {"all": [1, None]}


def test_ctl_8_a_join_on_a_transition_counts_only_its_branches() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "side": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2, "ref": "pair"},
            {"from": "a", "to": "side"},
            {"from": "b", "to": "c", "join": {"sibling_group": "pair"}},
        ],
    )
    player = play(compiled, [*GO, ("b@0.0", {}), ("b@0.1", {})])
    assert player.live() == ["side@0.2 dispatched", "c@0.fanin dispatched"]


def test_ctl_8_a_token_in_no_such_group_passes() -> None:
    compiled = workflow({"a": TASK, "b": TASK}, [{"from": "a", "to": "b", "join": {"sibling_group": "a"}}])
    assert play(compiled, GO).live() == ["b@0 dispatched"]


def test_ctl_8_two_joins_of_one_group_take_the_branches_that_come_to_them() -> None:
    compiled = workflow(
        {"a": TASK, "b": WRITES, "odd": TASK, "even": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 4},
            {
                "from": "b",
                "to": "odd",
                "if": "_branch.index % 2 = 1",
                "join": {"sibling_group": "a", "merge": append("state.odd")},
            },
            {"from": "b", "to": "even", "priority": 1, "join": {"sibling_group": "a", "merge": append("state.even")}},
        ],
    )
    player = play(compiled, [*GO, *[(f"b@0.{i}", {"x": i}) for i in (3, 0, 1)]])
    assert not player.tokens("odd")
    player.complete("b@0.2", {"x": 2})
    assert player.run.state == {"odd": [1, 3], "even": [0, 2]}
    assert {t.node.ref for t in player.run.tokens.values()} == {"odd", "even"}


def test_ctl_10_cancel_ends_the_rest_with_all_that_is_nested_in_them() -> None:
    waits = {
        "ask": {"kind": "human_input", "prompt": "?", "deadline_ms": 5},
        "hear": {"kind": "wait_for_event", "event": "e", "timeout_ms": 5},
        "nap": {"kind": "sleep", "ms": 5},
        "call": {"kind": "workflow_call", "workflow_def_id": "w"},
        "work": TASK,
    }
    compiled = workflow(
        {"a": TASK, "fast": TASK, "slow": TASK, **waits, "c": TASK},
        [
            {"from": "a", "to": "fast"},
            {"from": "a", "to": "slow"},
            *[{"from": "slow", "to": name} for name in waits],
            {"from": "fast", "to": "c", "join": {"strategy": "any", "sibling_group": "a"}},
        ],
    )
    player = play(compiled, [*GO, ("slow", {})])
    work, event, child = player.token("work").id, player.token("hear").id, player.token("call").wait
    player.complete("fast")
    assert player.live() == ["c@0.fanin dispatched"]
    assert {
        path: end for path, end in player.ends().items() if path.startswith(("ask", "hear", "nap", "call", "work"))
    } == {f"{name}@0.1.{i}": "cancelled" for i, name in enumerate(waits)}
    assert player.aborted() == [work]
    assert [d.token_id for d in player.of(StopAwaiting)] == [event]
    assert child is not None
    assert player.of(ControlChild) == [ControlChild(child["child_run_id"], "cancel")]
    assert len(player.of(WithdrawInput)) == 1
    assert len(player.of(CancelTimer)) == 3
    assert not player.run.timers


def test_ctl_10_abandon_lets_the_rest_run_on_and_ignores_their_arrival() -> None:
    player = play(joined("any", on_early_complete="abandon"), [*GO, ("b@0.1", {"x": 1}), ("c", {})])
    assert player.run.status == "running"
    player.complete("b@0.0", {"x": 0})
    assert player.events("token_completed")[-1].metadata == {"late_at": "c"}
    assert player.run.status == "running"
    player.fail("b@0.2")  # CTL-15a: an abandoned branch fails nothing outside it
    assert player.run.status == "completed"
    assert player.run.state == {"all": [1]}
    assert not player.tokens("c")


@pytest.mark.parametrize(
    ("strategy", "outputs", "expected"),
    [
        ("append", [{"x": [1]}, {}, {"x": None}], [[1], None, None]),
        ("keyed_by_branch", [{"x": 1}, {}, {"x": 3}], {"0": 1, "1": None, "2": 3}),
        ("merge_object", [{"x": {"a": 1, "o": {"p": 1}}}, {}, {"x": {"a": 2, "o": {"q": 1}}}], {"a": 2, "o": {"q": 1}}),
        ("merge_object", [{"x": {"a": 1}}, {"x": 2}, {}], "MERGE_NOT_OBJECT"),
        ("last_wins", [{"x": 1}, {"x": 2}, {"x": 3}], 2),
    ],
)
def test_ctl_11_merges(strategy: str, outputs: list[Any], expected: Any) -> None:
    """Branches arrive in the order 2, 0, 1; the merge is in the order of branches all the same."""
    merge = {"source": "_branch.output.x", "target": "state.all", "strategy": strategy}
    player = play(joined(merge=merge), [*GO, *[(f"b@0.{i}", outputs[i]) for i in (2, 0, 1)]])
    if expected == "MERGE_NOT_OBJECT":
        assert player.error == expected
    else:
        assert player.run.state == {"all": expected}


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("append", {"all": []}), ("keyed_by_branch", {"all": {}}), ("merge_object", {"all": {}}), ("last_wins", {})],
)
def test_ctl_11_an_empty_merge(strategy: str, expected: Any) -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs"}},
            {
                "from": "b",
                "to": "c",
                "join": {
                    "sibling_group": "a",
                    "merge": {"source": "_branch.output.x", "target": "state.all", "strategy": strategy},
                },
            },
        ],
    )
    assert play(compiled, GO, {"xs": []}).run.state == expected


def test_ctl_11_merge_null_drops_what_branches_wrote() -> None:
    player = play(joined(merge=None), [*GO, *[(f"b@0.{i}", {"x": i}) for i in range(3)]])
    assert player.run.state == {}
    assert player.tokens("c")


def test_ctl_11_a_merge_may_read_the_item() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": TASK},
        [
            {"from": "a", "to": "b", "foreach": {"collection": "input.xs", "item_var": "thing"}},
            {"from": "b", "to": "c", "join": {"sibling_group": "a", "merge": append("output.all", "_branch.item")}},
        ],
    )
    player = play(compiled, [*GO, ("b@0.1", {}), ("b@0.0", {})], {"xs": ["p", "q"]})
    assert player.run.output == {"all": ["p", "q"]}


def test_ctx_5b_a_merge_that_does_not_fit_the_schema_fails_the_scope() -> None:
    schema = {"type": "object", "properties": {"all": {"type": "array", "items": {"type": "string"}}}}
    compiled = workflow(
        {"a": TASK, "b": WRITES, "c": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "c", "join": {"sibling_group": "a", "merge": append("state.all")}},
        ],
        context_schema=schema,
    )
    player = play(compiled, [*GO, ("b@0.0", {"x": "text"}), ("b@0.1", {"x": 1})])
    assert player.error == "CONTEXT_SCHEMA"


def test_ctl_12_nested_fan_outs_join_from_the_inside_out() -> None:
    compiled = workflow(
        {"a": TASK, "b": TASK, "c": WRITES, "inner": TASK, "outer": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "c", "spawn_count": 2},
            {"from": "c", "to": "inner", "join": {"sibling_group": "b", "merge": append("state.mine")}},
            {
                "from": "inner",
                "to": "outer",
                "join": {"sibling_group": "a", "merge": append("state.all", "_branch.output.mine")},
            },
        ],
    )
    player = play(compiled, [*GO, ("b@0.0", {}), ("b@0.1", {})])
    for path in ("0.1.1", "0.0.0", "0.0.1", "0.1.0"):
        player.complete(f"c@{path}", {"x": path})
    player.complete("inner@0.1.fanin")
    assert not player.tokens("outer")
    player.complete("inner@0.0.fanin")
    assert player.run.state == {"all": [["0.0.0", "0.0.1"], ["0.1.0", "0.1.1"]]}
    assert player.live() == ["outer@0.fanin dispatched"]
    player.complete("outer")
    assert player.run.status == "completed"


def test_ctl_12_a_branch_with_several_live_tokens_arrives_when_none_is_under_way() -> None:
    join = {"sibling_group": "a", "merge": append("state.all")}
    compiled = workflow(
        {"a": TASK, "b": WRITES, "log": WRITES, "c": TASK},
        [
            {"from": "a", "to": "b", "spawn_count": 2},
            {"from": "b", "to": "c", "join": join},
            {"from": "b", "to": "log"},
        ],
    )
    player = play(compiled, [*GO, ("b@0.0", {"x": 1}), ("b@0.1", {"x": 2})])
    assert sorted(player.live()) == [
        "c@0.0.0 waiting_for_siblings",
        "c@0.1.0 waiting_for_siblings",
        "log@0.0.1 dispatched",
        "log@0.1.1 dispatched",
    ]
    player.complete("log@0.0.1", {"x": "inner, dropped"})
    assert not player.tokens("c@0.fanin")
    player.complete("log@0.1.1")
    assert player.live() == ["c@0.fanin dispatched"]
    assert player.run.state == {"all": [1, 2]}


@pytest.mark.parametrize("on_timeout", ["fail", "proceed_with_available"])
def test_ctl_13_a_join_times_out_since_its_first_arrival(on_timeout: str) -> None:
    player = play(joined(timeout_ms=100, on_timeout=on_timeout), GO)
    assert not player.run.timers
    player.now_ms = 5_000
    player.complete("b@0.1", {"x": 1})
    player.now_ms = 5_050
    player.complete("b@0.2", {"x": 2})
    assert list(player.run.timers.values()) == [5_100]
    player.fire("join:")
    ends = {path: end for path, end in player.ends().items() if path.startswith("b")}
    if on_timeout == "fail":
        assert player.error == "FAN_IN_TIMEOUT"
        assert ends == {"b@0.0": "timed_out", "b@0.1": "failed", "b@0.2": "failed"}
    else:
        assert ends == {"b@0.0": "timed_out", "b@0.1": "completed", "b@0.2": "completed"}
        assert player.run.state == {"all": [1, 2]}
        assert player.live() == ["c@0.fanin dispatched"]
    assert len(player.aborted()) == 1


def test_ctl_13_a_join_that_went_on_in_time_cancels_its_timer() -> None:
    player = play(joined(timeout_ms=100), [*GO, *[(f"b@0.{i}", {"x": i}) for i in range(3)]])
    assert not player.run.timers
    assert len(player.of(CancelTimer)) == 1


def test_the_cost_of_a_join_is_linear_in_its_branches() -> None:
    """Counted in decisions, not in time: so many for each branch, whatever their number."""
    sizes = (10, 100)
    counts = [
        len(play(joined(branches=n), [*GO, *[(f"b@0.{i}", {"x": i}) for i in range(n)]]).decisions) for n in sizes
    ]
    few, many = ((count - 20) / size for count, size in zip(counts, sizes, strict=True))
    assert abs(many - few) < 2


def test_ctl_13_a_join_that_can_t_be_met_takes_its_timer_with_it() -> None:
    """Its branch goes, and the run goes on without a timer for a group that is no more."""
    compiled = workflow(
        {"a": TASK, "b": TASK, "other": TASK, "x": TASK, "j": TASK, "outer": TASK},
        [
            {"from": "a", "to": "b"},
            {"from": "a", "to": "other"},
            {"from": "b", "to": "x", "spawn_count": 2},
            {"from": "x", "to": "j", "join": {"strategy": {"m_of_n": 2}, "sibling_group": "b", "timeout_ms": 60_000}},
            {"from": "j", "to": "outer", "join": {"strategy": "any", "sibling_group": "a"}},
            {"from": "other", "to": "outer", "join": {"strategy": "any", "sibling_group": "a"}},
        ],
    )
    player = play(compiled, [*GO, ("b", {}), ("x@0.0.0", {})])
    assert len(player.run.timers) == 1
    player.fail("x@0.0.1")
    assert player.live() == ["other@0.1 dispatched"]
    assert player.run.timers == {}
