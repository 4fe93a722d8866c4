"""Loading: runs back into memory out of their rows, many of them with a handful of queries."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from wonder.context.plan import Context, ContextPlan
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.failure import Failure
from wonder.engine.limits import Limits
from wonder.engine.restore import BranchRow, GroupRow, RunRow, Snapshot, TokenRow, restore
from wonder.engine.state import RunState
from wonder.language.values import JsonValue, encode_json
from wonder.storage.runs.cells import failure_from, from_json, number, text, text_or_none
from wonder.storage.runs.headers import RunHeader, load_headers
from wonder.storage.runs.scope_rows import NO_GROUP
from wonder.storage.store import Dialect, Reader, Row


class Program(Protocol):
    """What the runs of one definition version are restored with."""

    @property
    def workflow(self) -> CompiledWorkflow:
        """The compiled graph."""

    @property
    def plan(self) -> ContextPlan:
        """The context tables."""


class LoadedRun(NamedTuple):
    """A run that is in memory again."""

    header: RunHeader
    run: RunState
    program: Program


async def load_runs(
    reader: Reader,
    dialect: Dialect,
    run_ids: Sequence[str],
    program_of: Callable[[str, int], Awaitable[Program]],
    limits: Limits | None = None,
    wanted: Callable[[RunHeader], bool] = lambda header: True,
) -> list[LoadedRun]:
    """Load runs, in the order of their ids; those that are not there, or not wanted, are left out.

    The number of queries depends on the number of definition versions, not of runs.
    """
    headers = [header for header in await load_headers(reader, run_ids) if wanted(header)]
    versions = {(header.workflow_def_id, header.workflow_version) for header in headers}
    programs = {version: await program_of(*version) for version in sorted(versions)}
    plans = {version: program.plan for version, program in programs.items()}
    snapshots = await load_current(reader, dialect, headers, plans)
    loaded = []
    for header in headers:
        program = programs[header.workflow_def_id, header.workflow_version]
        loaded.append(LoadedRun(header, restore(program.workflow, snapshots[header.id], limits), program))
    return loaded


async def load_current(
    reader: Reader, dialect: Dialect, headers: Sequence[RunHeader], plans: dict[tuple[str, int], ContextPlan]
) -> dict[str, Snapshot]:
    """Load all rows of runs as they are now, by run id; `plans` has those of their definition versions."""
    ids = encode_json([header.id for header in headers])
    contexts = await load_contexts(reader, dialect, headers, plans)
    rows = {
        name: await reader.fetch(f"{name}_of_runs", ids)
        for name in ("live_tokens", "groups", "branches", "loops", "timers")
    }
    loops = _loops(rows["loops"])
    timers: dict[str, dict[str, int]] = defaultdict(dict)
    for run_id, key, due_ms in rows["timers"]:
        timers[text(run_id)][text(key)] = number(due_ms)
    snapshots: dict[str, Snapshot] = {}
    for header in headers:
        context = contexts.get(header.id, {"input": header.queued_input})
        own_loops = loops.get((header.id, NO_GROUP, 0), {})
        run = _run(header, context, timers.get(header.id, {}), own_loops)
        snapshots[header.id] = Snapshot(run, [], [], [])
    for row in rows["live_tokens"]:
        snapshots[text(row[0])].tokens.append(_token(row))
    for row in rows["groups"]:
        snapshots[text(row[0])].groups.append(_group(row))
    for row in rows["branches"]:
        branch = _branch(row)
        branch.loops = loops.pop((text(row[0]), branch.group_id, branch.index), {})
        snapshots[text(row[0])].branches.append(branch)
    for (run_id, group_id, index), left in loops.items():
        if group_id != NO_GROUP:
            snapshots[run_id].branches.append(BranchRow(group_id, index, loops=left))
    return snapshots


async def load_context(reader: Reader, plan: ContextPlan, header: RunHeader) -> Context:
    """Load a run's context; of a run that has not started, its input."""
    answers = [await reader.query(query, header.id) for query in plan.select()]
    return plan.read(answers).get(header.id, {"input": header.queued_input, "state": {}, "output": {}})


async def load_contexts(
    reader: Reader, dialect: Dialect, headers: Iterable[RunHeader], plans: dict[tuple[str, int], ContextPlan]
) -> dict[str, Context]:
    """Load the contexts of many runs, by run id; those of runs that have not started are left out."""
    by_version: dict[tuple[str, int], list[JsonValue]] = defaultdict(list)
    for header in headers:
        by_version[header.workflow_def_id, header.workflow_version].append(header.id)
    contexts: dict[str, Context] = {}
    for version, run_ids in sorted(by_version.items()):
        plan, ids = plans[version], encode_json(run_ids)
        contexts |= plan.read([await reader.query(query, ids) for query in plan.select_many(dialect)])
    return contexts


def _run(header: RunHeader, context: Context, timers: dict[str, int], loops: dict[str, tuple[int, int]]) -> RunRow:
    failure: Failure | None = header.error
    return RunRow(
        header.id,
        header.status,
        header.sequence,
        context["input"],
        context.get("state", {}),
        context.get("output", {}),
        header.paused_reason,
        header.gate_item_id,
        header.timeout_left_ms,
        failure,
        timers,
        loops,
        header.tokens_made,
    )


def _token(row: Row) -> TokenRow:
    _, id, node_id, status, path_id, parent_id, group_id, index, born, held, losses, *values = row
    token_input, last_error, state_data = map(from_json, values)
    token = TokenRow(
        text(id),
        text(node_id),
        text(status),
        text(path_id),
        text_or_none(parent_id),
        text_or_none(group_id),
        number(index),
        number(born),
        bool(held),
        last_error,
        None,
        token_input,
        number(losses),
    )
    if state_data is not None and "join" in state_data:
        token.waits_at, token.waits_group_id = state_data["join"], state_data["group"]
        token.waits_index = state_data["branch"]
    else:
        token.wait = state_data
    return token


def _group(row: Row) -> GroupRow:
    _, id, node_id, path_id, outer_group_id, outer_index, segments, fired = row
    outer = text_or_none(outer_group_id)
    return GroupRow(
        text(id), text(node_id), text(path_id), outer, number(outer_index), from_json(segments), from_json(fired)
    )


def _branch(row: Row) -> BranchRow:
    _, group_id, index, status, abandoned, entered, arrived_as, output, error, replaced = row
    return BranchRow(
        text(group_id),
        number(index),
        text(status),
        bool(abandoned),
        text_or_none(entered),
        number(arrived_as),
        from_json(output),
        failure_from(error),
        replaced={} if replaced is None else from_json(replaced),
    )


def _loops(rows: Iterable[Row]) -> dict[tuple[str, str, int], dict[str, tuple[int, int]]]:
    loops: dict[tuple[str, str, int], dict[str, tuple[int, int]]] = defaultdict(dict)
    for run_id, group_id, index, transition_id, count, first_ms in rows:
        loops[text(run_id), text(group_id), number(index)][text(transition_id)] = (number(count), number(first_ms))
    return dict(loops)
