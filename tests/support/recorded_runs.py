"""Runs of the pure engine that are recorded in a real database, turn by turn."""

from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

from msgspec.structs import replace

from support.engine_runs import Player
from wonder.context.plan import ContextPlan, plan_context, table_prefix
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.decide import decide
from wonder.engine.decisions import Decision
from wonder.engine.facts import Fact
from wonder.engine.limits import Limits
from wonder.engine.restore import BranchRow, Snapshot, take_snapshot
from wonder.engine.state import ENDED_RUN, RunState
from wonder.language.values import canonical_json
from wonder.storage.runs.cells import from_json, to_json
from wonder.storage.runs.headers import load_headers
from wonder.storage.runs.loading import load_current
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import NewRun, Recorded
from wonder.storage.store import Fence, Store

PROJECT = "project"
# Some of what random workflows write has columns and tables, and some, or some of its values, do not.
SCHEMA: Any = {
    "type": "object",
    "properties": {
        "n": {"type": ["integer", "null"]},
        "o": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "m": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    },
}
_numbers = count(1)


class Program(NamedTuple):
    """What runs are loaded with."""

    workflow: CompiledWorkflow
    plan: ContextPlan


def new_plan(context_schema: Any = SCHEMA, **schemas: Any) -> tuple[str, ContextPlan]:
    """Plan the context tables of a definition that nobody else has; gives its id too."""
    id = f"definition{next(_numbers)}"
    return id, plan_context(table_prefix(id, 1), context_schema=context_schema, **schemas)


async def create_tables(store: Store, plan: ContextPlan) -> None:
    """Make the tables of a plan."""
    async with store.transaction() as transaction:
        for statement in plan.ddl(store.dialect):
            await transaction.run(statement)


async def commit_batch(batch: Batch, store: Store, fence: Fence | None = None) -> None:
    """Store a batch in one transaction, as a run writer does."""
    entries = batch.entries()
    await store.commit(entries, fence=fence, independent=batch.is_independent(entries))


class RecordedPlayer(Player):
    """A player whose turns go into a batch; `batch` may be shared by several."""

    def __init__(
        self,
        compiled: CompiledWorkflow,
        definition_id: str,
        plan: ContextPlan,
        limits: Limits | None = None,
        batch: Batch | None = None,
        **fields: Any,
    ) -> None:
        super().__init__(compiled, limits)
        number = next(_numbers)
        self.run = RunState(f"run{number:05}", compiled, limits)
        self._ids = count(number * 1_000_000)
        self.plan, self.definition_id = plan, definition_id
        self.record = Recorded(self.run, plan, PROJECT, definition_id)
        self.batch = batch or Batch()
        self.new_run = NewRun(
            id=self.run.id,
            project_id=PROJECT,
            workflow_def_id=definition_id,
            workflow_version=1,
            input={},
            created_ms=self.now_ms,
            **fields,
        )
        self.batch.start(self.new_run)

    def new_id(self) -> str:
        """Make ids that sort as they were made, however many players there were before."""
        return f"id{next(self._ids):015}"

    def bring(self, fact: Fact) -> list[Decision]:
        """Bring one fact, and add what follows to the batch."""
        self._add(decide(self.run, fact, now_ms=self.now_ms, new_id=self.new_id, hand_on=self._add))
        return self.last

    def _add(self, part: list[Decision]) -> None:
        self.last = part
        self.decisions += part
        self.batch.add(self.record, part, self.now_ms)

    async def commit(self, store: Store) -> Batch:
        """Commit the batch, and begin a new one."""
        committed, self.batch = self.batch, Batch()
        await commit_batch(committed, store)
        return committed


async def stored(store: Store, players: Sequence[RecordedPlayer]) -> list[Any]:
    """Load the runs of players out of their rows, in a form that can be compared."""
    headers = await load_headers(store, [player.run.id for player in players])
    plans = {(player.definition_id, 1): player.plan for player in players}
    found = await load_current(store, store.dialect, headers, plans)
    return [comparable(found[player.run.id]) for player in players]


def in_memory(players: Sequence[RecordedPlayer]) -> list[Any]:
    """Give the runs of players as they are, in the same form."""
    return [comparable(take_snapshot(player.run)) for player in players]


def comparable(snapshot: Snapshot) -> Any:
    """Give a snapshot without the order of its rows, in which 1, 1.0 and true are different."""
    kept = [row for row in snapshot.branches if row != BranchRow(row.group_id, row.index)]
    branches = sorted(kept, key=lambda row: (row.group_id, row.index))
    tokens = sorted(snapshot.tokens, key=lambda row: row.born)
    groups = sorted(snapshot.groups, key=lambda row: row.id)
    run = snapshot.run
    if run.status in ENDED_RUN:
        # Of no use any more, so no rows are kept of them.
        run = replace(run, loops={}, timeout_left_ms=None)
    # As text and back, because a text tells numbers apart; sorted, because the order of keys is not promised.
    return canonical_json(from_json(to_json(Snapshot(run, tokens, groups, branches))))


def rows_of(batch: Batch) -> dict[str, int]:
    """Count the rows that a batch writes, by statement; those of context tables together."""
    counts: dict[str, int] = {}
    for statement, rows in batch.entries():
        name = "context" if " " in statement else statement
        counts[name] = counts.get(name, 0) + len(rows)
    return counts
