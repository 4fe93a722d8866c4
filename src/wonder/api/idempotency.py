"""Carries out a POST once, however often it is sent: with `Idempotency-Key`, its first answer is kept for a day."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Final

from wonder.api.asgi import Answer, Request
from wonder.api.problems import Problem, answer_problem
from wonder.api.routes import Route
from wonder.clock import SYSTEM_CLOCK
from wonder.errors import WonderError
from wonder.operations.http_answers import KeptAnswer, begin_answer, forget_answer, keep_answer

HEADER: Final = "idempotency-key"
_KEY_LENGTH_MAX: Final = 200
_ANSWER_BYTES_MAX: Final = 1_000_000
# No operation takes longer; what is still under way then was, when its process died.
_UNDER_WAY_MS: Final = 600_000
# Their answer has a secret, which is shown once and stored nowhere.
_SECRET_ANSWERS: Final = {"keys.create"}


def key_of(request: Request) -> str | None:
    """Give the key of a request; raises Problem for one that can't be."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not 0 < len(key) <= _KEY_LENGTH_MAX or not key.isascii() or not key.isprintable():
        text = f"the Idempotency-Key is not 1 to {_KEY_LENGTH_MAX} printable ASCII characters"
        raise Problem(400, "BAD_HEADERS", text)
    return key


def is_kept(route: Route) -> bool:
    """Say whether answers of a route are kept. A run has its key for good, and what changes nothing may be repeated."""
    return route.method == "POST" and route.declared.changes and route.declared.name != "runs.start"


async def once(
    route: Route, request: Request, body: bytes, secret: bytes, carry_out: Callable[[], Awaitable[Answer]]
) -> Answer:
    """Carry out a request unless it was before, and give its answer."""
    key = key_of(request) if is_kept(route) else None
    if key is None:
        return await carry_out()
    application, caller = request.application, request.caller.key_id or request.caller.name
    known = await begin_answer(application, caller, key, _hash(request, body, secret))
    if known is not None:
        return _again(known, _hash(request, body, secret))
    try:
        answer = await carry_out()
    except WonderError as error:
        if answer_problem(error).status < 500:
            await asyncio.shield(forget_answer(application, caller, key))
        raise
    text = answer.body.decode() if len(answer.body) <= _ANSWER_BYTES_MAX else None
    if route.declared.name in _SECRET_ANSWERS:
        text = None
    await asyncio.shield(keep_answer(application, caller, key, answer.status, text))
    return answer


def _hash(request: Request, body: bytes, secret: bytes) -> str:
    """Tell requests apart. With a secret: a body may have a password that could else be guessed by its hash."""
    line = f"{request.method} ".encode() + request.scope["raw_path"] + b"?" + request.scope["query_string"]
    return hmac.digest(secret, line + b"\n" + body, sha256).hex()


def _again(known: KeptAnswer, request_hash: str) -> Answer:
    """Answer a request that was sent before."""
    if known.request_hash != request_hash:
        text = "the Idempotency-Key belongs to another request; send the same one again, or use another key"
        raise Problem(409, "IDEMPOTENCY_KEY_REUSED", text)
    if known.status is not None and known.answer is not None:
        return Answer(known.answer.encode(), known.status, headers={"idempotency-replayed": "true"})
    if known.status is not None:
        text = "the request was carried out; its answer is not kept, because it is secret or very large"
        raise Problem(409, "IDEMPOTENCY_ANSWER_NOT_KEPT", text)
    if SYSTEM_CLOCK.now_ms() - known.begun_ms < _UNDER_WAY_MS:
        text = "the first request with this Idempotency-Key is under way; ask again soon"
        raise Problem(409, "IDEMPOTENCY_UNDER_WAY", text, headers={"retry-after": "1"})
    text = "the server ended while it carried this out; see whether it was done, then use another Idempotency-Key"
    raise Problem(409, "IDEMPOTENCY_UNKNOWN", text)
