"""Tallies: what the events of a run add up to, read in pages: a long run needs no more memory than a short one."""

from collections.abc import Collection, Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, field

from wonder.language.values import JsonValue
from wonder.storage.runs.cells import from_json, number, text
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.reading import events_of_run
from wonder.storage.store import Reader

_ENDS: Final = ("node_completed", "node_failed")
# A row has at most 250 events, so that a page is some megabytes.
_ROWS_PER_PAGE: Final = 50


ITEMS_MAX: Final = 1_000


class Execution(Struct):
    """What the events say of one execution of a node; it ends before its token does, which may wait at a join."""

    ended_ms: int | None = None
    attempts: int = 0
    """Of its task, and of the action in it that was tried most often."""
    llm_tokens: int = 0
    cost_usd: float = 0.0
    error: dict[str, Any] | None = None
    """Why it failed, whether that was handled or not."""


class Tally(Struct):
    """What a run has spent in all, and the executions of the tokens that were asked for, by their ids."""

    llm_tokens: int = 0
    cost_usd: float = 0.0
    executions: dict[str, Execution] = field(default_factory=dict)
    items: dict[str, list[Any]] = field(default_factory=dict)
    """What the first branches of each fan-out were made for, by its group; UNSET where no foreach made them."""


class _Event(Struct, frozen=True, gc=False, array_like=True):
    """An event as it is stored, its metadata left unread: most of a long run's events are only counted."""

    sequence: int
    step: int
    type: str
    at_ms: int
    node_id: str | None
    token_id: str | None
    path_id: str | None
    metadata: Raw
    tokens: int | None = None
    cost_usd: float | None = None


_DECODER: Final = msgspec.json.Decoder(list[_Event])


async def tally_run(reader: Reader, run_id: str, token_ids: Collection[str]) -> Tally:
    """Add up what a run has spent, and what its events say of these tokens."""
    tally, wanted = Tally(), frozenset(token_ids)
    after = 0
    while rows := await reader.fetch("event_rows_of_run", run_id, after, _ROWS_PER_PAGE):
        for _, packed in rows:
            _add(tally, text(packed), wanted)
        after = number(rows[-1][0])
    return tally


async def input_of_run(reader: Reader, header: RunHeader) -> JsonValue:
    """Load what a run was started with; None where its first events are gone."""
    if header.queued_input is not None:
        return header.queued_input
    for event in await events_of_run(reader, header.id):
        if event.type == "workflow_started":
            return event.metadata["input"]  # type: ignore[no-any-return]  # metadata is JSON
    return None


def attempts_in(metadata: dict[str, Any]) -> int:
    """Count how often a task was tried, by what the event of its end says; its actions' own attempts count."""
    by_step: dict[str, int] = {}
    for step in metadata.get("steps", ()):
        by_step[step["ref"]] = by_step.get(step["ref"], 0) + step["attempts"]
    of_task: int = metadata.get("attempts", 1)
    return max([of_task, *by_step.values()])


def items_of(segments: Iterable[tuple[int, list[Any] | None]]) -> list[Any]:
    """Give what the first branches of a fan-out were made for, by their numbers."""
    found: list[Any] = []
    for count, items in segments:
        found += [UNSET] * min(count, ITEMS_MAX) if items is None else items[:ITEMS_MAX]
    return found[:ITEMS_MAX]


def _add(tally: Tally, packed: str, wanted: frozenset[str]) -> None:
    for event in _DECODER.decode(packed):
        tokens, cost_usd = event.tokens or 0, event.cost_usd or 0.0
        tally.llm_tokens += tokens
        tally.cost_usd += cost_usd
        if event.type == "fan_out_started":
            parts = from_json(bytes(event.metadata).decode())["branches"]
            tally.items[str(event.token_id)] = items_of((part["count"], part.get("items")) for part in parts)
        if event.token_id not in wanted:
            continue
        assert event.token_id is not None
        execution = tally.executions.setdefault(event.token_id, Execution())
        execution.llm_tokens += tokens
        execution.cost_usd += cost_usd
        if event.type in _ENDS:
            execution.ended_ms = event.at_ms
            told = from_json(bytes(event.metadata).decode())
            execution.attempts += attempts_in(told)
            execution.error = told.get("error")
