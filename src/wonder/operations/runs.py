"""Runs: one in full, its context, and whether its events add up."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from wonder.app.application import Application
from wonder.clock import SYSTEM_CLOCK
from wonder.definitions.records.graph import WorkflowDef
from wonder.observe.time_travel import run_at
from wonder.observe.verify import verify_run as verify
from wonder.operations.declaring import Input, operation
from wonder.operations.outputs import Output
from wonder.operations.question_records import QuestionAnswer, answers_to, question_of
from wonder.operations.run_records import (
    AwaitedEvent,
    ChildRun,
    FailureReason,
    RunDetails,
    RunSummary,
    TokenRecord,
    summary_fields,
    summary_of,
    trigger_record,
)
from wonder.storage.context_tables import load_context_plan
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.functions import awaited_functions
from wonder.storage.runs.headers import RunHeader, child_statuses, count_children, newest_retry
from wonder.storage.runs.loading import load_context
from wonder.storage.runs.own_runs import load_own_run
from wonder.storage.runs.progress import awaited_events, count_tokens, open_questions
from wonder.storage.runs.reading import StoredToken, inbox_of_run, tokens_of_run
from wonder.storage.runs.tallies import Execution, Tally, input_of_run, tally_run
from wonder.storage.schedules import find_schedule
from wonder.storage.spending import calls_full_until
from wonder.storage.tenancy import load_project

_CHILDREN_MAX = 1_000
_TOKENS_MAX = 1_000
_ANSWERS_MAX = 1_000
# The tokens that a retry or a fork begins with are numbered before its first event.
_BEFORE_ALL = -(2**62)


class OneRun(Input, frozen=True):
    """A run."""

    run_id: str


@operation("runs.show", role="viewer")
async def show_run(application: Application, given: OneRun) -> RunDetails:
    """Show a run: its nodes, its result, its family and what it waits for."""
    store, header = application.store, await find_run(application, given.run_id)
    definition = await application.definition(header.workflow_def_id, header.workflow_version)
    tokens = await tokens_of_run(store, header.id, after=_BEFORE_ALL, limit=_TOKENS_MAX)
    tally = await tally_run(store, header.id, [token.id for token in tokens])
    triggered = await application.triggers(header.id)
    header = replace(header, retried_as=await newest_retry(store, header.id))
    return RunDetails(
        **summary_fields(header, definition.name),
        input=await input_of_run(store, header),
        schedule=await _schedule(application, header),
        retry_of_run_id=header.retry_of_run_id,
        forked_from_run_id=header.forked_from_run_id,
        forked_from_sequence=header.forked_from_sequence,
        llm_tokens=tally.llm_tokens,
        cost_usd=tally.cost_usd,
        tokens=_token_records(tokens, definition, tally),
        tokens_total=sum(one.tokens for one in await count_tokens(store, header.id)),
        children=[
            ChildRun(run_id=id, status=status)
            for id, status in await child_statuses(store, header.id, limit=_CHILDREN_MAX)
        ],
        children_total=await count_children(store, header.id),
        inbox=[question_of(item) for item in await open_questions(store, header.id)],
        answers=[
            QuestionAnswer(item_id=item.id, prompt=item.prompt, by=given.by, answer=given.answer, at_ms=given.at_ms)
            for item in await inbox_of_run(store, header.id)
            for given in answers_to(item)
        ][:_ANSWERS_MAX],
        events=[AwaitedEvent(**wait._asdict()) for wait in await awaited_events(store, header.id)],
        functions=await awaited_functions(store, header.id),
        calls_wait_until_ms=None if header.has_ended else await _calls_wait_until(application),
        trigger_status=triggered.status,
        triggers=[trigger_record(firing) for firing in triggered.triggers],
        triggered_run_ids=triggered.run_ids,
    )


class RunContext(Output, frozen=True):
    """The context of a run."""

    input: Any
    state: Any
    output: Any


class ContextOfRun(Input, frozen=True):
    """Which context of a run."""

    run_id: str
    at: int | None = None
    """As it was after the event with this number; as it is now if it is null."""


@operation("runs.context", role="viewer")
async def show_context(application: Application, given: ContextOfRun) -> RunContext:
    """Show a run's input, state and output, as they are or as they were after an event."""
    header = await find_run(application, given.run_id)
    if given.at is not None:
        then = (await run_at(application.store, header, given.at)).run
        return RunContext(input=then.input, state=then.state, output=then.output)
    definition = await application.definition(header.workflow_def_id, header.workflow_version)
    plan = await load_context_plan(application.store, definition)
    found: Any = await load_context(application.store, plan, header)
    return RunContext(input=found["input"], state=found["state"], output=found["output"])


class Verification(Output, frozen=True):
    """Whether the events of a run add up to its tokens and context, and if not, where they don't."""

    run_id: str
    verified: bool
    faults: list[str]


@operation("runs.verify", role="viewer")
async def verify_run(application: Application, given: OneRun) -> Verification:
    """Check that the events of a run add up to its tokens and context."""
    await find_run(application, given.run_id)
    faults = await verify(application.store, given.run_id)
    return Verification(run_id=given.run_id, verified=not faults, faults=faults)


async def find_run(application: Application, run_id: str) -> RunHeader:
    """Load a run of the application's project; raises NotFound, also for a run of another project."""
    return await load_own_run(application.store, application.home.project_id, run_id)


async def summary(application: Application, header: RunHeader) -> RunSummary:
    """Give a run as lists show it, with the name of its workflow."""
    definition = await application.definition(header.workflow_def_id, header.workflow_version)
    return summary_of(header, definition.name)


def _token_records(tokens: list[StoredToken], definition: WorkflowDef, tally: Tally) -> list[TokenRecord]:
    nodes = {node.id: node for node in definition.nodes}
    records = []
    for token in tokens:
        execution = tally.executions.get(token.id, Execution())
        ended_ms = execution.ended_ms or token.ended_ms
        records.append(
            TokenRecord(
                id=token.id,
                node=nodes[token.node_id].ref,
                node_name=nodes[token.node_id].name,
                status=token.status,
                path_id=token.path_id,
                created_ms=token.created_ms,
                took_ms=None if ended_ms is None else ended_ms - token.created_ms,
                attempts=execution.attempts,
                llm_tokens=execution.llm_tokens,
                cost_usd=execution.cost_usd,
                waits_for=token.state_data if token.status == "suspended" else None,
                item=_item(token, tally),
                error=None
                if execution.error is None
                else FailureReason(code=execution.error["code"], message=execution.error["message"]),
            )
        )
    return records


def _item(token: StoredToken, tally: Tally) -> Any:
    items = tally.items.get(token.group_id or "", [])
    return items[token.branch_index] if token.branch_index < len(items) else UNSET


async def _schedule(application: Application, header: RunHeader) -> str | None:
    """Give the name of the schedule that has started a run, by the key that it starts runs with, if it is there."""
    words = (header.idempotency_key or "").split(" ")
    if words[0] != "schedule" or len(words) < 3:
        return None
    try:
        return (await find_schedule(application.store, header.project_id, words[1])).schedule.name
    except NotFound:
        return None


async def _calls_wait_until(application: Application) -> int | None:
    project_id = application.home.project_id
    calls_max = (await load_project(application.store, project_id)).settings.rate_limits.max_llm_calls_per_hour
    if calls_max is None:
        return None
    return await calls_full_until(application.store, project_id, calls_max, SYSTEM_CLOCK.now_ms())
