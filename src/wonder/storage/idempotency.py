"""Idempotency records: what an action gave for a key, kept for a time or for ever (RET-4)."""

from hashlib import sha256
from typing import Final, NamedTuple

from wonder.language.values import JsonValue
from wonder.storage.errors import LeaseLost
from wonder.storage.runs.cells import from_json, to_json
from wonder.storage.runs.leases import Lease
from wonder.storage.store import Reader, Row, Store, Transaction

Key = tuple[str, str, str]
"""A project's id, an action's id, and a key as it was rendered."""

# An index of PostgreSQL takes no text of more than 2,700 bytes, and nobody reads keys that come near that.
READABLE_BYTES_MAX: Final = 200
_HASHED: Final = "sha256:"
# Others want to write in between.
DELETED_AT_ONCE: Final = 1_000


class Kept(NamedTuple):
    """The output of an earlier execution with the same key; it may be null."""

    output: JsonValue


def record_row(key: Key, output: JsonValue, kept_ms: int, expires_ms: int | None) -> Row:
    """Give the row of a record; one that never expires has no `expires_ms`."""
    return *stored_key(key), to_json(output), kept_ms, expires_ms


def stored_key(key: Key) -> Key:
    """Give a key as its columns hold it: readable, unless it is long."""
    project_id, action_id, rendered = key
    encoded = rendered.encode("utf-8", "surrogatepass")
    # What looks like a hash is hashed too, so that no short key can be made to meet a long one.
    if len(encoded) > READABLE_BYTES_MAX or "\0" in rendered or rendered.startswith(_HASHED):
        rendered = _HASHED + sha256(encoded).hexdigest()
    return project_id, action_id, rendered


async def find_kept(reader: Reader, lease: Lease, key: Key, now_ms: int) -> Kept | None:
    """Find what is kept for a key and has not expired; raises LeaseLost to an owner that must not act any more."""
    rows = await reader.fetch("kept_output", lease.name, lease.owner_id, lease.epoch, *stored_key(key), now_ms)
    if not rows:
        raise LeaseLost
    return None if rows[0][0] is None else Kept(from_json(rows[0][0]))


async def keep_records(store: Store, lease: Lease, rows: list[Row]) -> None:
    """Keep records, each of another key; durable when this returns. Raises LeaseLost, and then has kept none."""
    await store.commit([("keep_record", rows)], fence=lease.fence, independent=True)


async def delete_expired_records(transaction: Transaction, now_ms: int, *, at_once: int = DELETED_AT_ONCE) -> bool:
    """Forget records that have expired; say whether these were all."""
    return await transaction.execute("delete_expired_records", now_ms, at_once) < at_once
