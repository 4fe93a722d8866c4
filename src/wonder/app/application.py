"""Wonder on one database, in one project: deploy, start, wait, answer (CMD-8). What `wonder.open` gives.

One process at a time runs the engine of a database. The first that opens it does; others read, and hand their orders
to that one.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import wonder.actions  # noqa: F401  # announces the built-in kinds to the rooms that read definitions
from wonder.app.deploying import main_workflow, read_definition, store_definition
from wonder.app.project import OpenProject
from wonder.app.results import NoEngineHere, RequestRefused, Run, RunResult, Triggered
from wonder.clock import SYSTEM_CLOCK
from wonder.coordinator.errors import EngineStopped
from wonder.coordinator.orders import (
    EVENT_TTL_SECONDS,
    AnswerItem,
    AnyOrder,
    CancelRun,
    ClaimItem,
    DelegateItem,
    FireSchedule,
    ForkRun,
    IndexVectors,
    PauseRun,
    ReleaseItem,
    ResumeRun,
    RetryRun,
    RetryVersion,
    SendEvent,
    StartRun,
    payload_of,
)
from wonder.definitions.references import split_version
from wonder.language.values import JsonValue
from wonder.storage.errors import LeaseLost
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.own_runs import load_own_run
from wonder.storage.runs.requests import put_request, wait_for_answer
from wonder.storage.runs.triggering import firings_of_run, runs_triggered_by, trigger_status

# A process that only reads imports none of these.
if TYPE_CHECKING:
    from wonder.actions.functions.functions import FunctionRegistry
    from wonder.app.engine import Engine
    from wonder.app.engine_claim import EngineClaim
    from wonder.definitions.faults import Fault
    from wonder.definitions.loading import Loaded
    from wonder.definitions.records.resources import VectorIndex
    from wonder.definitions.records.workflows import Startable, Workflow
    from wonder.engine.decisions import EndRun
    from wonder.observe.watching import Progress
    from wonder.storage.deploying import Deployed
    from wonder.storage.store import Entry

_REQUEST_SECONDS = 30.0
_LOOK_SECONDS = 0.05


class Application(OpenProject):
    """An open database, with its engine in this process, in another, or not asked for."""

    claim: "EngineClaim | None" = None
    """This process's claim to run the engine; None where it only reads."""

    @property
    def engine(self) -> "Engine | None":
        """The engine, while it runs in this process; it may begin later, when the process that runs it now ends."""
        return self.claim.engine if self.claim else None

    @property
    def functions(self) -> "FunctionRegistry | None":
        """The functions that `python` actions may call in this process; None where it runs nothing."""
        return self.claim.functions if self.claim else None

    async def deploy(
        self, definition: str | Path | Mapping[str, Any], *, allow_mcp: Collection[str] = ()
    ) -> "Workflow":
        """Check and store a definition, a file or a value; give its workflow. Raises DefinitionRefused or NotFound.

        `allow_mcp` names MCP servers of the definition that may be used from now on, as `allow_mcp_server` does. A
        workflow in the phase form is checked with the schemas of its tools; where these are not known, the server must
        be asked, which starts its command. Tools of servers that are not allowed are not checked.
        """
        loaded = await read_definition(definition)
        deployed, _ = await self.deploy_loaded(loaded, allow_mcp=allow_mcp)
        return main_workflow(deployed, definition)

    async def deploy_loaded(
        self, loaded: "Loaded", *, allow_mcp: Collection[str] = (), functions: "FunctionRegistry | None" = None
    ) -> "tuple[Deployed, list[Fault]]":
        """Check and store a definition that was read; MCP servers that are started for it go on for its runs.

        The functions that it calls are looked for in `functions`, or where this process finds those that it calls.
        """
        functions = functions or self.functions
        if self.claim is None:
            return await store_definition(self, loaded, allow_mcp=allow_mcp, functions=functions)
        if allow_mcp and not self.local:
            from wonder.app.mcp_approvals import approve_named, put_on_list  # takes time to load, and is used seldom

            await approve_named(self, allow_mcp, loaded)
            await put_on_list(self, allow_mcp)
            self._forget_settings()
        kind = self.engine.mcp_tools if self.engine and loaded.phases else None
        return await store_definition(self, loaded, allow_mcp=allow_mcp, kind=kind, for_runs=True, functions=functions)

    async def allow_mcp_server(self, name: str) -> None:
        """Let runs of this and other processes use an MCP server as it is stored now; raises NotFound.

        Its command is approved for this process's working directory, and its name put on `allowed_mcp_servers` of the
        workspace; a list that there was none of allows this server alone.
        """
        from wonder.app.mcp_approvals import allow_stored  # when needed, as above

        await allow_stored(self, name, long_running=True)
        self._forget_settings()

    def _forget_settings(self) -> None:
        if self.engine:
            self.engine.resources.forget_settings()

    async def startable(self, name: str) -> "Startable":
        """Find what a start can name: a workflow of the project by its name or id, or `library/name`.

        Raises NotFound.
        """
        if "/" not in name:
            return await self.workflow(name)
        # It loads pydantic, which reading commands do without.
        from wonder.coordinator.targets import find_library_workflow

        return await find_library_workflow(self.store, self.home.project_id, name)

    async def find_startable(self, name: str) -> "Startable | None":
        """Find what a start can name; None if there is no such thing."""
        try:
            return await self.startable(name)
        except NotFound:
            return None

    async def workflow(self, name: str) -> "Workflow":
        """Find a live workflow of the project by its name or id; raises NotFound."""
        # As above.
        from wonder.definitions.records.workflows import Workflow
        from wonder.storage.own_resources import find_live_resource

        workflow = await find_live_resource(self.store, Workflow, self.home.project_id, name)
        if workflow is None:
            raise NotFound("workflow", name)
        return workflow

    async def start(
        self,
        workflow: "Startable | str",
        input: JsonValue = None,
        *,
        idempotency_key: str | None = None,
        version: int | None = None,
    ) -> Run:
        """Start a run of a workflow, of `name@version` or of `library/name@version`; durable when this returns.

        A `version` is run whatever is pinned; without one it is the pinned or the newest (RES-3).
        Raises NotFound, WorkflowDisabled, InputRefused, KeyNeedsWorkflow or IdempotencyKeyReused.
        """
        return await self.start_noted(workflow, input, idempotency_key, version, None)

    async def start_noted(
        self,
        workflow: "Startable | str",
        input: JsonValue,
        idempotency_key: str | None,
        version: int | None,
        note: "Callable[[str], Entry] | None",
    ) -> Run:
        """Start a run, with a note of who did: a row for the same commit, made with the id of the run."""
        if isinstance(workflow, str):
            name, named = split_version(workflow)
            workflow, version = await self.startable(name), named if version is None else version
        if workflow.project_id != self.home.project_id:
            raise NotFound("workflow", workflow.id or workflow.name)
        given = {} if input is None else input
        if engine := self.engine:
            # With the workflow at hand, which an order would have to load again.
            with suppress(EngineStopped, LeaseLost):
                accepted = await engine.collaborators.starter.start(
                    workflow,
                    given,
                    version=version,
                    idempotency_key=idempotency_key,
                    also=None if note is None else lambda batch, run_id: batch.write(note(run_id)),
                )
                if (
                    not accepted.is_new
                    and engine.coordinator.tasks.mine is not None
                    and engine.collaborators.starter.takes_on
                ):
                    await engine.collaborators.recovery.resume(accepted.run_id)
                return Run(accepted.run_id, self._wait)
        sources = self.claim.function_sources if self.claim else None
        is_library = workflow.id is None
        order = StartRun(
            workflow_id=workflow.id,
            workflow_def_id=workflow.workflow_def_id if is_library else None,
            name=workflow.name if is_library else None,
            version=version,
            input=given,
            idempotency_key=idempotency_key,
            function_sources=sources,
        )
        run = self._started(await self._request(order))
        if note is not None:
            await self.store.commit([note(run.id)])
        return run

    async def retry(self, run_id: str, *, version: RetryVersion = None) -> Run:
        """Begin a failed run again, as a new one, just before its failure; raises NotFound or ForkRefused (CTL-19).

        It goes on with `version` of its workflow, a number or "latest", if all that is live has a place there.
        """
        return self._started(await self.order(RetryRun(run_id=run_id, version=version)))

    async def fork(self, run_id: str, after: int, state: JsonValue = None) -> Run:
        """Begin a new run as another was after an event, with another state if one is given (CTL-19)."""
        return self._started(await self.order(ForkRun(run_id=run_id, after=after, state=state)))

    async def fire_schedule(self, name: str) -> Run:
        """Start a run of a schedule now, paused or not; raises NotFound, or as a start does."""
        from wonder.storage.schedules import find_schedule  # most processes use no schedule

        schedule = (await find_schedule(self.store, self.home.project_id, name)).schedule
        return self._started(await self.order(FireSchedule(schedule_id=schedule.id)))

    async def index_vectors(self, index: "VectorIndex") -> bool:
        """Embed what is missing in a vector index; give whether it is done, which another process may have only begun.

        Raises ActionFailed where it can't be done, and NoVectors.
        """
        if (engine := self.engine) and engine.indexing:
            await engine.indexing.fill(index)
            return True
        await self.order(IndexVectors(index_id=index.id))
        return False

    async def cancel(self, run_id: str, reason: str | None = None) -> None:
        """End a run; raises NotFound or RunNotLive."""
        await self.order(CancelRun(run_id=run_id, reason=reason))

    async def pause(self, run_id: str) -> None:
        """Let a run dispatch nothing more; raises NotFound or RunNotLive."""
        await self.order(PauseRun(run_id=run_id))

    async def resume(self, run_id: str) -> None:
        """Let a paused run go on; raises NotFound or RunNotLive."""
        await self.order(ResumeRun(run_id=run_id))

    async def answer(self, item_id: str, value: JsonValue, *, by: str | None = None) -> None:
        """Answer an inbox item; raises NotFound, ItemClosed or InputRefused, and nothing is changed then.

        `by` says who answers; a question with a quorum or with `answerable_by.names` needs it. Raises MayNotAnswer,
        ItemClaimed or AnsweredOtherwise where that person may not.
        """
        await self.order(AnswerItem(item_id=item_id, answer=value, by=by))

    async def claim_question(self, item_id: str, *, by: str) -> None:
        """Let nobody else answer an inbox item; raises NotFound, ItemClosed, MayNotAnswer or ItemClaimed."""
        await self.order(ClaimItem(item_id=item_id, by=by))

    async def release_question(self, item_id: str, *, by: str | None = None) -> None:
        """Let others answer an inbox item again; raises NotFound or ItemClosed."""
        await self.order(ReleaseItem(item_id=item_id, by=by))

    async def delegate_question(self, item_id: str, to: str, *, by: str | None = None) -> None:
        """Hand an inbox item, or the place of `by` among its approvers, to another person.

        Raises NotFound, ItemClosed, MayNotAnswer, ItemClaimed or NotPossible.
        """
        await self.order(DelegateItem(item_id=item_id, to=to, by=by))

    async def send_event(
        self,
        event: str,
        key: str | None = None,
        payload: JsonValue = None,
        *,
        id: str | None = None,
        ttl_seconds: int = EVENT_TTL_SECONDS,
    ) -> None:
        """Wake what waits for an event, or keep it so long for the first that comes; an `id` makes it count once."""
        await self.order(
            SendEvent(
                event=event,
                key=key,
                payload=payload,
                sender_id=id,
                ttl_seconds=ttl_seconds,
            )
        )

    async def order(self, order: AnyOrder) -> JsonValue:
        """Have the engine carry out an order, in this process, or in the one that runs it; durable when this returns.

        Raises RequestRefused with the other process's error, or RequestUnanswered.
        """
        if engine := self.engine:
            # When it lost its lease it has written nothing, so the one that has it now can do it instead.
            with suppress(EngineStopped, LeaseLost):
                return await engine.collaborators.orders.carry_out(order, self.home.project_id)
        return await self._request(order)

    def _started(self, result: Any) -> Run:
        return Run(result["run_id"], self._wait)

    async def _request(self, order: AnyOrder) -> JsonValue:
        """Hand an order to the process that runs the engine, and wait for its answer."""
        if self.claim is None:
            raise NoEngineHere(order.kind)
        request_id, now_ms = self.new_id(), SYSTEM_CLOCK.now_ms()
        await put_request(self.store, request_id, order.kind, payload_of(order, self.home.project_id), now_ms)
        answer = await wait_for_answer(self.store, request_id, seconds=_REQUEST_SECONDS, sleep=asyncio.sleep)
        if answer.error is not None:
            error: Any = answer.error
            raise RequestRefused(error["code"], error["message"])
        if order.starts:
            result: Any = answer.result
            await self.claim.note(result["run_id"])
        return answer.result

    async def triggers(self, run_id: str) -> Triggered:
        """Say what a run's triggers have done, and which runs they have started; raises NotFound (PHS-6)."""
        await load_own_run(self.store, self.home.project_id, run_id)
        firings = await firings_of_run(self.store, run_id)
        run_ids = [id async for id in runs_triggered_by(self.store, run_id)] if firings else []
        return Triggered(trigger_status(firings), run_ids, firings)

    async def wait(self, run_id: str) -> RunResult:
        """Wait until a run has ended; raises NotFound."""
        await load_own_run(self.store, self.home.project_id, run_id)
        return await self._wait(run_id)

    async def _wait(self, run_id: str) -> RunResult:
        while True:
            # Asked for before looking, so that an end in between is not missed.
            engine = self.engine
            end = engine.coordinator.ends.of(run_id) if engine else None
            try:
                if engine is None or not engine.coordinator.will_tell_end(run_id):
                    header = await load_header(self.store, run_id)
                    if header.has_ended:
                        if self.claim:
                            self.claim.forget(run_id)
                        return _result(header)
                if end is None:
                    await asyncio.sleep(_LOOK_SECONDS)
                else:
                    with suppress(EngineStopped):
                        ended = await end
                        if ended is not None:
                            return _result_of(run_id, ended)
            finally:
                if end is not None and engine is not None:
                    engine.coordinator.ends.forget(run_id, end)

    async def watch(self, run_id: str) -> "AsyncIterator[Progress]":
        """Give what a run's actions report while they run, from now until it has ended; raises NotFound.

        None of it is stored, and a slow reader misses the oldest. While the engine is in another process, nothing is
        heard of it here.
        """
        await load_own_run(self.store, self.home.project_id, run_id)
        engine = self.engine
        ended = asyncio.create_task(self._wait(run_id))
        try:
            if engine is not None:
                with engine.watchers.watch(run_id) as watcher:
                    ended.add_done_callback(lambda _: watcher.end())
                    async for message in watcher.messages():
                        yield message
            await ended
        finally:
            ended.cancel()


def _result(header: RunHeader) -> RunResult:
    status: Any = header.status
    return RunResult(header.id, status, header.output, header.error.as_json() if header.error else None)


def _result_of(run_id: str, end: "EndRun") -> RunResult:
    from wonder.actions.copied_values import copy_value  # loaded with the engine, which has made this end

    # A copy: what the caller does with it must not change what a parent run has got.
    return RunResult(run_id, end.status, copy_value(end.output), end.failure.as_json() if end.failure else None)
