"""Appends what callers change to the audit log, at one place around all operations (KEY-5)."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from wonder.app.callers import REACHES, Caller
from wonder.app.ids import new_ulid
from wonder.clock import SYSTEM_CLOCK
from wonder.errors import WonderError
from wonder.operations.audit_texts import ids_in, shown_input, shown_value
from wonder.operations.outputs import Output
from wonder.operations.permitting import Asked
from wonder.storage.audit import AuditRecord, Change
from wonder.storage.opening import open_store
from wonder.storage.store import Entry

if TYPE_CHECKING:
    from wonder.app.project import OpenProject
    from wonder.storage.tenancy import Home

T = TypeVar("T")

log = logging.getLogger("wonder.operations")

Append = Callable[[Iterable[Entry]], Awaitable[None]]
"""Makes a record durable."""

_CANCELLED: Final = "CANCELLED"
_INTERNAL: Final = "INTERNAL"


class Recording:
    """What is known of a call while it is carried out."""

    def __init__(self, caller: Caller, home: "Home | None", asked: Asked, given: object, append: Append) -> None:
        self._caller, self._home, self._asked, self._given, self._append = caller, home, asked, given, append

    async def success(self, result: object) -> None:
        """Append that it was done; durable when this returns."""
        change = result.change() if isinstance(result, Output) else None
        shown = None if change is None else Change(*map(shown_value, change))
        await self._append([self.record(ids_in(result), shown).entry()])

    async def failure(self, error: BaseException) -> None:
        """Append that it failed, or was broken off, where nobody knows whether it was done."""
        outcome = _INTERNAL
        if isinstance(error, WonderError):
            outcome = error.code
        elif isinstance(error, asyncio.CancelledError):
            outcome = _CANCELLED
        try:
            # Also of a call that is being cancelled.
            await asyncio.shield(self._append([self.record([], None, outcome).entry()]))
        except WonderError as failed:
            log.warning("%s by %s is not in the audit log: %s", self._asked.name, self._caller.name, failed)

    def record(self, ids: list[str], change: Change | None = None, outcome: str = "ok") -> AuditRecord:
        """Give what is appended."""
        caller, home = self._caller, self._home
        needs = getattr(self._given, "needs", None)
        reach = self._asked.reach if needs is None else max(self._asked.reach, needs.reach, key=REACHES.index)
        return AuditRecord(
            id=new_ulid(),
            at_ms=SYSTEM_CLOCK.now_ms(),
            who=caller.name,
            who_kind=caller.kind,
            key_id=caller.key_id,
            role=caller.role,
            operation=self._asked.name,
            workspace_id=None if home is None or reach == "server" else home.workspace_id,
            project_id=None if home is None or reach != "project" else home.project_id,
            input=shown_input(self._given),
            ids=ids,
            change=change,
            outcome=outcome,
        )


@asynccontextmanager
async def recording_at(url: str, caller: Caller, asked: Asked, given: object) -> AsyncIterator[Recording]:
    """Append what goes wrong with a call about a database that need not be open; `success` appends what is done."""
    call = Recording(caller, None, asked, given, _append_at(url))
    try:
        yield call
    except BaseException as error:
        await call.failure(error)
        raise


async def recorded(application: "OpenProject", asked: Asked, given: object, work: Awaitable[T]) -> T:
    """Await what an operation would do, and append it as that operation, for commands that call what is below one."""
    if application.caller is None:
        return await work
    call = Recording(application.caller, application.home, asked, given, application.store.commit)
    try:
        result = await work
        await call.success(result)
    except BaseException as error:
        await call.failure(error)
        raise
    return result


def note_of_start(application: "OpenProject", asked: Asked, given: object) -> Callable[[str], Entry] | None:
    """Give what makes the record of a start with the id of its run, for the same commit; None without a caller."""
    caller = application.caller
    if caller is None:
        return None
    call = Recording(caller, application.home, asked, given, application.store.commit)
    return lambda run_id: call.record([run_id]).entry()


def _append_at(url: str) -> Append:
    """Give what appends to the audit log of a database, which can't be done to one that can't be opened."""

    async def append(entries: Iterable[Entry]) -> None:
        try:
            store = await open_store(url, create=False, migrations="require")
        except WonderError as error:
            log.warning("this is not in the audit log, because the database can't be opened: %s", error)
            return
        try:
            await store.commit(entries)
        finally:
            await store.close()

    return append
