"""A run in full, for people and programs: its nodes with time, attempts and cost, its family, what it waits for."""

import time
from dataclasses import dataclass
from typing import Any

from wonder.app import App
from wonder.cli.output import color, print_json, print_table, visible
from wonder.cli.questions import event_lines, question_lines
from wonder.cli.run_headers import header_json, shown_length, shown_time, shown_took
from wonder.cli.run_triggers import Triggered, load_triggered, print_triggered, triggered_json
from wonder.definitions.records.graph import WorkflowDef
from wonder.engine.decisions import RecordEvent
from wonder.language.values import JsonValue, encode_json
from wonder.storage.definitions import load_definition
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.headers import RunHeader, children_of_run, load_header
from wonder.storage.runs.looking import InboxItem, StoredToken, events_of_run, tokens_of_run
from wonder.storage.runs.standing import AwaitedEvent, awaited_events, open_questions
from wonder.storage.schedules import find_schedule
from wonder.storage.spending import calls_full_until
from wonder.storage.store import Reader
from wonder.storage.tenancy import load_project

_MARKS = {"completed": ("good", "✓"), "failed": ("error", "✗"), "cancelled": ("error", "✗")}
_CHILDREN_MAX = 20
_ENDS = ("node_completed", "node_failed")
_INPUT_SHOWN = 300
_TOKENS_SHOWN = 1_000
# The tokens that a retry or a fork begins with are numbered before its first event.
_BEFORE_ALL = -(2**62)


@dataclass
class Execution:
    """What the events say of one execution of a node; it ends before its token does, which may wait at a join."""

    ended_ms: int | None = None
    attempts: int = 0
    """Of its task, and of the action in it that was tried most often."""
    tokens: int = 0
    cost_usd: float = 0.0

    def hear(self, event: RecordEvent) -> None:
        """Take what an event says."""
        self.tokens += event.tokens or 0
        self.cost_usd += event.cost_usd or 0.0
        if event.type in _ENDS:
            self.ended_ms = event.at_ms
            self.attempts += attempts_in(event.metadata)


@dataclass
class RunDetails:
    """All that is shown of a run."""

    header: RunHeader
    definition: WorkflowDef
    tokens: list[StoredToken]
    executions: dict[str, Execution]
    children: list[RunHeader]
    items: list[InboxItem]
    events: list[AwaitedEvent]
    calls_wait_until_ms: int | None
    triggered: Triggered
    input: JsonValue
    """What it was started with; None where its first events are gone."""
    schedule: str | None
    """The schedule that started it."""


def attempts_in(metadata: dict[str, Any]) -> int:
    """Say how often a task was tried, its actions' own attempts counted."""
    by_step: dict[str, int] = {}
    for step in metadata.get("steps", ()):
        by_step[step["ref"]] = by_step.get(step["ref"], 0) + step["attempts"]
    of_task: int = metadata.get("attempts", 1)
    return max([of_task, *by_step.values()])


async def load_details(app: App, run_id: str) -> RunDetails:
    """Load all that is shown of a run; raises NotFound."""
    store = app.store
    header = await load_header(store, run_id)
    executions, run_input = await _told_by_events(store, header)
    return RunDetails(
        header,
        await load_definition(store, WorkflowDef, header.workflow_def_id, header.workflow_version),
        await tokens_of_run(store, header.id, after=_BEFORE_ALL, limit=_TOKENS_SHOWN),
        executions,
        await children_of_run(store, header.id),
        await open_questions(store, header.id),
        await awaited_events(store, header.id),
        None if header.has_ended else await _calls_wait_until(store, header.project_id),
        await load_triggered(store, header.id),
        run_input,
        await _schedule(store, header),
    )


def print_details_json(details: RunDetails) -> None:
    """Print them for a program."""
    refs = {node.id: node.ref for node in details.definition.nodes}
    tokens = []
    for token in details.tokens:
        execution = details.executions.get(token.id, Execution())
        ended_ms = execution.ended_ms or token.ended_ms
        tokens.append(
            {
                "id": token.id,
                "node": refs[token.node_id],
                "status": token.status,
                "path_id": token.path_id,
                "took_ms": None if ended_ms is None else ended_ms - token.created_ms,
                "attempts": execution.attempts,
                "llm_tokens": execution.tokens,
                "cost_usd": execution.cost_usd,
                "waits_for": token.state_data if token.status == "suspended" else None,
            }
        )
    print_json(
        {
            **header_json(details.header),
            "workflow": details.definition.name,
            "input": details.input,
            "schedule": details.schedule,
            "retry_of_run_id": details.header.retry_of_run_id,
            "forked_from_run_id": details.header.forked_from_run_id,
            "llm_tokens": sum(one.tokens for one in details.executions.values()),
            "cost_usd": sum(one.cost_usd for one in details.executions.values()),
            "tokens": tokens,
            "children": [{"run_id": child.id, "status": child.status} for child in details.children],
            "inbox": [{"id": item.id, "prompt": item.prompt, "schema": item.schema} for item in details.items],
            "events": [wait._asdict() for wait in details.events],
            "calls_wait_until_ms": details.calls_wait_until_ms,
            **triggered_json(details.triggered),
        }
    )


def print_details(details: RunDetails) -> None:
    """Print them for a person."""
    header = details.header
    style, mark = _MARKS.get(header.status, ("warning", "…"))
    name = f"{details.definition.name}@{header.workflow_version}"
    print(f"{color(style, mark)} {name} {header.status}  {color('dim', header.id)}")
    print(f"  started {shown_time(header.created_ms)}, {shown_took(header)}{_spent(details)}")
    if header.parent_run_id:
        print(f"  called by run {header.parent_run_id}")
    if header.origin:
        print(f"  triggered by {header.origin.triggered_by_run_id}")
    if header.retry_of_run_id:
        print(f"  retry of run {header.retry_of_run_id}")
    elif header.forked_from_run_id:
        print(f"  forked from run {header.forked_from_run_id} after event {header.forked_from_sequence}")
    if details.schedule is not None:
        print(f"  started by the schedule {visible(details.schedule)}")
    if details.input is not None:
        given = encode_json(details.input)
        more = f"… (`wonder runs context {header.id}` shows it all)" if len(given) > _INPUT_SHOWN else ""
        print(f"  input {visible(given[:_INPUT_SHOWN])}{more}")
    if header.error:
        where = f" at node {header.error.node!r}" if header.error.node else ""
        print(f"  {color('error', header.error.code)}{where}: {header.error.message}")
    if header.status == "completed":
        print(f"  output {encode_json(header.output)}")
    if until_ms := details.calls_wait_until_ms:
        until = time.strftime("%H:%M:%S", time.localtime(until_ms / 1_000))
        print(f"  its project has used up max_llm_calls_per_hour: calls of models wait in line until {until}")
    print()
    _print_nodes(details)
    for child in details.children[:_CHILDREN_MAX]:
        print(f"{'' if child is not details.children[0] else chr(10)}called run {child.id}: {child.status}")
    if len(details.children) > _CHILDREN_MAX:
        print(f"and {len(details.children) - _CHILDREN_MAX:,} more; --json lists them")
    print_triggered(details.triggered)
    for item in details.items:
        print("\n" + "\n".join(question_lines(item)))
    if details.events:
        print("\n" + "\n".join(event_lines(details.events)))


def _print_nodes(details: RunDetails) -> None:
    refs = {node.id: node.ref for node in details.definition.nodes}
    titles = ["NODE", "PATH", "STATUS", "TOOK", "ATTEMPTS"]
    costs = any(one.tokens or one.cost_usd for one in details.executions.values())
    rows = []
    for token in details.tokens:
        execution = details.executions.get(token.id, Execution())
        took = shown_length(token.created_ms, execution.ended_ms or token.ended_ms)
        status = token.status + _until(token)
        row = [refs[token.node_id], token.path_id, status, took, str(execution.attempts or "")]
        rows.append([*row, f"{execution.tokens:,}", f"{execution.cost_usd:.6f}"] if costs else row)
    print_table([*titles, "TOKENS", "COST USD"] if costs else titles, rows)
    if len(rows) == _TOKENS_SHOWN:
        print(f"these are the first {_TOKENS_SHOWN:,}; `wonder query` reads all from token_log")


def _spent(details: RunDetails) -> str:
    tokens = sum(one.tokens for one in details.executions.values())
    cost = sum(one.cost_usd for one in details.executions.values())
    return f", {cost:.6f} USD for {tokens:,} tokens" if tokens or cost else ""


def _until(token: StoredToken) -> str:
    """Say how long something sleeps."""
    wait = token.state_data if token.status == "suspended" else None
    if not isinstance(wait, dict) or wait.get("kind") != "sleep" or not isinstance(due_ms := wait.get("due_ms"), int):
        return ""
    return f", sleeps until {shown_time(due_ms)}" if 0 <= due_ms < 2**42 else ""


async def _told_by_events(reader: Reader, header: RunHeader) -> tuple[dict[str, Execution], JsonValue]:
    """Give the executions of a run, and its input."""
    found: dict[str, Execution] = {}
    run_input: JsonValue = header.queued_input
    after = 0
    while events := await events_of_run(reader, header.id, after=after):
        after = events[-1].sequence
        for event in events:
            if event.token_id is not None:
                found.setdefault(event.token_id, Execution()).hear(event)
            elif event.type == "workflow_started":
                run_input = event.metadata["input"]
    return found, run_input


async def _schedule(reader: Reader, header: RunHeader) -> str | None:
    """Say which schedule has started a run, by the key that it starts runs with, if it is still there."""
    words = (header.idempotency_key or "").split(" ")
    if words[0] != "schedule" or len(words) < 3:
        return None
    try:
        return (await find_schedule(reader, header.project_id, words[1])).schedule.name
    except NotFound:
        return None


async def _calls_wait_until(reader: Reader, project_id: str) -> int | None:
    calls_max = (await load_project(reader, project_id)).settings.rate_limits.max_llm_calls_per_hour
    if calls_max is None:
        return None
    return await calls_full_until(reader, project_id, calls_max, time.time_ns() // 1_000_000)
