"""Lists of runs, by what they are, when they began, why they failed and what is in their contexts (CMD-10)."""

import asyncio
from collections.abc import AsyncIterator

from wonder.app.application import Application
from wonder.clock import SYSTEM_CLOCK
from wonder.context.plan import Context, ContextPlan
from wonder.errors import WonderError
from wonder.language import steps
from wonder.language.expressions import Expression, Names, compile_expression
from wonder.language.values import encode_json
from wonder.operations.declaring import Input, operation
from wonder.operations.run_records import ListedStatus, RunPage
from wonder.operations.runs import summary
from wonder.storage.context_tables import load_context_plan
from wonder.storage.pages import HIGHEST_LIMIT, LIMIT, Page, check_limit
from wonder.storage.runs.headers import RunHeader
from wonder.storage.runs.listing import RunFilter, cursor_after, list_runs
from wonder.storage.runs.loading import load_contexts

_NAMES = Names(frozenset({"input", "state", "output"}))
# Contexts are read until a page is full, and at most for so long: then the cursor goes on.
_WHERE_SECONDS = 0.4
# So many runs are in memory at a time: fewer, down to one, when the last ones were large.
_PORTION_RUNS = 10
_PORTION_BYTES = 1_000_000
# What a condition may do for one run, about 40 milliseconds: nothing else runs meanwhile.
_WHERE_STEPS = 200_000


class WhichRuns(Input, frozen=True):
    """Which runs; what is null does not narrow the list."""

    status: ListedStatus | None = None
    """Only runs with this status; a quarantined run is not among the paused ones."""
    workflow: str | None = None
    """Only runs of the workflow with this name, or of `library/name`, of any version."""
    workflow_version: int | None = None
    """Only runs of this version of their workflow."""
    since_ms: int | None = None
    """Only runs that were started at this time or later, in milliseconds since 1970."""
    until_ms: int | None = None
    """Only runs that were started before this time."""
    error: str | None = None
    """Only runs that failed with this code, or whose error's message contains this."""
    error_code: str | None = None
    """Only runs that failed with this code; faster than `error` where many have failed."""
    node: str | None = None
    """Only runs that failed at the node with this ref, or are at it now."""
    tag: str | None = None
    """Only runs whose workflow definition has this tag."""
    retried: bool | None = None
    """Only runs that were retried, or only those that were not."""
    parent_run_id: str | None = None
    """Only the sub-workflows that this run has called."""
    cost_min_usd: float | None = None
    """Only runs that have cost at least this much."""
    where: str | None = None
    """Only runs for whose context this is true: an expression over input, state and output."""


class ListRuns(WhichRuns, frozen=True):
    """Which runs, and which page of them."""

    limit: int = LIMIT
    cursor: str | None = None


@operation("runs.list", role="viewer")
async def list_project_runs(application: Application, given: ListRuns) -> RunPage:
    """List the runs of the project, newest first; a page with a cursor may have fewer runs than asked for."""
    page = await _find(application, given, given.limit, given.cursor)
    return RunPage(runs=[await summary(application, header) for header in page.items], cursor=page.cursor)


async def every_run(application: Application, given: WhichRuns) -> AsyncIterator[RunHeader]:
    """Give all runs of the project that are asked for, newest first."""
    cursor = None
    while True:
        page = await _find(application, given, HIGHEST_LIMIT, cursor)
        for header in page.items:
            yield header
        cursor = page.cursor
        if cursor is None:
            return


async def _find(application: Application, given: WhichRuns, limit: int, cursor: str | None) -> Page[RunHeader]:
    store, project_id = application.store, application.home.project_id
    wanted = RunFilter(
        status=given.status,
        workflow_def_id=None if given.workflow is None else await definition_id(application, given.workflow),
        version=given.workflow_version,
        since_ms=given.since_ms,
        until_ms=given.until_ms,
        error=given.error,
        error_code=given.error_code,
        node=given.node,
        tag=given.tag,
        retried=given.retried,
        parent_run_id=given.parent_run_id,
        cost_min_usd=given.cost_min_usd,
    )
    if given.where is None:
        return await list_runs(store, project_id, wanted, limit=limit, cursor=cursor)
    check_limit(limit)
    where = _Where(application, compile_expression(given.where, _NAMES))
    found: list[RunHeader] = []
    until_ms = SYSTEM_CLOCK.now_ms() + _WHERE_SECONDS * 1_000
    while True:
        page = await list_runs(store, project_id, wanted, limit=where.portion, cursor=cursor)
        contexts = await where.load(page.items)
        for header in page.items:
            # Taken out, so that none is kept while the next ones are read.
            if where.matches(header, contexts.pop(header.id, None)):
                found.append(header)
            if len(found) > limit:
                return Page(found[:limit], cursor_after(found[limit - 1].id))
            await asyncio.sleep(0)
            is_last = header is page.items[-1]
            if SYSTEM_CLOCK.now_ms() > until_ms:
                return Page(found, page.cursor if is_last else cursor_after(header.id))
        cursor = page.cursor
        # A page may be empty and not the last one.
        if cursor is None or SYSTEM_CLOCK.now_ms() > until_ms:
            return Page(found, cursor)


class WhereFailed(WonderError):
    """The condition of a list of runs can't be evaluated for one of them."""

    code = "WHERE_FAILED"

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(f"the condition can't be evaluated for run {run_id}: {reason}")
        self.run_id, self.reason = run_id, reason


class _Where:
    """A condition over contexts. Not SQL of the database: it can't do more than an expression of a workflow can, means
    the same on both databases, and reads runs of all versions, whose contexts are in tables of their own."""

    def __init__(self, application: Application, expression: Expression) -> None:
        self._application, self._expression = application, expression
        self._plans: dict[tuple[str, int], ContextPlan] = {}
        self.portion = 1
        """How many runs to load next."""

    async def load(self, headers: list[RunHeader]) -> dict[str, Context]:
        """Load the contexts of runs, by run id."""
        store = self._application.store
        for version in {(header.workflow_def_id, header.workflow_version) for header in headers} - self._plans.keys():
            self._plans[version] = await load_context_plan(store, await self._application.definition(*version))
        contexts = await load_contexts(store, store.dialect, headers, self._plans)
        values = [value for header in headers for value in (header.queued_input, header.output)]
        largest = max((len(encode_json(value)) for value in (*contexts.values(), *values)), default=0)
        self.portion = max(1, min(_PORTION_RUNS, _PORTION_BYTES // max(1, largest)))
        return contexts

    def matches(self, header: RunHeader, context: Context | None) -> bool:
        """Say whether the condition is true for a run's context."""
        scope = context or {"input": header.queued_input, "state": {}, "output": {}}
        counted = steps.begin(steps.Steps(_WHERE_STEPS))
        try:
            return self._expression.matches(scope)
        except steps.TooManySteps as error:
            reason = f"it takes more than {_WHERE_STEPS:,} steps; let it read less, or narrow the list"
            raise WhereFailed(header.id, reason) from error
        except WonderError as error:
            raise WhereFailed(header.id, str(error)) from error
        finally:
            steps.end(counted)


async def definition_id(application: Application, name: str) -> str:
    """Give the id of the definition of a workflow of the project or of a library; raises NotFound."""
    return (await application.startable(name)).workflow_def_id
