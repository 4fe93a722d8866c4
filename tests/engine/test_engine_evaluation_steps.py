"""RES-6: what one node evaluates has a bound in sum, counted in steps, and others have their turn between nodes."""

from typing import Any

import pytest

from support.engine_runs import Player, append, workflow
from wonder.engine.decisions import ContinueLater, DispatchTask
from wonder.engine.limits import Limits
from wonder.engine.replay import comparable, fold
from wonder.engine.restore import take_snapshot

ROWS = {"rows": [[number % 7 for number in range(20)] for _ in range(50)], "text": "a" * 3_000, "list": [0] * 3_000}
QUERY = "$.input.rows[*][?@ > 9]"
MANY_QUERIES = {f"k{number}": QUERY for number in range(40)}
PATTERN = "%" + "_" * 200 + "b%"
JSON = "[" + "1," * 3_000 + "1]"
NEVER = {"from": "a", "to": "b", "if": "input.absent"}

HOSTILE: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "input mapping": ({"a": {"input": MANY_QUERIES}}, []),
    "expressions": ({"a": {"updates": [(f"state.x{n}", f"input.text like '{PATTERN}'") for n in range(40)]}}, []),
    "one expression": ({"a": {"updates": [("state.x", " or ".join([f"input.text like '{PATTERN}'"] * 40))]}}, []),
    "JSON in expressions": (
        {"a": {"updates": [(f"state.x{n}", f"json_extract('{JSON}', '$.z')") for n in range(40)]}},
        [],
    ),
    "writes that copy": ({"a": {"updates": [("state.l", "input.list"), *[("state.l[0]", "1")] * 900]}}, []),
    "conditions": (
        {"a": {"updates": []}, "b": {}},
        [{**NEVER, "if": f"input.text like '{PATTERN}'", "ref": f"w{number}"} for number in range(40)],
    ),
    "template": (
        {
            "a": {"kind": "human_input", "prompt": "{{#each rows}}{{#each this}}{{/each}}{{/each}}" * 40, "schema": {}}
            | {"input": "$.input"}
        },
        [],
    ),
    "template that writes nothing": (
        {
            "a": {"kind": "human_input", "prompt": "{{#if (json rows)}}{{/if}}" * 900, "schema": {}}
            | {"input": "$.input"}
        },
        [],
    ),
    "dimensions": (
        {
            "a": {"kind": "emit_metric", "metric_name": "m", "value": 1}
            | {"dimensions": {f"d{n}": "{{#each input.rows}}{{#each this}}{{/each}}{{/each}}" for n in range(10)}}
        },
        [],
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_res_6_a_node_that_evaluates_too_much_in_sum_fails_the_run_with_the_limit(name: str) -> None:
    graph = HOSTILE[name]
    player = Player(workflow(*graph), Limits(evaluation_steps=30_000)).start(ROWS)
    assert player.error == "RUN_LIMIT_EVALUATION_STEPS", player.live()
    assert player.run.error is not None
    assert "run_limits.evaluation_steps is 30,000" in player.run.error.message
    assert player.run.error.details == {"limit": "run_limits.evaluation_steps", "most": 30_000}
    assert not player.run.tokens
    assert Player(workflow(*graph), Limits(evaluation_steps=10_000_000)).start(ROWS).error != player.error


def test_what_an_output_mapping_a_foreach_and_a_merge_evaluate_is_counted_as_well() -> None:
    player = Player(
        workflow({"a": {"output": {f"state.k{n}": "$.rows[*][?@ > 9]" for n in range(40)}}}, []),
        Limits(evaluation_steps=30_000),
    ).start()
    player.complete("a", ROWS)
    assert player.error == "RUN_LIMIT_EVALUATION_STEPS"

    nodes = {"a": {"updates": []}, "b": {"updates": [("state.x", "input.text")]}, "c": {}}
    ways = [
        {"from": "a", "to": "b", "foreach": {"collection": "input.list", "item_var": "i"}, "ref": "fan"},
        {"from": "b", "to": "c", "join": {"sibling_group": "fan", "merge": append("state.all")}},
    ]
    assert Player(workflow(nodes, ways), Limits(evaluation_steps=2_900)).start(ROWS).error is not None


def test_a_limit_of_evaluation_fails_the_run_even_where_an_error_is_routed_or_a_join_tolerates_it() -> None:
    nodes = {"a": {"updates": []}, "b": {"input": MANY_QUERIES}, "c": {}, "d": {}}
    ways = [
        {"from": "a", "to": "b", "spawn_count": 2, "ref": "fan"},
        {"from": "b", "to": "d", "if": "_last_error.code is not null"},
        {"from": "b", "to": "c", "priority": 1, "join": {"sibling_group": "fan", "strategy": "any"}},
    ]
    assert Player(workflow(nodes, ways), Limits(evaluation_steps=30_000)).start(ROWS).error == (
        "RUN_LIMIT_EVALUATION_STEPS"
    )


def test_each_node_has_its_own_steps_and_many_of_them_yield_in_between() -> None:
    """Deterministic, too: where a turn ends may depend on the time, and so does not decide who fails."""
    nodes = {"a": {"updates": []}, "b": {"input": {"k": QUERY}}}
    compiled = workflow(nodes, [{"from": "a", "to": "b", "spawn_count": 100}])
    player = Player(compiled, Limits(evaluation_steps=10_000, turn_steps_max=20_000)).start(ROWS)
    turns, most = 1, 0
    while type(player.last[-1]) is ContinueLater:
        most = max(most, sum(type(one) is DispatchTask for one in player.last))
        player.go_on()
        turns += 1
    assert player.error is None
    assert len(player.of(DispatchTask)) == 100
    assert turns > 5
    assert 0 < most <= 15


def test_the_count_is_the_same_whenever_and_wherever_it_is_made() -> None:
    graph = HOSTILE["one expression"]
    # Between these two is the count; what was compiled or cached meanwhile changes nothing of it.
    needed = _needed(graph)
    assert _fails(graph, needed - 1)
    assert not _fails(graph, needed)
    assert _needed(graph) == needed
    player = Player(workflow(*graph), Limits(evaluation_steps=1_000)).start(ROWS)
    assert fold(player.events()) == comparable(take_snapshot(player.run))


def _needed(graph: Any) -> int:
    low, high = 1_000, 10_000_000
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if _fails(graph, middle) else (low, middle)
    return low


def _fails(graph: Any, most: int) -> bool:
    return Player(workflow(*graph), Limits(evaluation_steps=most)).start(ROWS).error is not None
