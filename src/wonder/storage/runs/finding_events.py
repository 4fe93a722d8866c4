"""Finding events of a run by type, node, token and time, without decoding the rows that have none of them (EVT-1)."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from msgspec import Struct

from wonder.engine.decisions import RecordEvent
from wonder.storage.runs.cells import number, text, to_json
from wonder.storage.runs.event_rows import unpacked_events
from wonder.storage.store import Reader

_ROWS_PER_PAGE: Final = 50
FOR_EVER: Final = 2**53
"""Above every time in milliseconds, and above every number of an event."""


class WantedEvents(Struct, frozen=True, kw_only=True):
    """Which events; what is None does not narrow them. Times are milliseconds since 1970."""

    types: frozenset[str] | None = None
    node_ids: frozenset[str] | None = None
    token_id: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    """The first time that is not wanted any more."""

    def includes(self, event: RecordEvent) -> bool:
        """Say whether an event is wanted."""
        return (
            (self.types is None or event.type in self.types)
            and (self.token_id is None or event.token_id == self.token_id)
            and (self.node_ids is None or event.node_id in self.node_ids)
            and (self.since_ms is None or event.at_ms >= self.since_ms)
            and (self.until_ms is None or event.at_ms < self.until_ms)
        )

    @property
    def needles(self) -> str | None:
        """A JSON list, of which the text of each row with a wanted event has a part; None if any row may have one."""
        if self.token_id is not None:
            words: Sequence[str] = [self.token_id]
        elif self.types is not None:
            words = sorted(self.types)
        elif self.node_ids is not None:
            words = sorted(self.node_ids)
        else:
            return None
        return to_json([to_json(word) for word in words])


async def wanted_events_of_run(
    reader: Reader, run_id: str, wanted: WantedEvents, *, after: int = 0
) -> AsyncIterator[RecordEvent]:
    """Give the wanted events of a run behind a sequence number, in order."""
    if wanted.token_id is not None:
        born = await reader.fetch("birth_of_token", run_id, wanted.token_id)
        after = max(after, number(born[0][0]) - 1) if born else after
    following = after + 1
    while rows := await reader.fetch("event_rows_from", run_id, following, _ROWS_PER_PAGE, wanted.needles):
        for _, last, packed in rows:
            following = number(last) + 1
            for event in unpacked_events([(packed,)], after, FOR_EVER):
                if wanted.includes(event):
                    yield event


async def nodes_named(reader: Reader, ref: str) -> dict[tuple[str, int], str]:
    """Give the ids of all nodes with a ref, by the definition that they are in."""
    return {
        (text(definition_id), number(version)): text(node_id)
        for definition_id, version, node_id in await reader.fetch("nodes_named", ref)
    }
