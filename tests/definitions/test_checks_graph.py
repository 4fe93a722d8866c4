"""Checks of the graph: tiers, joins, cycles, and what can't be reached or left (CTL-3 to CTL-15)."""

from typing import Any

import pytest

from support.definitions import faults_in, noop
from support.graphs import each, edge, found_in, graph, join

SPAWN = {"spawn_count": 3}


@pytest.mark.parametrize(
    ("transitions", "found"),
    [
        (["a > b if input.x", "a > c"], ["mixed_tier at transitions.0"]),
        (["a > c", "a > b if input.x"], ["mixed_tier at transitions.1"]),
        (["a > b if input.x", "a > c if input.y", "a > d"], ["mixed_tier at transitions.0"]),  # told once for a tier
        (["a > b @1 if input.x", "a > c @1", "a > d @0 if input.y"], ["mixed_tier at transitions.0"]),
        (["a > b if input.x", "a > c @1"], []),
        (["a > b", "a > c"], []),
        (["a > b if input.x", "a > c if input.y", "a > d @9"], []),
        (["a > b", "a > c if _last_error.code = 'X'"], []),  # is looked at only when the node failed
    ],
)
def test_ctl_3_a_tier_that_mixes_conditional_and_unconditional_is_a_warning(
    transitions: list[str], found: list[str]
) -> None:
    assert found_in(graph(*transitions)) == found


def test_ctl_3_a_node_says_nothing_about_how_its_transitions_fan_out() -> None:
    definition = graph("a > b", "a > c", nodes={"a": noop(fan_out="first_match")})
    assert found_in(definition) == ["unknown_field at nodes.a.fan_out"]


@pytest.mark.parametrize(
    ("transitions", "found"),
    [
        (["a > b", "a > c @1"], ["unreachable_tier at transitions.1"]),
        (["a > b", "a > c @1 if input.x", "a > d @2"], [f"unreachable_tier at transitions.{i}" for i in (1, 2)]),
        (["a > c @5 if input.x", "a > b @2"], ["unreachable_tier at transitions.0"]),  # not in the order written
        ([edge("a > b", **each("input.xs")), "a > c @1"], ["unreachable_tier at transitions.1"]),
        ([edge("a > b", **SPAWN), "a > c @1"], ["unreachable_tier at transitions.1"]),
        (["a > b if input.x", "a > c @1"], []),
        ([edge("a > a", loop_config={"max_iterations": 2}), "a > b @1"], []),
        ([edge("a > a", loop_config={"timeout_ms": 2}), "a > b @1"], []),
        (["a > b", "a > c @1 if _last_error.retryable"], []),
        (["a > b", "a > c @1 if state._last_error.code = 'X'"], []),
        (["a > b", "a > c @1 if '_last_error' = input.x"], ["unreachable_tier at transitions.1"]),  # only a text
    ],
)
def test_a_tier_behind_an_unconditional_one_is_never_reached(
    transitions: list[str | dict[str, Any]], found: list[str]
) -> None:
    assert found_in(graph(*transitions)) == found


def test_a_condition_that_can_not_be_read_is_no_reason_for_faults_of_its_tier() -> None:
    broken = graph("a > b", "a > c @1 if _last_error.code = ", "a > d @2 if _last_error.code")
    assert found_in(broken) == ["expression_syntax at transitions.1.condition.expr"]


@pytest.mark.parametrize(
    ("transitions", "found"),
    [
        (["a > b if input.x"], ["no_way_out at nodes.a"]),
        (["a > b if input.x", "a > c @1 if input.y"], ["no_way_out at nodes.a"]),
        (["a > b if _last_error.code = 'X'"], ["no_way_out at nodes.a"]),
        (["a > b if input.x", "a > c @1 if _last_error.code = 'X'"], ["no_way_out at nodes.a"]),
        (["a > b if input.x", "a > c @1"], []),
        ([edge("a > a", loop_config={"max_iterations": 2})], []),
    ],
)
def test_ctl_4_a_node_that_may_have_no_matching_transition_is_a_warning(
    transitions: list[str | dict[str, Any]], found: list[str]
) -> None:
    assert found_in(graph(*transitions)) == found


@pytest.mark.parametrize(
    ("transitions", "unreachable"),
    [
        (["a > b", "c > b"], ["c"]),
        (["a > b", "c > d", "d > c"], ["c", "d"]),  # a circle that nothing leads to
        (["a > b", "b > c", "c > a @1"], []),
        (["a > b if false", "a > c @1"], []),  # a condition may be anything
    ],
)
def test_a_node_that_no_transition_leads_to_is_refused(transitions: list[str], unreachable: list[str]) -> None:
    faults = faults_in(graph(*transitions))
    assert [fault.path[-1] for fault in faults if fault.code == "unreachable_node"] == unreachable


@pytest.mark.parametrize(
    ("transitions", "found"),
    [
        (["a > a"], ["endless_cycle at transitions.0"]),
        (["a > b", "b > a"], ["endless_cycle at transitions.1"]),
        (["a > b", "b > c", "c > a if input.x", "c > d @1"], ["endless_cycle at transitions.2"]),
        (["a > b", edge("b > a", loop_config={"max_iterations": 3}), "b > c @1"], []),
        ([edge("a > b", loop_config={"timeout_ms": 3}), "b > a", "a > c @1"], []),
        # a limited circle and an endless one through the same node
        (
            [
                "a > b if input.x",
                "b > a",
                edge("a > c @1 if input.y", loop_config={"max_iterations": 3}),
                "c > a",
                "a > d @2",
            ],
            ["endless_cycle at transitions.1"],
        ),
        (["a > b", "b > c", "a > c @1 if _last_error.code"], []),  # several ways, no circle
    ],
)
def test_ctl_14_a_cycle_without_any_limit_is_a_warning(
    transitions: list[str | dict[str, Any]], found: list[str]
) -> None:
    assert found_in(graph(*transitions)) == found


JOIN_FAULT = "join_without_fan_out at transitions.{}.synchronization.sibling_group"


@pytest.mark.parametrize(
    ("transitions", "found"),
    [
        ([edge("a > b", **SPAWN), edge("b > c", **join("a"))], []),
        ([edge("a > b", **SPAWN, ref="go"), edge("b > c", **join("go"))], []),
        ([edge("a > b", **each("input.xs")), edge("b > c", **join("a"))], []),
        (["a > b", "a > c", edge("b > d", **join("a")), edge("c > d", **join("a"))], []),
        # CTL-5: a tier that a join names fans out, even if only one of it matches
        (["a > b if input.x", "a > c if input.y", "a > d @1", edge("b > d", **join("a")), "c > d"], []),
        ([edge("a > b", ref="left"), "a > c", edge("b > d", **join("left")), "c > d"], []),
        # far behind the fan-out, through other nodes and around a loop
        ([edge("a > b", **SPAWN), "b > c", "c > d", edge("d > e", **join("a"))], []),
        (["a > b", edge("b > c", **join("a"))], [JOIN_FAULT.format(1)]),
        ([edge("a > b", ref="go"), edge("b > c", **join("go"))], [JOIN_FAULT.format(1)]),
        (["a > b", "a > c @1 if _last_error.code", edge("b > d", **join("a"))], [JOIN_FAULT.format(2)]),
        ([edge("a > b", **SPAWN), edge("b > c", **join("a")), edge("c > d", **join("a"))], [JOIN_FAULT.format(2)]),
        ([edge("a > b", **SPAWN), edge("b > c", **join("b"))], [JOIN_FAULT.format(1)]),
        # the fan-out lies behind the join, or beside it
        ([edge("a > b", **join("b")), edge("b > c", **SPAWN)], [JOIN_FAULT.format(0)]),
        (
            [edge("a > b if input.x", **SPAWN), "a > c @1", edge("c > d", **join("a"))],
            [JOIN_FAULT.format(2)],
        ),
        # one of the ways to the join comes out of the fan-out: the other passes (CTL-8)
        ([edge("a > b if input.x", **SPAWN), "a > b @1", edge("b > c", **join("a"))], []),
        (
            [edge("a > b", **SPAWN), edge("b > c", **join("nobody"))],
            ["unknown_sibling_group at " + JOIN_FAULT[24:].format(1)],
        ),
    ],
)
def test_ctl_8_a_join_needs_a_fan_out_before_it(transitions: list[str | dict[str, Any]], found: list[str]) -> None:
    assert found_in(graph(*transitions)) == found


NESTED = [edge("a > b", **SPAWN, ref="outer"), edge("b > c", **SPAWN, ref="inner")]


@pytest.mark.parametrize(
    ("joins", "found"),
    [
        ([edge("c > d", **join("b")), edge("d > e", **join("a"))], []),
        ([edge("c > d", **join("inner")), edge("d > e", **join("outer"))], []),
        ([edge("c > d", **join("inner")), edge("d > e", **join("a"))], []),
        ([edge("c > e", **join("a"))], []),  # the outer join alone takes the inner branches with it
        ([edge("c > d", **join("a")), edge("d > e", **join("b"))], [JOIN_FAULT.format(3)]),  # inside out only
        ([edge("c > d", **join("b")), edge("d > e", **join("b"))], [JOIN_FAULT.format(3)]),
    ],
)
def test_ctl_12_nested_fan_outs_are_joined_from_the_inside_out(joins: list[dict[str, Any]], found: list[str]) -> None:
    assert found_in(graph(*NESTED, *joins)) == found


@pytest.mark.parametrize(
    ("second", "agrees"),
    [
        (join("a"), True),
        (join("a", on_early_complete="cancel", timeout_ms=None), True),  # the defaults, written out
        (join("a", "any"), False),
        (join("a", {"m_of_n": 2}), False),
        (join("a", timeout_ms=5), False),
        (join("a", merge={"source": "_branch.output", "target": "state.x", "strategy": "append"}), False),
        (join("right"), False),
        ({}, True),  # a token may come without being joined
    ],
)
def test_ctl_8_all_joins_into_one_node_must_be_equal(second: dict[str, Any], agrees: bool) -> None:
    transitions = ["a > b", edge("a > c", ref="right"), edge("b > d", **join("a")), edge("c > d", **second)]
    found = [] if agrees else ["joins_disagree at transitions.3.synchronization"]
    assert found_in(graph(*transitions)) == found


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"spawn_count": 2, **each("input.xs")}, "spawn_and_foreach"),
        ({**each("input.xs"), **join("a")}, "foreach_and_synchronization"),
        ({"spawn_count": 0}, "out_of_range"),
        ({"foreach": {"collection": "input.xs", "max_parallel": 0}}, "out_of_range"),
        ({"foreach": {}}, "missing_field"),
        ({"loop_config": {}}, "no_limit"),
        ({"loop_config": {"max_iterations": 0}}, "out_of_range"),
        ({"synchronization": {"strategy": "all"}}, "missing_field"),
        ({"synchronization": {"strategy": {"m_of_n": 0}, "sibling_group": "a"}}, "out_of_range"),
        ({"synchronization": {"strategy": {"m": 2}, "sibling_group": "a"}}, "missing_field"),
        ({"priority": 1.5}, "wrong_type"),
        ({"priority": "high"}, "wrong_type"),
        ({"condition": {"type": "lambda"}}, "bad_choice"),
        ({"condition": {"type": "expression", "expression": "1"}}, "missing_field"),
        ({"condition": ""}, "too_short"),
        ({"condition": 7}, "wrong_type"),
    ],
)
def test_ctl_5_a_transition_that_can_not_be_is_refused(fields: dict[str, Any], code: str) -> None:
    faults = faults_in(graph("a > b", edge("b > c", **fields)))
    assert code in [fault.code for fault in faults]
    assert all(fault.path[:3] == ("workflow", "transitions", 1) for fault in faults)


@pytest.mark.parametrize(
    ("item_var", "is_fine"),
    [
        ("line", True),
        ("_x1", True),
        ("élément", True),
        ("item", True),
        ("input", False),
        ("state", False),
        ("_branch", False),
        ("_last_error", False),
        ("select", False),
        ("NULL", False),
        ("a-b", False),
        ("a b", False),
        ("1st", False),
    ],
)
def test_exp_2_an_item_variable_is_an_identifier_without_another_meaning(item_var: str, is_fine: bool) -> None:
    found = [] if is_fine else ["bad_item_var at transitions.0.foreach.item_var"]
    assert found_in(graph(edge("a > b", **each("input.xs", item_var)))) == found


def test_a_bad_item_variable_does_not_hide_the_root_that_it_is_called_after() -> None:
    reads_state = {"b": {"task": "t", "input_mapping": {"x": "$.state.total"}}}
    schema = {"type": "object", "properties": {"total": {}}}
    definition = graph(edge("a > b", **each("input.xs", "state")), nodes=reads_state, context_schema=schema)
    definition["tasks"] = {"t": {"steps": [{"ref": "s", "action": {"kind": "sleep", "implementation": {"ms": 1}}}]}}
    assert found_in(definition) == ["bad_item_var at transitions.0.foreach.item_var"]


def test_a_graph_with_more_ways_than_can_be_followed_gives_no_false_faults() -> None:
    transitions: list[str | dict[str, Any]] = []
    for i in range(12):
        transitions += [edge(f"n{i} > n{i + 1} if input.x", ref=f"t{i}", spawn_count=2), f"n{i} > n{i + 1} @1"]
    assert found_in(graph(*transitions, edge("n12 > end", **join("t0")))) == []


def test_a_long_chain_is_checked_without_recursion() -> None:
    assert found_in(graph(*(f"n{i} > n{i + 1}" for i in range(3000)))) == []
