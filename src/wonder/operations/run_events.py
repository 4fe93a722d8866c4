"""Events: all of a run in order, or those that are looked for, in a run or across the runs of the project (EVT-1)."""

from collections.abc import AsyncIterator, Collection, Iterable
from difflib import get_close_matches
from typing import Any

from wonder.app.application import Application
from wonder.engine.decisions import RecordEvent
from wonder.engine.events import EVENTS
from wonder.errors import WonderError
from wonder.observe.event_messages import message_of
from wonder.operations.declaring import Input, stream
from wonder.operations.run_records import EventRecord, FoundEvent
from wonder.operations.runs import find_run
from wonder.storage.runs.events_across_runs import RunOfEvents, find_events, run_of_token
from wonder.storage.runs.finding_events import WantedEvents, nodes_named, wanted_events_of_run
from wonder.storage.runs.reading import each_event
from wonder.storage.runs.tallies import attempts_in


class UnknownEventType(WonderError):
    """No event can have this type."""

    code = "UNKNOWN_EVENT_TYPE"


class UnknownNode(WonderError):
    """The workflow of a run has no node with this ref."""

    code = "UNKNOWN_NODE"


class WhichEvents(Input, frozen=True):
    """Which events; what is null does not narrow them."""

    types: list[str] | None = None
    """Only events of one of these types."""
    node: str | None = None
    """Only events of the node with this ref."""
    token_id: str | None = None
    since_ms: int | None = None
    """Only events of this time or later, in milliseconds since 1970."""
    until_ms: int | None = None
    """Only events before this time."""
    limit: int | None = None
    """At most this many; all if it is null."""

    @property
    def narrows(self) -> bool:
        """Whether some events of a run may be left out."""
        chosen = (self.types, self.node, self.token_id, self.since_ms, self.until_ms)
        return any(one is not None for one in chosen)


class EventsOfRun(WhichEvents, frozen=True, kw_only=True):
    """Which events of a run."""

    run_id: str
    after: int = 0
    """Begin after the event with this number."""


@stream("runs.events", role="viewer")
async def list_events(application: Application, given: EventsOfRun) -> AsyncIterator[EventRecord]:
    """Give what happened in a run, in order."""
    _check_types(given.types)
    header = await find_run(application, given.run_id)
    definition = await application.definition(header.workflow_def_id, header.workflow_version)
    refs = {node.id: node.ref for node in definition.nodes}
    if given.narrows:
        wanted = _wanted(given, None if given.node is None else [_node_id(refs, given.node)])
        events = wanted_events_of_run(application.store, header.id, wanted, after=given.after)
    else:
        events = each_event(application.store, header.id, after=given.after, limit=given.limit)
    recorded_ms, left = 0, given.limit
    if left is not None and left <= 0:
        return
    async for event in events:
        recorded_ms = max(recorded_ms, event.at_ms)
        yield EventRecord(**_fields(event, recorded_ms, refs))
        left = None if left is None else left - 1
        if left == 0:
            return


@stream("events.find", role="viewer")
async def find_project_events(application: Application, given: WhichEvents) -> AsyncIterator[FoundEvent]:
    """Give events of all runs of the project, newest first."""
    _check_types(given.types)
    left = given.limit
    if left is not None and left <= 0:
        return
    async for run, event in _found(application, given):
        definition = await application.definition(run.workflow_def_id, run.workflow_version)
        refs = {node.id: node.ref for node in definition.nodes}
        yield FoundEvent(run_id=run.id, **_fields(event, event.at_ms, refs))
        left = None if left is None else left - 1
        if left == 0:
            return


async def _found(application: Application, given: WhichEvents) -> AsyncIterator[tuple[RunOfEvents, RecordEvent]]:
    store, project_id = application.store, application.home.project_id
    nodes = None if given.node is None else await nodes_named(store, given.node)
    wanted = _wanted(given, None if nodes is None else nodes.values())
    if given.token_id is None:
        async for run, event in find_events(store, project_id, wanted, nodes):
            yield run, event
        return
    of_token = await run_of_token(store, project_id, given.token_id)
    if of_token is not None:
        # One token has few events: they are turned round in memory.
        of_run = [event async for event in wanted_events_of_run(store, of_token.id, wanted)]
        for event in reversed(of_run):
            yield of_token, event


def _wanted(given: WhichEvents, node_ids: Iterable[str] | None) -> WantedEvents:
    return WantedEvents(
        types=None if given.types is None else frozenset(given.types),
        node_ids=None if node_ids is None else frozenset(node_ids),
        token_id=given.token_id,
        since_ms=given.since_ms,
        until_ms=given.until_ms,
    )


def _fields(event: RecordEvent, recorded_ms: int, refs: dict[str, str]) -> dict[str, Any]:
    ends_node = event.type in ("node_completed", "node_failed")
    return {
        "sequence_number": event.sequence,
        "event_type": event.type,
        "timestamp": event.at_ms,
        "recorded_ms": recorded_ms,
        "message": message_of(event.type, event.metadata),
        "node": refs.get(event.node_id) if event.node_id else None,
        "token_id": event.token_id,
        "path_id": event.path_id,
        "metadata": event.metadata,
        "attempts": attempts_in(event.metadata) if ends_node else None,
        "llm_tokens": event.tokens,
        "cost_usd": event.cost_usd,
    }


def _check_types(types: list[str] | None) -> None:
    for type in types or ():
        if type not in EVENTS:
            raise UnknownEventType(f"there is no type of event {type!r}; {_near(type, EVENTS)}")


def _node_id(refs: dict[str, str], ref: str) -> str:
    for id, known in refs.items():
        if known == ref:
            return id
    raise UnknownNode(f"the workflow of the run has no node {ref!r}; {_near(ref, refs.values())}")


def _near(wrong: str, known: Collection[str]) -> str:
    near = get_close_matches(wrong, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
