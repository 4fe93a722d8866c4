"""RES-7: every text that is indexed has a bound, and each index has room for the longest of them on PostgreSQL."""

from wonder.definitions.records.fields import NAME_MAX
from wonder.language.keys import KEY_BYTES_MAX
from wonder.storage.store import Store

# What PostgreSQL can index in one row of a B-tree, and what a row needs beside its texts: numbers and headers.
ROW_MAX, BESIDE = 2_704, 120
ID = 26
"""A ULID of ours."""
IDENTIFIER = NAME = NAME_MAX * 4
"""Characters have up to four bytes."""
KEY = KEY_BYTES_MAX
HASH, WORD = 64, 64
TIMER = 200
"""`join:` and two ids."""

# How long each indexed text may be, by its column, or by its table and column. One that is not here is a new one: bound
# it where it comes in (`language/keys.py`), then say so here.
BOUNDS = {
    "id": ID, "project_id": ID, "workspace_id": ID, "library_id": ID, "run_id": ID, "token_id": ID, "group_id": ID,
    "parent_run_id": ID, "triggered_by_run_id": ID,  "schedule_id": ID, "storage_key": 200, "scope_id": ID,
    "workflow_def_id": ID, "task_def_id": ID, "workflow_id": IDENTIFIER, "action_id": ID, "task_id": ID,
    "transition_id": ID, "artifact_type_id": ID, "root_run_id": ID, "owner_id": ID, "retry_of_run_id": ID,
    "last_id": ID, "family_id": ID, "forked_from_run_id": ID,
    "name": NAME, "ref": NAME, "table_name": 200, "lower(table_name)": 200, "lower(name)": NAME,
    "idempotency_key": KEY, "idempotency_records.key": KEY, "event": KEY, "event_waits.key": KEY,
    "kept_events.key": KEY, "sender_id": KEY, "metrics.name": KEY, "timers.key": TIMER,
    "status": WORD, "indexed_events.type": WORD, "run_failures.code": 800, "run_failures.node": 800,
    "created_at": WORD, "created_by_key": ID, "http_answers.caller": NAME, "http_answers.key": KEY,
    "hash": HASH, "approval_hash": HASH, "connection_hash": HASH, "dimensions_hash": HASH, "month": WORD,
}  # fmt: skip

POSTGRES = """
SELECT indrelid::regclass::text, indexrelid::regclass::text, pg_get_indexdef(indexrelid, place, true)
FROM (SELECT *, generate_series(1, indnkeyatts) AS place FROM pg_index) AS indexes
JOIN pg_attribute ON attrelid = indexrelid AND attnum = place
JOIN pg_class ON pg_class.oid = indrelid
WHERE relnamespace = current_schema()::regnamespace AND atttypid = 'text'::regtype
ORDER BY 1, 2, place
"""
SQLITE = """
SELECT tables.name, indexes.name, columns.name
FROM sqlite_schema AS tables, pragma_index_list(tables.name) AS indexes, pragma_index_xinfo(indexes.name) AS columns,
    pragma_table_xinfo(tables.name) AS types
WHERE tables.type = 'table' AND columns.key = 1 AND types.name = columns.name AND types.type = 'TEXT'
ORDER BY 1, 2, columns.seqno
"""


async def test_res_7_each_indexed_text_has_a_bound_and_each_index_has_room_for_it(store: Store) -> None:
    indexes: dict[tuple[str, str], list[str]] = {}
    for table, index, column in await store.query(POSTGRES if store.dialect == "postgresql" else SQLITE):
        indexes.setdefault((str(table), str(index)), []).append(str(column).strip('"'))
    assert len(indexes) > 50, "it finds them"
    unknown = {f"{table}.{column}" for (table, _), columns in indexes.items() for column in columns} - {
        f"{table}.{column}"
        for (table, _), columns in indexes.items()
        for column in columns
        if f"{table}.{column}" in BOUNDS or column in BOUNDS
    }
    assert not unknown, "bound these where they come in, and say so in BOUNDS"
    for (table, index), columns in indexes.items():
        longest = sum(BOUNDS.get(f"{table}.{column}") or BOUNDS[column] for column in columns)
        assert longest + BESIDE <= ROW_MAX, f"{index} of {table} may get rows of {longest} bytes: {columns}"
