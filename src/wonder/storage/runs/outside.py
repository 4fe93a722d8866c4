"""Events from outside: who waits for one, and those that came before anybody waited (`wait_for_event`)."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from wonder.language.values import JsonValue
from wonder.storage.runs.cells import from_json, text, to_json
from wonder.storage.runs.wait_rows import NO_KEY
from wonder.storage.store import Reader, Row, Transaction


class OutsideEvent(Struct, frozen=True, kw_only=True):
    """An event that somebody sent; `sender_id` makes it count once, until it expires."""

    id: str
    project_id: str
    event: str
    payload: JsonValue
    arrived_ms: int
    expires_ms: int
    key: str | None = None
    sender_id: str | None = None

    def row(self, *, used: bool) -> Row:
        """Give its row; of one that was used, only that it came is kept."""
        payload, used_ms = (None, self.arrived_ms) if used else (to_json(self.payload), None)
        place = (self.id, self.project_id, self.event, self.key or NO_KEY, self.sender_id)
        return *place, payload, self.arrived_ms, self.expires_ms, used_ms


class AwaitedEvent(NamedTuple):
    """An event as it is waited for: of a project, by name and key."""

    project_id: str
    event: str
    key: str | None

    @property
    def cells(self) -> tuple[str, str, str]:
        """Its columns."""
        return self.project_id, self.event, self.key or NO_KEY


class WaitingToken(NamedTuple):
    """A token that waits for an event."""

    run_id: str
    token_id: str


class KeptEvent(NamedTuple):
    """An event that came before anybody waited for it."""

    id: str
    payload: JsonValue


async def waiting_for_event(reader: Reader, awaited: AwaitedEvent) -> list[WaitingToken]:
    """Find all tokens that an event wakes, the longest waiting first."""
    rows = await reader.fetch("waiting_for_event", *awaited.cells)
    return [WaitingToken(text(run_id), text(token_id)) for run_id, token_id in rows]


async def awaited_events_kept(reader: Reader, wanted: Iterable[AwaitedEvent], now_ms: int) -> set[AwaitedEvent]:
    """Find those of which one is kept and has not expired."""
    stored = {awaited.cells: awaited for awaited in wanted}
    rows = await reader.fetch("awaited_events_kept", to_json([list(cells) for cells in stored]), now_ms)
    return {stored[text(project_id), text(event), text(key)] for project_id, event, key in rows}


async def next_kept_events(reader: Reader, awaited: AwaitedEvent, now_ms: int, *, limit: int) -> list[KeptEvent]:
    """Find the oldest events that were kept for a name and key, and have not expired."""
    rows = await reader.fetch("next_kept_events", *awaited.cells, now_ms, limit)
    return [KeptEvent(text(id), from_json(payload)) for id, payload in rows]


async def has_come_before(reader: Reader, project_id: str, sender_id: str) -> bool:
    """Say whether an event with this sender's id is known already."""
    return bool(await reader.fetch("event_of_sender", project_id, sender_id))


async def delete_expired_events(transaction: Transaction, now_ms: int) -> int:
    """Forget the events that have expired, and give how many; their senders' ids count anew from then on."""
    return await transaction.execute("delete_expired_events", now_ms)
