"""Answers of a server that are kept, so that a request which is sent again is not carried out again (API-1)."""

from wonder.app.application import Application
from wonder.clock import SYSTEM_CLOCK
from wonder.storage import http_answers as kept
from wonder.storage.http_answers import KeptAnswer as KeptAnswer
from wonder.storage.http_answers import RequestName


async def begin_answer(application: Application, caller: str, key: str, request_hash: str) -> KeptAnswer | None:
    """Note that a request of the application's project is begun; give what is kept of it if it was begun before."""
    name = RequestName(application.home.project_id, caller, key)
    return await kept.begin_answer(application.store, name, request_hash, SYSTEM_CLOCK.now_ms())


async def keep_answer(application: Application, caller: str, key: str, status: int, answer: str | None) -> None:
    """Keep the answer to a request that was begun."""
    await kept.keep_answer(application.store, RequestName(application.home.project_id, caller, key), status, answer)


async def forget_answer(application: Application, caller: str, key: str) -> None:
    """Forget a request that was begun and has changed nothing."""
    await kept.forget_answer(application.store, RequestName(application.home.project_id, caller, key))


async def cursor_key(application: Application) -> bytes:
    """Give the key that all servers of the database sign cursors with."""
    return await kept.server_key(application.store, "cursors")
