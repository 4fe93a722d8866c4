"""Starting: runs that are accepted, and idempotency keys, which make a start count once (CTL-17)."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from wonder.language.values import JsonValue, canonical_json, encode_json
from wonder.storage.runs.cells import text
from wonder.storage.runs.errors import IdempotencyKeyReused
from wonder.storage.runs.leases import check_lease
from wonder.storage.runs.records import NewRun
from wonder.storage.store import Fence, Reader, Store

Key = tuple[str, str]
"""A workflow's id, and an idempotency key of it."""


def input_hash(run_input: JsonValue) -> str:
    """Give what tells one input from another, whatever the order of its keys."""
    return hashlib.sha256(canonical_json(run_input).encode()).hexdigest()


class Accepted(NamedTuple):
    """The run that a start has led to: a new one, or the first with its key."""

    run_id: str
    is_new: bool


async def insert_runs(
    store: Store, runs: Sequence[NewRun], *, fence: Fence | None = None
) -> list[Accepted | IdempotencyKeyReused]:
    """Store runs as `queued`, in one transaction, and give for each what has become of it, in order.

    However many starts with one key arrive at once, here or in other processes, one of them makes a run.
    """
    keyed = [run for run in runs if _key(run) is not None]
    async with store.transaction() as transaction:
        await check_lease(transaction, fence)
        await transaction.execute_many("insert_run", [run.row() for run in runs if _key(run) is None])
        if keyed:
            # Sorted, because two processes that insert the same keys in different order would deadlock.
            await transaction.execute_many("insert_run_with_key", [run.row() for run in sorted(keyed, key=_key_order)])
        holders = await holders_of_keys(transaction, [key for run in keyed if (key := _key(run))])
    return [_outcome(run, holders) for run in runs]


class Holder(NamedTuple):
    """The run that has a key, and what tells its input."""

    run_id: str
    input_hash: str | None


async def holders_of_keys(reader: Reader, keys: Sequence[Key]) -> dict[Key, Holder]:
    """Find the runs that have these keys."""
    if not keys:
        return {}
    rows = await reader.fetch("runs_of_keys", encode_json([list(key) for key in keys]))
    return {
        (text(workflow_id), text(key)): Holder(text(run_id), None if hash is None else text(hash))
        for workflow_id, key, run_id, hash in rows
    }


class Starts:
    """Keys of the runs that this process is about to store: a second start finds them before they are durable."""

    def __init__(self) -> None:
        self._holders: dict[Key, Holder] = {}
        self._looks: dict[Key, list[_Look]] = {}

    async def accept(self, reader: Reader, run: NewRun) -> Accepted:
        """Give the run that a start leads to, and take its key if that is the run itself.

        Raises IdempotencyKeyReused. A run that is not new may not be durable yet: before it is returned, wait for the
        commit under way, or for the end of the batch that is being filled. `forget` is called after that commit.
        """
        key = _key(run)
        if key is None:
            return Accepted(run.id, True)
        while key not in self._holders:
            stored, is_stale = await self._look(reader, key)
            # Looked at again: another start with this key may have come while we asked.
            if stored and key not in self._holders:
                return _accepted(run, stored[key])
            if not is_stale:
                break
        return _accepted(run, self._holders.setdefault(key, Holder(run.id, run.input_hash)))

    def forget(self, run: NewRun) -> None:
        """Let go of a run's key, once its row is durable, or its commit has failed."""
        key = _key(run)
        if key is not None and key in self._holders and self._holders[key].run_id == run.id:
            del self._holders[key]
            for look in self._looks.get(key, ()):
                look.is_stale = True

    async def _look(self, reader: Reader, key: Key) -> tuple[dict[Key, Holder], bool]:
        """Find the run that has a key, and say whether one came and went meanwhile, which we may not have seen."""
        look = _Look()
        looks = self._looks.setdefault(key, [])
        looks.append(look)
        try:
            return await holders_of_keys(reader, [key]), look.is_stale
        finally:
            looks.remove(look)
            if not looks:
                del self._looks[key]


class _Look:
    """A question to the database about a key that is under way."""

    is_stale = False
    """Whether a run with the key was stored and forgotten since it was asked."""


def _key(run: NewRun) -> Key | None:
    if run.workflow_id is None or run.idempotency_key is None:
        return None
    return run.workflow_id, run.idempotency_key


def _key_order(run: NewRun) -> tuple[str | None, str | None]:
    return run.workflow_id, run.idempotency_key


def _outcome(run: NewRun, holders: dict[Key, Holder]) -> Accepted | IdempotencyKeyReused:
    key = _key(run)
    if key is None:
        return Accepted(run.id, True)
    try:
        return _accepted(run, holders[key])
    except IdempotencyKeyReused as error:
        return error


def _accepted(run: NewRun, holder: Holder) -> Accepted:
    if holder.run_id == run.id:
        return Accepted(run.id, True)
    if holder.input_hash != run.input_hash:
        raise IdempotencyKeyReused(run.idempotency_key or "", holder.run_id)
    return Accepted(holder.run_id, False)
