"""CTX-5c: a mapping that finds nothing where a schema requires the value says so, in the history and in the logs."""

from typing import Any

import pytest

from support.systems import bundle, calls, running, until
from wonder.app.application import Application
from wonder.coordinator import mapping_warnings
from wonder.observe.history import history_of_run
from wonder.operations.logs import ListLogs, LogMessage, list_logs

SCHEMA: Any = {
    "type": "object",
    "properties": {
        "order": {"type": "object", "properties": {"id": {}, "note": {}}, "required": ["id"]},
        "seen": {"type": "integer"},
    },
    "required": ["order"],
}
READ: Any = {"id": "$.state.order.id", "note": "$.state.order.note", "all": ["$.state.order"], "seen": "$.state.seen"}
REQUIRED = ["$.state.order.id", "$.state.order"]


def several(count: int) -> Any:
    """Make a workflow in which a node reads before anybody has written, several times."""
    begin = {"action": {"kind": "update_context", "implementation": {"updates": []}}}
    nodes = {"begin": begin, "a": calls("echo", input_mapping=READ)}
    return bundle("w", nodes, [{"from": "begin", "to": "a", "spawn_count": count}], context_schema=SCHEMA)


async def history(wonder: Application, run_id: str) -> list[list[str]]:
    return [one.found_nothing async for one in history_of_run(wonder.store, run_id)]


async def warnings(wonder: Application, run_id: str, count: int) -> list[LogMessage]:
    async def look() -> list[LogMessage] | None:
        found = (await list_logs(wonder, ListLogs(run_id=run_id))).logs
        return found if len(found) >= count else None

    return list(reversed(await until(look)))


async def test_ctx_5c_each_execution_says_what_it_did_not_find_and_the_logs_say_it_once(store_url: str) -> None:
    def echo(**given: Any) -> Any:
        return given

    async with running(store_url, echo=echo) as wonder:
        run = await wonder.start(await wonder.deploy(several(3)))
        assert (await run.wait()).status == "completed"
        assert await history(wonder, run.id) == [[], *[REQUIRED] * 3]
        logged = await warnings(wonder, run.id, 2)
        assert [(one.level, one.service, one.node) for one in logged] == [("warning", "wonder.mappings", "a")] * 2
        assert [one.message.partition(",")[0] for one in logged] == [
            f"the input_mapping of 'a' found nothing at {query}" for query in REQUIRED
        ]


async def test_ctx_5c_what_waits_says_it_too_and_what_is_found_or_optional_is_not_told(store_url: str) -> None:
    wait = {"action": {"kind": "sleep", "implementation": {"ms": 1}}, "input_mapping": READ}
    write = {
        "action": {
            "kind": "update_context",
            "implementation": {"updates": [{"path": "state.order", "expr": "json_object('id', 1)"}]},
        }
    }
    ways = [{"from": "wait", "to": "write"}, {"from": "write", "to": "last"}]
    graph = bundle("w", {"wait": wait, "write": write, "last": {**wait}}, ways, context_schema=SCHEMA)
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(graph))
        assert (await run.wait()).status == "completed"
        assert await history(wonder, run.id) == [REQUIRED, [], []]
        assert {one.node for one in await warnings(wonder, run.id, 2)} == {"wait"}


async def test_ctx_5c_what_was_told_is_remembered_within_a_bound(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapping_warnings, "TOLD_MAX", 1)
    async with running(store_url, echo=lambda **given: given) as wonder:
        run = await wonder.start(await wonder.deploy(several(2)))
        assert (await run.wait()).status == "completed"
        told = [one.message.split("at ")[1].split(",")[0] for one in await warnings(wonder, run.id, 3)]
        assert told == [*REQUIRED, REQUIRED[0]]
