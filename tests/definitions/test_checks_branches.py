"""Checks of what branches read and write: scopes, items and merges (CTL-7, CTL-7a, CTL-11)."""

from typing import Any

import pytest

from support.definitions import noop, update
from support.graphs import each, edge, found_in, graph, join

SPAWN = {"spawn_count": 2}
CLOSED = {"type": "object", "properties": {"all": {"type": "array"}}}


def writes(*targets: str) -> dict[str, Any]:
    """Make a node that writes its output to targets."""
    return noop(output_mapping=dict.fromkeys(targets, "$"))


def reads(query: str) -> dict[str, Any]:
    """Make a node that takes one value out of the context."""
    return noop(input_mapping={"x": query})


def merged(source: str, target: str = "state.all", strategy: str = "append", group: str = "a") -> dict[str, Any]:
    return join(group, merge={"source": source, "target": target, "strategy": strategy})


@pytest.mark.parametrize(
    ("transitions", "node", "is_dropped"),
    [
        ([edge("a > b", **SPAWN)], "b", True),
        ([edge("a > b", **each("input.xs"))], "b", True),
        (["a > b", "a > c"], "b", True),
        ([edge("a > b", **SPAWN), "b > c"], "c", True),
        ([edge("a > b", **SPAWN), edge("b > c", **join("a"))], "b", False),  # joined, though nothing is merged
        ([edge("a > b", **SPAWN), "b > d", edge("d > c", **join("a"))], "b", False),
        ([edge("a > b", **SPAWN), edge("b > c", **join("a"))], "c", False),  # in the scope of the run again
        # the inner branches are never joined, only the outer ones
        ([edge("a > d", **SPAWN), edge("d > b", **SPAWN), edge("b > c", **join("a"))], "b", True),
        ([edge("a > d", **SPAWN), edge("d > b", **SPAWN), edge("b > c", **join("a"))], "d", False),
        # perhaps only one of them fires, which is then no fan-out at all (CTL-5)
        (["a > b if input.x", "a > c if input.y", "a > d @1"], "b", False),
        (["a > b", "a > c @1 if _last_error.code = 'X'"], "b", False),
        (["a > b", "a > c if _last_error.code = 'X'"], "c", False),
    ],
)
@pytest.mark.parametrize("written", [writes("state.x"), update(**{"state.x": "1"})], ids=["mapping", "update"])
def test_ctl_7a_what_a_branch_writes_that_is_never_joined_is_a_warning(
    transitions: list[str | dict[str, Any]], node: str, is_dropped: bool, written: dict[str, Any]
) -> None:
    found = [f"write_dropped at nodes.{node}"] if is_dropped else []
    assert found_in(graph(*transitions, nodes={node: written})) == found


def test_ctl_7a_a_branch_that_writes_its_own_output_in_words_is_warned_as_well() -> None:
    definition = graph(edge("a > b", **SPAWN), nodes={"b": writes("_branch.output.x")})
    assert found_in(definition) == ["write_dropped at nodes.b"]


@pytest.mark.parametrize(
    ("fan_out", "node", "found"),
    [
        (each("input.xs"), writes("output.x"), ["last_write_wins at nodes.b.output_mapping.output.x"]),
        (each("input.xs"), writes("$.output.x"), ["last_write_wins at nodes.b.output_mapping.$.output.x"]),
        (each("input.xs"), writes("output"), ["last_write_wins at nodes.b.output_mapping.output"]),
        (each("input.xs"), update(**{"output.x": "1"}), ["last_write_wins at nodes.b"]),
        (SPAWN, writes("output.x"), []),
        ({}, writes("output.x"), []),
    ],
)
def test_ctl_7_every_branch_of_a_foreach_writes_one_output_is_a_warning(
    fan_out: dict[str, Any], node: dict[str, Any], found: list[str]
) -> None:
    assert found_in(graph(edge("a > b", **fan_out), nodes={"b": node})) == found


def test_ctl_7_a_branch_reads_what_it_wrote_and_nobody_else_does() -> None:
    """The context is closed and has no `draft`; the branch has one, and behind the join it is gone."""
    transitions = [edge("a > b", **SPAWN), "b > c", edge("c > d", **merged("_branch.output.draft"))]
    nodes = {"b": writes("state.draft"), "c": reads("$.state.draft.title"), "d": reads("$.state.draft")}
    found = ["unknown_field at nodes.d.input_mapping.x"]
    assert found_in(graph(*transitions, nodes=nodes, context_schema=CLOSED)) == found


def test_ctl_7_a_branch_may_replace_the_whole_state_and_read_any_name_of_it() -> None:
    transitions = [edge("a > b", **SPAWN), "b > c", edge("c > d", **merged("_branch.output.draft"))]
    nodes = {"b": writes("state"), "c": reads("$.state.draft")}
    assert found_in(graph(*transitions, nodes=nodes, context_schema=CLOSED)) == []


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("state.all", []),
        ("state.other", ["unknown_target at nodes.{}.output_mapping.state.other"]),
        ("output.any", []),
        ("_branch.output.x", ["unknown_target at nodes.{}.output_mapping._branch.output.x"]),
        ("input.x", ["bad_target at nodes.{}.output_mapping.input.x"]),
        ("item.x", ["bad_target at nodes.{}.output_mapping.item.x"]),
        ("_branch.index", ["bad_target at nodes.{}.output_mapping._branch.index"]),
        ("state.a-b", ["path_syntax at nodes.{}.output_mapping.state.a-b"]),
        ("state.", ["path_syntax at nodes.{}.output_mapping.state."]),
    ],
)
def test_ctx_5a_a_target_that_can_not_be_written_is_refused(target: str, found: list[str]) -> None:
    definition = graph("a > b", nodes={"b": writes(target)}, context_schema=CLOSED)
    assert found_in(definition) == [text.format("b") for text in found]


@pytest.mark.parametrize("choice", [["a > b if input.x", "a > c if input.y", "a > d @1"], ["a > b"]])
def test_ctx_5a_where_perhaps_nothing_fans_out_a_target_is_still_looked_up(choice: list[str]) -> None:
    definition = graph(*choice, nodes={"b": writes("state.other")}, context_schema=CLOSED)
    assert found_in(definition) == ["unknown_target at nodes.b.output_mapping.state.other"]


ORDERS = {
    "type": "object",
    "properties": {
        "orders": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "lines": {"type": "array", "items": {"type": "object", "properties": {"cents": {}}}},
                },
            },
        },
    },
}


@pytest.mark.parametrize(
    ("node", "query", "code"),
    [
        ("b", "$.order.number", None),
        ("b", "$.order.numbr", "unknown_field"),
        ("b", "$.order.number.x", "unknown_field"),
        ("b", "$.line.cents", "unknown_name"),  # the inner foreach begins behind this node
        ("c", "$.line.cents", None),
        ("c", "$.line.dollars", "unknown_field"),
        ("c", "$.order.lines[0].cents", None),
        ("c", "$.order.lines[0].dollars", "unknown_field"),
        ("c", "$.order.lines[*].dollars", None),  # behind a wildcard nothing is known
        ("c", "$.order.lnes[*].cents", "unknown_field"),
        ("c", "$._branch.item_index", None),
        ("c", "$._branch.itemindex", "unknown_field"),
        ("c", "$._branch.parent.item.number", None),
        ("d", "$.order.number", None),
        ("d", "$.line.cents", "unknown_name"),  # its foreach is joined
        ("e", "$.order.number", "unknown_name"),
        ("e", "$._branch.index", "unknown_name"),
        ("a", "$.order.number", "unknown_name"),
    ],
)
def test_ctl_5_an_item_has_the_schema_of_its_collection_inside_its_foreach_only(
    node: str, query: str, code: str | None
) -> None:
    transitions = [
        edge("a > b", **each("input.orders", "order")),
        edge("b > c", **each("order.lines", "line")),
        edge("c > d", **join("b")),
        edge("d > e", **join("a")),
    ]
    found = [f"{code} at nodes.{node}.input_mapping.x"] if code else []
    assert found_in(graph(*transitions, nodes={node: reads(query)}, input_schema=ORDERS)) == found


@pytest.mark.parametrize(
    ("collection", "code"),
    [
        ("input.orders", None),
        ("$.input.orders", None),
        ("input.orders[0].lines", None),
        ("input.order", "unknown_field"),
        ("input.orders[0].number", "not_a_list"),
        ("input", "not_a_list"),
        ("inptu.orders", "unknown_name"),
        ("item.lines", "unknown_name"),
        ("input..orders", "path_syntax"),
        ("input.orders[x]", "path_syntax"),
        # CTX-6: a query that finds several, or any expression
        ("$.input.orders[*]", None),
        ("$.input.order[*]", "unknown_field"),
        ("$.input.orders[", "path_syntax"),
        ("json_array(1, 2)", None),
        ("coalesce(state.open, json_array())", None),
        ("CASE WHEN input.orders IS NULL THEN json_array() ELSE input.orders END", None),
        ("coalesce(input.order, json_array())", "unknown_field"),
        ("json_array(1,", "expression_syntax"),
        ("nonsense(1)", "unknown_function"),
        ("state.open", None),
        ("_branch.item", "unknown_name"),
    ],
)
def test_ctl_6_a_collection_is_a_list_that_can_be_there(collection: str, code: str | None) -> None:
    found = [f"{code} at transitions.0.foreach.collection"] if code else []
    definition = graph(edge("a > b", foreach={"collection": collection}), input_schema=ORDERS)
    assert found_in(definition) == found


@pytest.mark.parametrize(
    ("join_fields", "found"),
    [
        (merged("_branch.output.x"), []),
        (merged("$._branch.output.x"), []),
        (merged("_branch.output"), []),
        (merged("_branch.index"), []),
        (merged("_branch.output.y"), ["merge_source_unwritten at transitions.1.synchronization.merge.source"]),
        (merged("state.x"), ["bad_merge_source at transitions.1.synchronization.merge.source"]),
        (merged("_branch.output.x", "state.nowhere"), ["unknown_target at transitions.1.synchronization.merge.target"]),
        (merged("_branch.output.x", "input.x"), ["bad_target at transitions.1.synchronization.merge.target"]),
        (merged("_branch.output.x", "output.list"), []),
        (merged("_branch.output.x", strategy="last_wins"), []),
        (
            merged("_branch.output.x", strategy="keyed_by_branch"),
            ["type_mismatch at transitions.1.synchronization.merge.target"],
        ),
        (
            merged("_branch.output.x", strategy="merge_object"),
            ["type_mismatch at transitions.1.synchronization.merge.target"],
        ),
        (merged("_branch.output.x", strategy="concat"), ["bad_choice at transitions.1.synchronization.merge.strategy"]),
    ],
)
def test_ctl_11_a_merge_takes_what_branches_wrote_to_a_place_that_holds_it(
    join_fields: dict[str, Any], found: list[str]
) -> None:
    transitions = [edge("a > b", **SPAWN), edge("b > c", **join_fields)]
    assert found_in(graph(*transitions, nodes={"b": writes("state.x")}, context_schema=CLOSED)) == found


def test_ctl_7a_a_merge_inside_a_branch_writes_to_that_branch() -> None:
    """The target of the inner merge is not in the context, but in the outer branch, whose nodes read it."""
    transitions = [
        edge("a > b", **SPAWN),
        edge("b > c", **SPAWN),
        edge("c > d", **merged("_branch.output.x", "state.inner", group="b")),
        edge("d > e", **merged("_branch.output.inner")),
    ]
    nodes = {"c": writes("state.x"), "d": reads("$.state.inner[0]")}
    assert found_in(graph(*transitions, nodes=nodes, context_schema=CLOSED)) == []
