"""EVT-1: the view `event_log` says of every event what `wonder runs events` says."""

import sqlite3
from contextlib import closing
from typing import Any

from wonder.engine.decisions import RecordEvent
from wonder.engine.events import EVENTS
from wonder.observe.event_messages import message_of
from wonder.storage.runs.cells import to_json
from wonder.storage.store import Store

ERROR = {"code": "BAD", "message": "it is 'bad', in\ntwo lines: 100 %", "node": "a", "details": None}
CHANGES = [["state", {"a": 1}], [["state", "a", "b"], 2], [["output", "list", 3], None], [[], {}]]
# Of each type what its message tells of, where it is there and where it is not.
TOLD: dict[str, list[dict[str, Any]]] = {
    "workflow_paused": [{"reason": "requested", "left_ms": 5}, {"reason": "", "left_ms": None}],
    "workflow_cancelled": [{"reason": "zu spät"}, {"reason": None}, {"reason": ""}],
    "workflow_failed": [{"error": ERROR}],
    "trigger_failed": [{"trigger": 0, "error": {"code": "C", "message": "m"}}, {"trigger": 0}],
    "token_dispatched": [{}, {"losses": -1}, {"losses": 2, "lost_with": "process"}],
    "token_suspended": [{"wait": {"kind": "human_input", "prompt": "?"}}],
    "token_resumed": [{"by": "timer"}, {"by": "answer", "again": True}],
    "token_failed": [{}, {"error": ERROR}],
    "token_timed_out": [{}, {"error": ERROR}],
    "tokens_ended": [{"status": "cancelled", "count": 1_234_567}, {"status": "timed_out", "count": 7}],
    "node_failed": [{"error": ERROR}],
    "fan_out_started": [{"total": 1_000, "branches": []}],
    "fan_in_completed": [{"arrived": 2, "total": 3}],
    "fan_in_failed": [{"error": ERROR, "join": "b"}],
    "context_updated": [{"changes": CHANGES}, {"changes": []}, {"changes": [["output", 1]], "branch": 1}],
    "human_input_requested": [{"item_id": "i", "prompt": "Really?"}, {"item_id": "i", "prompt": ""}],
    "human_input_claimed": [{"item_id": "i", "by": "ann"}],
    "human_input_released": [{"item_id": "i", "by": "ann"}, {"item_id": "i", "by": None}],
    "human_input_delegated": [{"item_id": "i", "by": None, "to": "bob"}],
    "human_input_counted": [{"item_id": "i", "by": "ann", "answer": {"ok": True}}],
    "human_input_answered": [{"item_id": "i", "by": "bob"}, {"item_id": "i", "by": None}, {"item_id": "i", "by": ""}],
    "llm_call_completed": [
        {"profile": "fast", "model": "mock/m", "duration_ms": 12},
        {"profile": "fast", "model": "mock/m", "duration_ms": 1234, "error": {"code": "C", "message": "m"}},
    ],
    "artifact_written": [{"artifact_id": "A", "size_bytes": 12_345_678, "content_type": "a/b"}],
}


def every_event() -> list[RecordEvent]:
    assert TOLD.keys() < EVENTS.keys()
    told = [(type, fields) for type in [*EVENTS, "of_a_later_version"] for fields in TOLD.get(type, [{}])]
    return [
        RecordEvent(number, 1, type, number, None, None, None, fields)  # type: ignore[arg-type]  # only what is told
        for number, (type, fields) in enumerate(told, 1)
    ]


async def test_evt_1_the_view_event_log_has_the_message_of_every_type_of_event(store: Store, store_url: str) -> None:
    events = every_event()
    async with store.transaction() as transaction:
        row = ("R", 1, len(events), to_json(events))
        await transaction.run("INSERT INTO event_turns (run_id, first, last, events) VALUES ($1, $2, $3, $4)", [row])
    sql = "SELECT event_type, message FROM event_log ORDER BY sequence_number"
    expected = [(event.type, message_of(event.type, event.metadata)) for event in events]
    assert await store.query(sql) == expected
    if store.dialect == "sqlite":  # also for the program of whoever has the file, which is older
        with closing(sqlite3.connect(store_url.removeprefix("sqlite:///"))) as connection:
            assert connection.execute(sql).fetchall() == expected
