"""Older log records: compressed into the object store, and read again as if they were still in the table (EVT-4a)."""

import asyncio
import gzip
from collections.abc import Callable
from typing import Final

import msgspec

from wonder.objects.store import Objects, read_whole
from wonder.storage.logs import (
    LogArchive,
    LogRecord,
    Wanted,
    archives_between,
    oldest_records,
    put_archive,
    records_before,
)
from wonder.storage.runs.leases import Lease, check_lease
from wonder.storage.store import Reader, Store

RECORDS_AT_ONCE: Final = 2_000
"""So many are in one object, and are deleted in one transaction."""
_RUNS_MAX: Final = 200
_OBJECT_MAX: Final = 256_000_000

_DECODER = msgspec.json.Decoder(list[LogRecord])
_ENCODER = msgspec.json.Encoder()


async def archive_records(store: Store, objects: Objects, lease: Lease, project_id: str | None, before: str) -> int:
    """Move the oldest records of a project, or of no project, before an id to the object store; say how many.

    The object is durable before the rows are deleted. Killed in between, the same records make the same object again.
    """
    records = await oldest_records(store.unsettled, project_id, before, RECORDS_AT_ONCE)
    if not records:
        return 0
    stored = await objects.put(await asyncio.to_thread(_packed, records))
    run_ids = sorted({record.run_id for record in records if record.run_id})
    archive = LogArchive(stored.key, records[0].id, records[-1].id, run_ids if len(run_ids) <= _RUNS_MAX else None)
    async with store.transaction() as transaction:
        await check_lease(transaction, lease.fence)
        await put_archive(transaction, archive, stored.size_bytes, records)
    return len(records)


async def newest_records(
    reader: Reader, open_objects: Callable[[], Objects], wanted: Wanted, before: str, limit: int
) -> list[LogRecord]:
    """Give the newest records before an id, newest first, from the table and from archives."""
    found = await records_before(reader, wanted, before, limit)
    archives = await archives_between(reader, wanted, before)
    if archives:
        objects = open_objects()
        try:
            await _add_archived(found, archives, objects, wanted, before, limit)
        finally:
            await objects.close()
    return found


async def _add_archived(
    found: list[LogRecord], archives: list[LogArchive], objects: Objects, wanted: Wanted, before: str, limit: int
) -> None:
    for archive in archives:
        if len(found) >= limit and found[limit - 1].id > archive.last_id:
            break
        # By their ids: what is archived just now is found in both places, or in the first of them.
        known = {record.id for record in found}
        packed = await read_whole(objects, archive.storage_key, size_max=_OBJECT_MAX)
        older = await asyncio.to_thread(_unpacked, packed)
        found += [one for one in older if one.id not in known and wanted.includes(one, before)]
        found.sort(key=lambda record: record.id, reverse=True)
        del found[limit:]


def _packed(records: list[LogRecord]) -> bytes:
    # Without the time of packing: the same records are the same content.
    return gzip.compress(_ENCODER.encode(records), mtime=0)


def _unpacked(packed: bytes) -> list[LogRecord]:
    return _DECODER.decode(gzip.decompress(packed))
