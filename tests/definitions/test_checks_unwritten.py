"""CTX-5c: a mapping that reads what the schema requires before anything can have written it is a warning."""

from typing import Any

import pytest

from support.graphs import each, edge, found_in, graph, join
from wonder.definitions.checks import unwritten

SCHEMA: Any = {"type": "object", "properties": {"n": {}, "o": {}, "items": {"type": "array"}}, "required": ["n"]}
CALL: Any = {"action": {"kind": "python", "implementation": {"function": "m:f"}}}
READS = {**CALL, "input_mapping": {"list": ["$.state.n"]}}
WRITES = {**CALL, "output_mapping": {"state.n": "$.n"}}
UPDATES = {"action": {"kind": "update_context", "implementation": {"updates": [{"path": "state.n", "expr": "1"}]}}}
NOT_WRITTEN = "state_not_written at nodes.r.input_mapping.list.0"


@pytest.mark.parametrize(
    ("transitions", "nodes", "is_told"),
    [
        (["r > w"], {"w": WRITES}, True),
        (["w > r"], {"w": WRITES}, False),
        (["w > r"], {"w": UPDATES}, False),
        (["w > a", "a > r"], {"w": {**CALL, "output_mapping": {"state": "$"}}}, False),
        (["w > a", "a > r"], {"w": {**CALL, "output_mapping": {"state.n.deep": "$"}}}, False),
        (["w > a", "a > r"], {"w": {**CALL, "output_mapping": {"state.o": "$"}}}, True),
        # on some way, or in a loop, it may be there
        (["a > w if input.p", "a > r @1", "w > r"], {"w": WRITES}, False),
        (["r > w", edge("w > r", loop_config={"max_iterations": 2})], {"w": WRITES}, False),
        # a node does not read what it writes itself
        (["a > r"], {"r": {**READS, "output_mapping": {"state.n": "$.n"}}}, True),
        # a merge writes before the node that it leads to begins
        (
            [
                edge("a > b", **each("state.items")),
                edge(
                    "b > r", **join("a", merge={"source": "_branch.output", "target": "state.n", "strategy": "append"})
                ),
            ],
            {},
            False,
        ),
    ],
)
def test_ctx_5c_what_nothing_has_written_yet_is_told(
    transitions: list[Any], nodes: dict[str, Any], is_told: bool
) -> None:
    found = found_in(graph(*transitions, nodes={"r": READS, **nodes}, context_schema=SCHEMA))
    assert found == ([NOT_WRITTEN] if is_told else [])


@pytest.mark.parametrize(
    "schema", [{**SCHEMA, "required": []}, {**SCHEMA, "properties": {"n": {"default": 1}}, "required": ["n"]}, {}]
)
def test_ctx_5c_only_a_value_that_is_required_and_has_no_default_is_missed(schema: Any) -> None:
    assert not found_in(graph("r > a", nodes={"r": READS}, context_schema=schema))


def test_ctx_5c_the_check_takes_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = ["r > w", "w > a", *(f"a > n{number}" for number in range(50))]
    definition = graph(*ways, nodes={"r": READS, "w": WRITES}, context_schema=SCHEMA)
    assert found_in(definition) == [NOT_WRITTEN]
    monkeypatch.setattr(unwritten, "STEPS_MAX", 20)
    assert not found_in(definition)
