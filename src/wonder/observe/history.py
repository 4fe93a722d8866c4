"""History: what happened in each execution of a node: its input, its output, and every attempt with its error (EVT-1a).

Events are read page by page, and an execution is given as soon as it has ended: a long run needs no more memory than
what is live in it.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType, field

from wonder.engine.decisions import RecordEvent
from wonder.storage.runs.reading import each_event, inputs_of_tokens
from wonder.storage.store import Reader

_AT_ONCE: Final = 200
_TOKEN_ENDS: Final = ("token_completed", "token_failed", "token_timed_out", "token_cancelled")


class Attempt(Struct, kw_only=True):
    """One attempt: `completed`, `failed`, `cancelled`, or `lost` with its process or worker."""

    number: int
    outcome: str
    started_ms: int | None
    step: str | None = None
    error: dict[str, Any] | None = None
    lost_with: str | None = None


class Execution(Struct, kw_only=True):
    """One execution of a node; `item` is what its branch was made for, if a foreach made it."""

    token_id: str
    node_id: str
    path_id: str
    status: str = "pending"
    created_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    item: Any | UnsetType = UNSET
    input: Any | UnsetType = UNSET
    output: Any | UnsetType = UNSET
    output_cut: dict[str, Any] | None = None
    changes: list[Any] = field(default_factory=list)
    """What it wrote to the context: `[path, value]`."""
    found_nothing: list[str] = field(default_factory=list)
    """Queries of its input mapping that found nothing where a schema requires a value (CTX-5c)."""
    attempts: list[Attempt] = field(default_factory=list)
    error: dict[str, Any] | None = None
    llm_tokens: int = 0
    cost_usd: float = 0.0
    sequence: int = 0
    """The number of its last event."""


async def history_of_run(reader: Reader, run_id: str, *, with_input: bool = True) -> AsyncIterator[Execution]:
    """Give the executions of a run in the order of their ends; those that have not ended follow."""
    reading, ended = _Reading(), list[Execution]()
    async for event in each_event(reader, run_id):
        if (execution := reading.take(event)) is not None:
            ended.append(execution)
        if len(ended) >= _AT_ONCE:
            for one in await _with_inputs(reader, run_id, ended, with_input):
                yield one
            ended = []
    for one in await _with_inputs(reader, run_id, [*ended, *reading.live.values()], with_input):
        yield one


async def _with_inputs(
    reader: Reader, run_id: str, executions: list[Execution], with_input: bool
) -> Sequence[Execution]:
    if with_input and executions:
        inputs = await inputs_of_tokens(reader, run_id, [one.token_id for one in executions])
        for one in executions:
            one.input = inputs.get(one.token_id, UNSET)
    return executions


class _Reading:
    """The executions that are live so far."""

    def __init__(self) -> None:
        self.live: dict[str, Execution] = {}
        self._items: dict[str, list[Any]] = {}
        """The items of each fan-out, by its group; UNSET for branches that no foreach made."""

    def take(self, event: RecordEvent) -> Execution | None:
        """Take the next event; returns the execution that it ends."""
        token_id, told = event.token_id, event.metadata
        if event.type == "token_spawned" and token_id is not None:
            item = self._item(told.get("group"), told.get("branch"))
            self.live[token_id] = Execution(
                token_id=token_id,
                node_id=str(event.node_id),
                path_id=str(event.path_id),
                created_ms=event.at_ms,
                item=item,
            )
        elif event.type == "fan_out_started" and token_id is not None:
            self._items[token_id] = [
                item
                for part in told["branches"]
                for item in (part["items"] if part.get("items") is not None else [UNSET] * part["count"])
            ]
        elif event.type == "context_snapshot":
            self._adopt(event)
        execution = self.live.get(token_id or "")
        if execution is None:
            return None
        execution.sequence = event.sequence
        _note(execution, event)
        if event.type in _TOKEN_ENDS:
            return self.live.pop(execution.token_id)
        return None

    def _item(self, group_id: str | None, index: int | None) -> Any:
        items = self._items.get(group_id or "", [])
        return items[index] if index is not None and index < len(items) else UNSET

    def _adopt(self, event: RecordEvent) -> None:
        snapshot = event.metadata["snapshot"]
        for group in snapshot["groups"]:
            self._items[group["id"]] = [
                item
                for _, count, items in group["segments"]
                for item in (items if items is not None else [UNSET] * count)
            ]
        for token in snapshot["tokens"]:
            self.live[token["id"]] = Execution(
                token_id=token["id"],
                node_id=token["node_id"],
                path_id=token["path_id"],
                status=token["status"],
                created_ms=event.at_ms,
                item=self._item(token["group_id"], token["branch_index"]),
            )


def _note(execution: Execution, event: RecordEvent) -> None:
    told, type = event.metadata, event.type
    if missed := told.get("found_nothing"):
        execution.found_nothing = missed
    if event.tokens or event.cost_usd:
        execution.llm_tokens += event.tokens or 0
        execution.cost_usd += event.cost_usd or 0.0
    if type == "token_dispatched":
        if lost_with := told.get("lost_with"):
            began_ms = execution.started_ms or execution.created_ms
            number = told["losses"]
            lost = Attempt(number=number, outcome="lost", started_ms=began_ms, lost_with=lost_with)
            execution.attempts.append(lost)
        execution.status, execution.started_ms = "dispatched", None
    elif type == "node_started":
        execution.status, execution.started_ms = "executing", event.at_ms
    elif type == "token_suspended":
        execution.status = "suspended"
    elif type == "fan_in_waiting":
        execution.status = "waiting_for_siblings"
    elif type == "context_updated":
        execution.changes += told["changes"]
    elif type in ("node_completed", "node_failed"):
        execution.ended_ms, execution.error = event.at_ms, told.get("error")
        execution.output, execution.output_cut = told.get("output", UNSET), told.get("output_cut")
        execution.attempts += _attempts(told, len(execution.attempts))
    elif type in _TOKEN_ENDS:
        execution.status = type.removeprefix("token_")
        execution.ended_ms = execution.ended_ms or event.at_ms
        execution.error = execution.error or told.get("error")


def _attempts(told: dict[str, Any], before: int) -> list[Attempt]:
    """Give the attempts that the steps of a task tell of, each numbered as one of its step."""
    made: list[Attempt] = []
    tried: dict[str, int] = {}
    for step in told.get("steps") or ():
        ref = step["ref"]
        first = tried.get(ref, before)
        made += [
            Attempt(
                number=first + failed["attempt"],
                outcome="failed",
                started_ms=failed["started_at_ms"],
                step=ref,
                error=failed["error"],
            )
            for failed in step.get("failed_attempts", ())
        ]
        tried[ref] = first + step["attempts"]
        made.append(
            Attempt(
                number=tried[ref],
                outcome=step["outcome"],
                started_ms=step["started_at_ms"],
                step=ref,
                error=step["error"],
            )
        )
    return made
