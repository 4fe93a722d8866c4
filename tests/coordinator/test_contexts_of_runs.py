"""The context of real runs, on both databases: what it is, what it holds, what fails a node (CTX-1 to CTX-7, EXP-7)."""

import json
import math
from typing import Any

import pytest

from support.definitions import update
from support.systems import bundle, calls, line, open_item, running, waits
from wonder.definitions.faults import DefinitionRefused
from wonder.errors import WonderError
from wonder.storage.runs.listing import list_runs

ASK = waits("human_input", {"prompt": "?", "schema": {}})
EXACT = [2**70, -(2**53) - 1, 1.0, 1, True, None, {}, [], "né ☃ 😀", {"deep": [{"a": [[]]}]}, 0.1, "1"]
BAD = [math.nan, math.inf, "\x00", "\ud800", {"a\x00": 1}]


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


async def test_ctx_1_the_input_never_changes_the_state_has_its_shape_and_the_output_is_given(store_url: str) -> None:
    """CTX-7, too: what goes in comes back as it was, through the input, the state, a function and the output."""
    definition = bundle(
        "exact",
        {
            "pass": calls("same", input_mapping={"value": "$.input.value"}, output_mapping={"state.value": "$.value"}),
            "give": update(**{"output.value": "state.value", "output.input": "input.value"}),
        },
        line("pass", "give"),
        context_schema={"type": "object", "properties": {"value": {}}},
    )

    async def same(value: Any) -> dict[str, Any]:
        if isinstance(value, list):
            value.append("a function has its own copy")
            value.pop()
        return {"value": value}

    async with running(store_url, same=same) as wonder:
        workflow = await wonder.deploy(definition)
        result = await (await wonder.start(workflow, {"value": EXACT})).wait()
        assert repr(result.output) == repr({"value": EXACT, "input": EXACT})


async def test_ctx_1_the_input_is_kept_when_a_later_commit_writes_what_has_no_column(store_url: str) -> None:
    words = {"type": "object", "properties": {"words": {"type": "array", "items": {"type": "string"}}}}
    definition = bundle(
        "keeps",
        {"ask": ASK, "write": update(**{"state.words": "input.words"}), "again": ASK},
        line("ask", "write", "again"),
        input_schema=words,
        context_schema=words,
    )
    async with running(store_url) as wonder:
        # An empty list has no rows: that it is there at all is said where all such things of the context are.
        run = await wonder.start(await wonder.deploy(definition), {"words": []})
        await wonder.answer((await open_item(wonder, run)).id, 1)
        await wonder.answer((await open_item(wonder, run)).id, 2)
        assert (await run.wait()).status == "completed"


@pytest.mark.parametrize("node", [update(**{"input.x": "1"}), calls("f", output_mapping={"input.x": "$.x"})])
async def test_ctx_1_nothing_can_write_to_the_input(store_url: str, node: dict[str, Any]) -> None:
    async with running(store_url, f=dict) as wonder:
        with pytest.raises(DefinitionRefused, match=r"input\.x"):
            await wonder.deploy(bundle("writes", {"only": node}))


async def test_ctl_7_a_key_that_a_branch_removed_stays_removed_after_a_restart(store_url: str) -> None:
    definition = bundle(
        "removes",
        {
            "begin": update(**{"state.data": "input.data"}),
            "hide": update(**{"state.data": "json_remove(state.data, '$.secret')", "state.more.seen": "true"}),
            "ask": ASK,
            "give": update(**{"output.state": "state"}),
        },
        [{"from": "begin", "to": "hide", "spawn_count": 1}, *line("hide", "ask", "give")],
        context_schema={"type": "object", "properties": {"data": {"type": "object"}, "more": {}}},
    )
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(definition), {"data": {"secret": 1, "name": "Ada"}})
        item = await open_item(wonder, run)
    async with running(store_url) as wonder:
        await wonder.answer(item.id, 1)
        result = await wonder.wait(run.id)
        assert result.output == {"state": {"data": {"name": "Ada"}, "more": {"seen": True}}}


async def test_ctx_2_live_and_past_contexts_are_queried_with_plain_sql(store_url: str) -> None:
    schema = {
        "type": "object",
        "properties": {
            "order": {"type": "integer"},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "integer"}}}},
        },
    }
    definition = bundle(
        "shop",
        {"set": update(**{"state.order": "input.n", "state.rows": "input.rows"}), "ask": ASK},
        line("set", "ask"),
        context_schema=schema,
        input_schema={"type": "object"},
    )
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(definition)
        ended = await wonder.start(workflow, {"n": 1, "rows": [{"price": 3}, {"price": 4}]})
        await wonder.answer((await open_item(wonder, ended)).id, {})
        await ended.wait()
        live = await wonder.start(workflow, {"n": 2, "rows": [{"price": 5}]})
        await open_item(wonder, live)
        store = wonder.store
        found = await store.query("SELECT run_id, state_order, state_rows FROM context_shop ORDER BY state_order")
        assert [row[:2] for row in found] == [(ended.id, 1), (live.id, 2)]
        assert [json.loads(str(row[2])) for row in found] == [[{"price": 3}, {"price": 4}], [{"price": 5}]]
        await wonder.cancel(live.id)


@pytest.mark.parametrize(
    ("mapping", "output", "code"),
    [
        ({"state.n": "$.n"}, {"n": "text"}, "CONTEXT_SCHEMA"),
        ({"state.any": "$.n", "state.any.deeper": "$.n"}, {"n": 1}, "TARGET_UNWRITABLE"),
        ({"state.list[1]": "$.n"}, {"n": 1}, "TARGET_UNWRITABLE"),
    ],
    ids=["schema", "through a scalar", "behind the end"],
)
async def test_ctx_5b_a_write_that_does_not_fit_fails_the_node_and_writes_nothing(
    store_url: str, mapping: dict[str, str], output: Any, code: str
) -> None:
    """CTX-5a: nor one that can't be made; a transition may take the failure."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "list": {"type": "array"}, "any": {}}}
    definition = bundle(
        "writes",
        {
            "write": calls("give", output_mapping=mapping),
            "fix": update(**{"output.code": "_last_error.code", "output.n": "coalesce(state.n, state.any) IS NULL"}),
        },
        [{"from": "write", "to": "fix", "condition": "_last_error IS NOT NULL"}],
        context_schema=schema,
    )
    async with running(store_url, give=lambda: output) as wonder:
        result = await (await wonder.start(await wonder.deploy(definition))).wait()
        assert result.output == {"code": code, "n": True}


async def test_ctx_5_and_5a_mappings_see_what_they_should_and_write_in_order(store_url: str) -> None:
    """CTX-6, too: a collection and a merge may be written as queries."""
    definition = bundle(
        "maps",
        {
            "start": calls(
                "give", output_mapping={"state.list": ["a"], "state.list[1]": "$.x", 'state."a b".c': "$.x"}
            ),
            "each": calls(
                "seen",
                input_mapping={"all": ["$.thing", "$.input.k", "$.state.list", "$._branch.index", "$.state.none"]},
                output_mapping={"_branch.output.x": "$.all"},
            ),
            "done": calls("seen", input_mapping="$.state", output_mapping={"output": "$"}),
        },
        [
            {"from": "start", "to": "each", "foreach": {"collection": "$.state.list", "item_var": "thing"}},
            {
                "from": "each",
                "to": "done",
                "synchronization": {
                    "strategy": "all",
                    "sibling_group": "start",
                    "merge": {"source": "$._branch.output.x", "target": "$.state.all", "strategy": "append"},
                },
            },
        ],
    )
    async with running(store_url, give=lambda: {"x": "b"}, seen=lambda **given: given) as wonder:
        result = await (await wonder.start(await wonder.deploy(definition), {"k": 7})).wait()
        assert result.output == {
            "list": ["a", "b"],
            "a b": {"c": "b"},
            "all": [["a", 7, ["a", "b"], 0, None], ["b", 7, ["a", "b"], 1, None]],
        }


@pytest.mark.parametrize("value", [*BAD, nested(201), "x" * 17_000_000], ids=lambda value: repr(value)[:12])
async def test_ctx_7_what_is_no_json_is_refused_at_the_door(store_url: str, value: Any) -> None:
    async with running(store_url) as wonder:
        workflow = await wonder.deploy(bundle("quick", {"ask": ASK}))
        with pytest.raises(WonderError):
            await wonder.start(workflow, {"value": value})
        assert (await list_runs(wonder.store, wonder.home.project_id)).items == []
        run = await wonder.start(workflow)
        item = await open_item(wonder, run)
        for refused in (wonder.answer(item.id, value), wonder.send_event("e", "k", value)):
            with pytest.raises(WonderError):
                await refused
        await wonder.answer(item.id, {})
        assert (await run.wait()).status == "completed"


@pytest.mark.parametrize("place", ["update", "transition"])
async def test_exp_7_an_expression_that_can_not_be_evaluated_fails_with_its_text_and_values(
    store_url: str, place: str
) -> None:
    expr = "json_extract(input.text, '$')"
    nodes = {"first": update(**({"state.x": expr} if place == "update" else {})), "next": update()}
    transitions = [{"from": "first", "to": "next", **({"condition": expr} if place == "transition" else {})}]
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("broken", nodes, transitions)), {"text": "{no json"})
        result = await run.wait()
        assert result.error
        assert (result.error["code"], result.error["node"]) == ("EXPRESSION_ERROR", "first")
        assert expr in str(result.error["message"])
        assert "{no json" in str(result.error)


async def test_exp_1_one_language_is_spoken_everywhere(store_url: str) -> None:
    """In a transition's condition, a step's, an update, an assertion and a metric."""
    expr = "input.n % 3 == 1 AND input.text LIKE 'A%'"
    metric = {"metric_name": "m", "value": {"expr": f"CASE WHEN {expr} THEN 1 ELSE 'no number' END"}}
    definition = bundle(
        "speaks",
        {
            "update": update(**{"output.update": expr}),
            "assert": {"action": {"kind": "assert", "implementation": {"expr": expr, "message": "no"}}},
            "metric": {"action": {"kind": "emit_metric", "implementation": metric}},
            "task": {"task": "t", "input_mapping": "$.input", "output_mapping": {"output.step": "$.step"}},
            "no": update(),
        },
        [
            *line("update", "assert", "metric"),
            {"from": "metric", "to": "task", "condition": expr},
            {"from": "metric", "to": "no", "priority": 1},
        ],
    )
    step = {
        "ref": "s",
        "action": "f",
        "condition": {"if": expr, "else": "fail"},
        "output_mapping": {"output.step": True},
    }
    definition["tasks"] = {"t": {"steps": [step]}}
    definition["actions"] = {"f": {"kind": "python", "implementation": {"function": "tests:f"}}}
    async with running(store_url, f=dict) as wonder:
        result = await (await wonder.start(await wonder.deploy(definition), {"n": 7, "text": "ada"})).wait()
        assert (result.status, result.output) == ("completed", {"update": True, "step": True})
