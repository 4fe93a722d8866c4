"""Following a run: how far its nodes are, whether it is at rest, and what it has triggered."""

import asyncio
from collections import Counter, defaultdict

from wonder.app.application import Application
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.operations.question_records import Question, question_of
from wonder.operations.run_records import (
    AwaitedEvent,
    RunOutcome,
    RunSummary,
    TriggerRecord,
    trigger_record,
)
from wonder.operations.runs import OneRun, find_run, summary
from wonder.storage.runs.functions import awaited_functions
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.progress import awaited_events, count_tokens, only_outside_moves, open_questions
from wonder.storage.runs.triggering import firings_of_run, runs_triggered_by, trigger_status

_LOOK_SECONDS = 0.05


class Follow(Input, frozen=True):
    """Which run to follow."""

    run_id: str
    nodes: bool = True
    """Whether to count tokens by node."""


class NodeProgress(Output, frozen=True):
    """How many tokens a node has in each status."""

    node: str
    tokens: dict[str, int]
    name: str | None = None
    """The node's name for people, if it has one."""


class RunProgress(Output, frozen=True):
    """How a run stands."""

    run: RunSummary
    nodes: list[NodeProgress]
    """Those that have tokens, in the order of the definition."""
    is_at_rest: bool
    """Whether it has ended, or waits for a person or an outside event, with a deadline or without (CMD-4)."""
    questions: list[Question]
    events: list[AwaitedEvent]
    functions: list[str]
    """Functions that no process which runs the engine has, and that tasks wait for."""


@operation("runs.progress", role="viewer")
async def run_progress(application: Application, given: Follow) -> RunProgress:
    """Say how far a run is, and whether it waits for nothing but a person or an outside event."""
    store, header = application.store, await find_run(application, given.run_id)
    nodes = await _nodes(application, header) if given.nodes else []
    is_at_rest = header.has_ended or await only_outside_moves(store, header, before_limits=True)
    waits = not header.has_ended and (is_at_rest or any("suspended" in node.tokens for node in nodes))
    return RunProgress(
        run=await summary(application, header),
        nodes=nodes,
        is_at_rest=is_at_rest,
        questions=[question_of(item) for item in await open_questions(store, header.id)] if waits else [],
        events=[AwaitedEvent(**one._asdict()) for one in await awaited_events(store, header.id)] if waits else [],
        functions=await awaited_functions(store, header.id) if waits else [],
    )


class TriggeredRuns(Output, frozen=True):
    """What a run has triggered, once that is at rest."""

    triggers: list[TriggerRecord]
    statuses: dict[str, int]
    """How many of the triggered runs, and of those that they have triggered, are in which status."""


@operation("runs.wait_for_triggered", role="viewer")
async def wait_for_triggered(application: Application, given: OneRun) -> TriggeredRuns:
    """Wait until all that a run has triggered, and what that has triggered, is at rest; count it by status (PHS-6)."""
    header = await find_run(application, given.run_id)
    statuses: Counter[str] = Counter()
    ahead = [header.id] if header.status == "completed" else []
    while ahead:
        source_id = ahead.pop()
        await _fired(application, source_id)
        seen: set[str] = set()
        while found := [id for id in await _started_by(application, source_id) if id not in seen]:
            for triggered_id in found:
                seen.add(triggered_id)
                triggered = await _at_rest(application, triggered_id)
                statuses[triggered.status] += 1
                if triggered.status == "completed":
                    ahead.append(triggered_id)
    firings = await firings_of_run(application.store, header.id)
    return TriggeredRuns(triggers=[trigger_record(firing) for firing in firings], statuses=dict(statuses))


@operation("runs.outcome", role="viewer")
async def run_outcome(application: Application, given: OneRun) -> RunOutcome:
    """Give the status of a run, with its output or its error if it has ended."""
    run = await summary(application, await find_run(application, given.run_id))
    return RunOutcome(run_id=run.run_id, status=run.status, output=run.output, error=run.error)


async def _nodes(application: Application, header: RunHeader) -> list[NodeProgress]:
    definition = await application.definition(header.workflow_def_id, header.workflow_version)
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for node_id, status, tokens in await count_tokens(application.store, header.id):
        counts[node_id][status] += tokens
    return [
        NodeProgress(node=node.ref, tokens=dict(counts[node.id]), name=node.name)
        for node in definition.nodes
        if node.id in counts
    ]


async def _fired(application: Application, run_id: str) -> None:
    while True:
        if trigger_status(await firings_of_run(application.store, run_id)) != "pending":
            return
        await asyncio.sleep(_LOOK_SECONDS)


async def _started_by(application: Application, run_id: str) -> list[str]:
    return [id async for id in runs_triggered_by(application.store, run_id)]


async def _at_rest(application: Application, run_id: str) -> RunHeader:
    """Wait until a run has ended, with its retry begun if one is due, or only somebody outside can move it on."""
    store = application.store
    while True:
        header = await find_run(application, run_id)
        if header.has_ended and not header.retry_due:
            return header
        if not header.has_ended and await only_outside_moves(store, header, before_limits=True):
            return header
        await asyncio.sleep(_LOOK_SECONDS)
