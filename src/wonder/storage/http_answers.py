"""What a server has answered to requests with an idempotency key, and the keys that its processes share (API-1)."""

import secrets
from typing import Any, Final, NamedTuple

from wonder.storage.store import Store, Transaction

KEPT_MS: Final = 86_400_000
"""For how long an answer is kept."""
_KEY_BYTES: Final = 32


class RequestName(NamedTuple):
    """What tells one request from another: the project that it is about, who asks, and the key that was sent."""

    project_id: str
    caller: str
    key: str


class KeptAnswer(NamedTuple):
    """A request that was begun before."""

    request_hash: str
    begun_ms: int
    status: int | None
    """None while it is under way."""
    answer: str | None
    """None where it was not kept."""


async def begin_answer(store: Store, name: RequestName, request_hash: str, now_ms: int) -> KeptAnswer | None:
    """Note that a request is begun, durable when this returns; give what is kept of it if it was begun before."""
    async with store.transaction() as transaction:
        await transaction.execute("forget_old_http_answer", *name, now_ms - KEPT_MS)
        if await transaction.execute("begin_http_answer", *name, request_hash, now_ms):
            return None
        ((found, begun_ms, status, answer),) = await transaction.fetch("kept_http_answer", *name)
    row: Any = (found, begun_ms, status, answer)
    return KeptAnswer(*row)


async def keep_answer(store: Store, name: RequestName, status: int, answer: str | None) -> None:
    """Keep the answer to a request that was begun."""
    await store.commit([("keep_http_answer", [(*name, status, answer)])])


async def forget_answer(store: Store, name: RequestName) -> None:
    """Forget a request that was begun and has changed nothing."""
    await store.commit([("forget_http_answer", [name])])


async def delete_old_http_answers(transaction: Transaction, now_ms: int) -> None:
    """Delete what is kept no more."""
    await transaction.execute("delete_old_http_answers", now_ms - KEPT_MS)


async def server_key(store: Store, name: str) -> bytes:
    """Give a random key of the database's servers, made when it is first asked for."""
    await store.commit([("insert_server_key", [(name, secrets.token_bytes(_KEY_BYTES))])])
    ((value,),) = await store.unsettled.fetch("server_key", name)
    found: Any = value
    return bytes(found)
