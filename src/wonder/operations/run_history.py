"""The history of a run: each execution of a node with its input, its output and all its attempts (EVT-1a)."""

from collections.abc import AsyncIterator
from typing import Any

from msgspec import UNSET, UnsetType

from wonder.app.application import Application
from wonder.observe.history import Attempt, Execution, history_of_run
from wonder.operations.declaring import Input, stream
from wonder.operations.outputs import Output
from wonder.operations.runs import find_run


class HistoryOfRun(Input, frozen=True):
    """Which executions of a run."""

    run_id: str
    node: str | None = None
    """Only executions of the node with this ref."""
    token_id: str | None = None
    failed: bool = False
    """Only executions that failed, also those whose failure was handled."""


class AttemptError(Output, frozen=True):
    """Why an attempt failed."""

    code: str
    message: str
    retryable: bool
    details: Any
    """What else is known, as the `traceback` of a Python function."""


class AttemptRecord(Output, frozen=True):
    """One attempt: `completed`, `failed`, `cancelled`, or `lost` with its process or worker."""

    attempt: int
    outcome: str
    step: str | None
    started_ms: int | None
    lost_with: str | None
    error: AttemptError | None


class ExecutionRecord(Output, frozen=True):
    """One execution of a node; what is not there was not recorded, or there is none."""

    token_id: str
    node: str
    path_id: str
    status: str
    created_ms: int
    took_ms: int | None
    item: Any | UnsetType
    """What its branch was made for, if a foreach made it."""
    input: Any | UnsetType
    output: Any | UnsetType
    output_cut: Any
    """In the place of an output that was too large: its `bytes`, its `start`, and where it is `kept_as`."""
    changes: list[Any]
    """What it wrote to the context: `[path, value]`."""
    found_nothing: list[str]
    """Queries of its `input_mapping` that found nothing where a schema requires a value."""
    attempts: list[AttemptRecord]
    error: AttemptError | None
    llm_tokens: int
    cost_usd: float


@stream("runs.history", role="viewer")
async def show_history(application: Application, given: HistoryOfRun) -> AsyncIterator[ExecutionRecord]:
    """Give what happened in each execution of a node, in the order of their ends."""
    header = await find_run(application, given.run_id)
    definition = await application.definition(header.workflow_def_id, header.workflow_version)
    refs = {node.id: node.ref for node in definition.nodes}
    async for one in history_of_run(application.store, header.id):
        node = refs.get(one.node_id, one.node_id)
        if given.node not in (None, node) or given.token_id not in (None, one.token_id):
            continue
        if given.failed and one.error is None:
            continue
        yield _record(one, node)


def _record(one: Execution, node: str) -> ExecutionRecord:
    return ExecutionRecord(
        token_id=one.token_id,
        node=node,
        path_id=one.path_id,
        status=one.status,
        created_ms=one.created_ms,
        took_ms=None if one.ended_ms is None else one.ended_ms - one.created_ms,
        item=one.item,
        input=one.input,
        output=one.output if one.output_cut is None else UNSET,
        output_cut=one.output_cut,
        changes=one.changes,
        found_nothing=one.found_nothing,
        attempts=[_attempt(attempt) for attempt in one.attempts],
        error=_error(one.error),
        llm_tokens=one.llm_tokens,
        cost_usd=one.cost_usd,
    )


def _attempt(one: Attempt) -> AttemptRecord:
    return AttemptRecord(
        attempt=one.number,
        outcome=one.outcome,
        step=one.step,
        started_ms=one.started_ms,
        lost_with=one.lost_with,
        error=_error(one.error),
    )


def _error(told: dict[str, Any] | None) -> AttemptError | None:
    if told is None:
        return None
    return AttemptError(
        code=told["code"], message=told["message"], retryable=told["retryable"], details=told.get("details")
    )
