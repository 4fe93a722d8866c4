"""Wonder for Python: open a database, deploy, start, wait, answer (SPEC 13).

One process at a time runs the engine of a database. Whoever opens it first does; others read, and hand what they want
started or changed to that one.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wonder.actions.taking import copy_value
from wonder.app import App
from wonder.app.engine import Engine
from wonder.app.ids import new_ulid
from wonder.app.seat import Seat
from wonder.coordinator.errors import EngineStopped
from wonder.coordinator.outside import EVENT_TTL_SECONDS
from wonder.definitions.records.workflows import Workflow
from wonder.engine.decisions import EndRun
from wonder.engine.failure import Failure
from wonder.errors import WonderError
from wonder.language.values import JsonValue, check_value
from wonder.observe.watching import Progress
from wonder.storage.errors import LeaseLost
from wonder.storage.named_resources import find_resource, load_resource
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.requests import put_request, wait_for_answer
from wonder.storage.runs.triggering import (
    StoredFiring,
    TriggerStatus,
    firings_of_run,
    runs_triggered_by,
    trigger_status,
)

if TYPE_CHECKING:
    from wonder.definitions.faults import Fault
    from wonder.definitions.loading import Loaded
    from wonder.storage.deploying import Deployed

_REQUEST_SECONDS = 30.0
_LOOK_SECONDS = 0.05
_STARTS = ("start", "retry", "fork", "fire_schedule")

Payload = dict[str, JsonValue]


class RequestRefused(WonderError):
    """The process that runs the engine refused a request; `reason_code` is its error's code."""

    code = "REQUEST_REFUSED"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.reason_code = code


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    run_id: str
    status: Literal["completed", "failed", "cancelled"]
    output: JsonValue
    error: dict[str, JsonValue] | None


@dataclass(frozen=True)
class Triggered:
    """What the triggers of a run do: `pending`, `triggered` or `failed`; None if it has none, or has not completed."""

    status: TriggerStatus | None
    run_ids: list[str]
    triggers: list[StoredFiring]


@dataclass(frozen=True)
class Run:
    """A run that was started."""

    id: str
    _wonder: "Wonder"

    async def wait(self) -> RunResult:
        """Wait until the run has ended."""
        return await self._wonder.wait(self.id)


class Wonder:
    """An open database, with its engine in this process or in another."""

    def __init__(self, app: App, seat: Seat) -> None:
        self.app, self._seat = app, seat

    @property
    def engine(self) -> Engine | None:
        """The engine, while it runs in this process; it may begin later, when the process that runs it now ends."""
        return self._seat.engine

    async def deploy(self, definition: str | Path | Mapping[str, Any], *, start_servers: bool = False) -> Workflow:
        """Check and store a definition, a file or a value; give its workflow. Raises DefinitionRefused.

        A workflow in the phase form is checked with the schemas of its tools. To ask MCP servers for them that are new
        with the definition, their commands have to be run, which is not done without `start_servers`.
        """
        # Imported here, because they take 20 ms to load and a process that only runs does without them.
        from wonder.actions.announcing import announce_kinds
        from wonder.definitions.loading import load_text, load_value
        from wonder.storage.zones import announce_zones

        announce_kinds()
        announce_zones()
        if isinstance(definition, Mapping):
            loaded = load_value(check_value(dict(definition)))
        else:
            path = Path(definition)
            loaded = load_text(await asyncio.to_thread(path.read_bytes), str(definition))
        deployed, _ = await self.deploy_loaded(loaded, start_servers=start_servers)
        name = deployed.main.name if deployed.main else next((one.name for one in deployed.workflows), None)
        if name is None:
            raise NotFound("workflow", str(definition))
        return await self.workflow(name)

    async def deploy_loaded(self, loaded: "Loaded", *, start_servers: bool = False) -> "tuple[Deployed, list[Fault]]":
        """Check and store a definition that was read; MCP servers that are started for it go on for its runs."""
        kind = self.engine.mcp_tools if self.engine and loaded.phases else None
        return await self.app.deploy(loaded, start_servers=start_servers, kind=kind)

    async def workflow(self, name: str) -> Workflow:
        """Find a workflow by its name or id; raises NotFound."""
        found = await find_resource(self.app.store, Workflow, self.app.home.project_id, name)
        return found or await load_resource(self.app.store, Workflow, name)

    async def start(
        self, workflow: Workflow | str, input: JsonValue = None, *, idempotency_key: str | None = None
    ) -> Run:
        """Start a run; durable when this returns. Raises WorkflowDisabled, InputRefused or IdempotencyKeyReused."""
        if isinstance(workflow, str):
            workflow = await self.workflow(workflow)
        given = {} if input is None else input
        found = workflow

        async def start(engine: Engine) -> JsonValue:
            accepted = await engine.starter.start(found, given, idempotency_key=idempotency_key)
            if not accepted.is_new and engine.coordinator.mine is not None and engine.starter.takes_on:
                await engine.recovery.resume(accepted.run_id)
            return {"run_id": accepted.run_id}

        payload: Payload = {"workflow_id": workflow.id, "input": given, "idempotency_key": idempotency_key}
        if (roots := self._seat.import_roots) is not None:
            payload["import_roots"] = list(roots)
        return self._started(await self._do(start, "start", payload))

    async def triggers(self, run_id: str) -> Triggered:
        """Say what a run's triggers have done, and which runs they have started; raises NotFound (PHS-6)."""
        store = self.app.store
        firings = await firings_of_run(store, run_id)
        if not firings:
            await load_header(store, run_id)
        run_ids = [id async for id in runs_triggered_by(store, run_id)] if firings else []
        return Triggered(trigger_status(firings), run_ids, firings)

    async def wait(self, run_id: str) -> RunResult:
        """Wait until a run has ended; raises NotFound."""
        while True:
            # Asked for before looking, so that an end in between is not missed.
            engine = self.engine
            end = engine.coordinator.ends.of(run_id) if engine else None
            try:
                if engine is None or not engine.coordinator.will_tell_end(run_id):
                    header = await load_header(self.app.store, run_id)
                    if header.has_ended:
                        self._seat.forget(run_id)
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

    async def watch(self, run_id: str) -> AsyncIterator[Progress]:
        """Give what a run's actions tell while they run, from now until it has ended; raises NotFound.

        None of it is stored, and who is slow to look misses the oldest. While the engine is in another process, nothing
        is heard of it here.
        """
        engine = self.engine
        ended = asyncio.create_task(self.wait(run_id))
        try:
            if engine is not None:
                with engine.watchers.watch(run_id) as watcher:
                    ended.add_done_callback(lambda _: watcher.end())
                    async for message in watcher.messages():
                        yield message
            await ended
        finally:
            ended.cancel()

    async def retry(self, run_id: str) -> Run:
        """Begin a failed run again, as a new one, just before its failure; raises NotFound or ForkRefused (CTL-19)."""

        async def retry(engine: Engine) -> JsonValue:
            return {"run_id": await engine.forker.retry(run_id)}

        return self._started(await self._do(retry, "retry", {"run_id": run_id}))

    async def fork(self, run_id: str, after: int, state: JsonValue = None) -> Run:
        """Begin a new run as another was after an event, with another state if one is given (CTL-19)."""

        async def fork(engine: Engine) -> JsonValue:
            return {"run_id": await engine.forker.fork(run_id, after, state)}

        return self._started(await self._do(fork, "fork", {"run_id": run_id, "after": after, "state": state}))

    async def fire_schedule(self, name: str) -> Run:
        """Start a run of a schedule now, paused or not; raises NotFound, or as a start does."""
        # Imported here, because most processes have to do with no schedule.
        from wonder.storage.schedules import find_schedule

        schedule_id = (await find_schedule(self.app.store, self.app.home.project_id, name)).schedule.id

        async def fire(engine: Engine) -> JsonValue:
            return {"run_id": await engine.scheduler.fire(schedule_id)}

        return self._started(await self._do(fire, "fire_schedule", {"schedule_id": schedule_id}))

    async def cancel(self, run_id: str, reason: str | None = None) -> None:
        """End a run; raises RunNotLive."""
        payload: Payload = {"run_id": run_id, "reason": reason}
        await self._do(lambda engine: engine.outside.cancel(run_id, reason), "cancel", payload)

    async def pause(self, run_id: str) -> None:
        """Let a run dispatch nothing more; raises RunNotLive."""
        await self._do(lambda engine: engine.outside.pause(run_id), "pause", {"run_id": run_id})

    async def resume(self, run_id: str) -> None:
        """Let a paused run go on; raises RunNotLive."""
        await self._do(lambda engine: engine.outside.resume(run_id), "resume", {"run_id": run_id})

    async def answer(self, item_id: str, value: JsonValue, *, by: str | None = None) -> None:
        """Answer an inbox item; raises ItemClosed or InputRefused."""
        payload: Payload = {"item_id": item_id, "answer": value, "by": by}
        await self._do(lambda engine: engine.outside.answer(item_id, value, by), "answer", payload)

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
        project_id = self.app.home.project_id
        asked: Payload = {"project_id": project_id, "event": event, "key": key, "payload": payload}
        asked |= {"sender_id": id, "ttl_seconds": ttl_seconds}

        async def send(engine: Engine) -> None:
            outside = engine.outside
            await outside.send_event(project_id, event, key, payload, sender_id=id, ttl_seconds=ttl_seconds)

        await self._do(send, "event", asked)

    def _started(self, answer: Any) -> Run:
        return Run(answer["run_id"], self)

    async def _do(self, order: Callable[[Engine], Awaitable[JsonValue]], kind: str, payload: Payload) -> JsonValue:
        """Have the engine do something, in this process, or in the one that runs it."""
        if engine := self.engine:
            # When it lost its lease it has written nothing, so the one that has it now can do it instead.
            with suppress(EngineStopped, LeaseLost):
                return await order(engine)
        answer: Any = await self._request(kind, payload)
        if kind in _STARTS:
            await self._seat.note(answer["run_id"])
        return answer  # type: ignore[no-any-return]  # JSON

    async def _request(self, kind: str, payload: dict[str, JsonValue]) -> JsonValue:
        """Hand something to the process that runs the engine, and wait for its answer."""
        request_id = new_ulid()
        now_ms = time.time_ns() // 1_000_000
        await put_request(self.app.store, request_id, kind, payload, now_ms)
        answer = await wait_for_answer(self.app.store, request_id, seconds=_REQUEST_SECONDS, sleep=asyncio.sleep)
        if answer.error is not None:
            error: Any = answer.error
            raise RequestRefused(error["code"], error["message"])
        return answer.result


def _result(header: RunHeader) -> RunResult:
    error: Failure | None = header.error
    status: Any = header.status
    return RunResult(header.id, status, header.output, error.as_json() if error else None)


def _result_of(run_id: str, end: EndRun) -> RunResult:
    # A copy: what the caller does with it must not change what a parent run has got.
    return RunResult(run_id, end.status, copy_value(end.output), end.failure.as_json() if end.failure else None)
