"""Requests: what another process wants done by the one that runs the engine (CMD-5)."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from wonder.backoff import Backoff
from wonder.language.values import JsonValue
from wonder.storage.runs.cells import from_json, number, text, to_json
from wonder.storage.runs.errors import RequestUnanswered
from wonder.storage.store import Reader, Store, Transaction

# How long an answer waits for the one who asked.
KEPT_MS = 3_600_000
_FIRST_PAUSE_MS = 10.0
_LONGEST_PAUSE_MS = 250.0


class Request(NamedTuple):
    """Something that another process wants done."""

    id: str
    kind: str
    payload: JsonValue
    created_ms: int


class Answer(NamedTuple):
    """What has become of a request: a result, or an error as JSON."""

    result: JsonValue
    error: JsonValue


async def put_request(store: Store, id: str, kind: str, payload: JsonValue, now_ms: int) -> None:
    """Hand in a request; durable when this returns."""
    await store.commit([("put_request", [(id, kind, to_json(payload), now_ms)])])


async def pending_requests(store: Store, *, after: str = "", limit: int = 1_000) -> list[Request]:
    """List, in the order of their ids, the requests that nobody has answered.

    The owner answers in the batch that carries a request out, so one that was half done when its process died is still
    listed.
    """
    rows = await store.unsettled.fetch("pending_requests", after, limit)
    return [Request(text(id), text(kind), from_json(payload), number(ms)) for id, kind, payload, ms in rows]


async def find_answer(reader: Reader, id: str) -> Answer | None:
    """Give the answer to a request, or None as long as there is none."""
    rows = await reader.fetch_named("request_answer", id)
    if not rows or rows[0]["answered_ms"] is None:
        return None
    return Answer(from_json(rows[0]["result"]), from_json(rows[0]["error"]))


async def wait_for_answer(
    reader: Reader, id: str, *, seconds: float, sleep: Callable[[float], Awaitable[None]]
) -> Answer:
    """Wait until a request is answered, looking ever more seldom; raises RequestUnanswered."""
    waited, backoff = 0.0, Backoff(_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS)
    while True:
        answer = await find_answer(reader, id)
        if answer is not None:
            return answer
        if waited >= seconds:
            raise RequestUnanswered(id, seconds)
        pause = min(backoff.next_ms() / 1_000, seconds - waited)
        await sleep(pause)
        waited += pause


async def withdraw_request(transaction: Transaction, id: str) -> bool:
    """Take a request back, if nobody has carried it out; say whether that was so."""
    return await transaction.execute("withdraw_request", id) == 1


async def delete_old_answers(transaction: Transaction, now_ms: int) -> int:
    """Forget answers that nobody came for, and give how many."""
    return await transaction.execute("delete_answered_requests", now_ms - KEPT_MS)
