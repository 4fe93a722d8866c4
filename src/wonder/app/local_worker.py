"""The worker inside this process: an executor, with the tasks that it runs compiled once."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import msgspec

from wonder.actions.errors import FunctionMissing
from wonder.actions.protocol import Origin
from wonder.actions.registry import ActionRegistry
from wonder.backoff import insist
from wonder.clock import SYSTEM_CLOCK
from wonder.coordinator.worker import Dispatch, TaskEnded
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.tasks import TaskDef
from wonder.engine.event_type import Event
from wonder.engine.events import ARTIFACT_WRITTEN, ArtifactWritten
from wonder.engine.facts import Metric, TaskCompleted, TaskFailed
from wonder.engine.failure import Failure
from wonder.errors import WonderError
from wonder.executor.compiled import CompiledTask, compile_task
from wonder.executor.executor import Executor, TaskUnderWay
from wonder.executor.results import StepRecord, TaskResult
from wonder.language.values import JsonValue
from wonder.storage.definitions import load_definition
from wonder.storage.errors import ConnectionLost, DatabaseBusy, DatabaseFailed
from wonder.storage.store import Reader

Key = tuple[str, int]

log = logging.getLogger("wonder.engine")


class LocalWorker:
    """Runs what the coordinator dispatches in this process."""

    def __init__(self, reader: Reader, executor: Executor, registry: ActionRegistry) -> None:
        self._reader, self._executor, self._registry = reader, executor, registry
        self._tasks: dict[Key, CompiledTask | Failure] = {}
        self._compiling: dict[Key, asyncio.Task[CompiledTask | Failure]] = {}
        self._background: set[asyncio.Task[None]] = set()

    def start(self, dispatch: Dispatch, on_done: Callable[[TaskEnded], None]) -> "LocalWork":
        """Take a task on."""
        work = LocalWork(dispatch, on_done)
        known = self._tasks.get((dispatch.task_id, dispatch.task_version))
        if known is None:
            self._spawn(self._compile_and_begin(work))
        else:
            self._spawn_or_begin(work, known)
        return work

    def _spawn_or_begin(self, work: "LocalWork", known: CompiledTask | Failure) -> None:
        if isinstance(known, Failure):
            self._spawn(work.fail_later(known))
        else:
            work.begin(self._executor, known)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def close(self) -> None:
        """Break off what has not begun."""
        under_way = [*self._background, *self._compiling.values()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _compile_and_begin(self, work: "LocalWork") -> None:
        key = (work.dispatch.task_id, work.dispatch.task_version)
        known = self._tasks.get(key)
        if known is None:
            # Once, however many branches come with it at the same time.
            if key not in self._compiling:
                self._compiling[key] = asyncio.get_running_loop().create_task(self._compile(key, work.where))
            known = await asyncio.shield(self._compiling[key])
        if isinstance(known, Failure):
            work.fail(known)
        else:
            work.begin(self._executor, known)

    async def _compile(self, key: Key, where: dict[str, str]) -> CompiledTask | Failure:
        made: CompiledTask | Failure
        try:
            made = await self._load_and_compile(key, where)
        except DatabaseFailed as error:
            # The next one may find it: what the database could not say now is no fault of the task.
            return Failure(error.code, str(error))
        except FunctionMissing as error:
            # The engine lets such a task wait, before any of its steps has run (TSK-8).
            log.warning("a task waits for a function: %s", error, extra=where)
            made = Failure(error.code, str(error), details={"function": error.function, "missing_here": True})
        except WonderError as error:
            made = Failure(error.code, str(error))
        except Exception as error:
            log.exception("the task %s@%d can't be compiled", *key, extra=where)
            made = Failure("TASK_BROKEN", f"the task can't be run: {type(error).__name__}: {error}; please report this")
        finally:
            del self._compiling[key]
        self._tasks[key] = made
        return made

    async def _load_and_compile(self, key: Key, where: dict[str, str]) -> CompiledTask:
        async def attempt() -> CompiledTask:
            task = await load_definition(self._reader, TaskDef, *key)
            actions = {}
            for step in task.steps:
                of = (step.action_id, step.action_version)
                actions[of] = await load_definition(self._reader, ActionDef, *of)
            return compile_task(task, actions, self._registry)

        def report(error: WonderError, pause_ms: float) -> None:
            message = "the task %s@%d can't be loaded yet: %s; trying again in %d ms"
            log.warning(message, *key, error, pause_ms, extra=where)

        # No reason to fail a run: the database will be back, or the engine stops.
        return await insist(attempt, passing=(ConnectionLost, DatabaseBusy), clock=SYSTEM_CLOCK, report=report)


class LocalWork:
    """A task that this process has."""

    __slots__ = ("_cancelled", "_on_done", "_under_way", "dispatch")

    def __init__(self, dispatch: Dispatch, on_done: Callable[[TaskEnded], None]) -> None:
        self.dispatch = dispatch
        self._on_done = on_done
        self._under_way: TaskUnderWay | None = None
        self._cancelled = False

    def begin(self, executor: Executor, task: CompiledTask) -> None:
        """Give it to the executor, unless it was cancelled while its task was compiled."""
        if self._cancelled:
            return
        self._under_way = executor.start(task, self.dispatch.input, self._origin, self._done)

    @property
    def where(self) -> dict[str, str]:
        """Whose it is, for log records about it."""
        of = self.dispatch
        return {"project_id": of.project_id, "run_id": of.run_id, "node": of.node_ref, "token_id": of.token_id}

    @property
    def _origin(self) -> Origin:
        dispatch = self.dispatch
        place = (dispatch.node_ref, dispatch.path_id, dispatch.token_id)
        return Origin(dispatch.project_id, dispatch.run_id, *place, dispatch.evaluation_steps, dispatch.records_output)

    def cancel(self) -> None:
        """Abort it."""
        self._cancelled = True
        if self._under_way:
            self._under_way.cancel()

    def fail(self, failure: Failure) -> None:
        """End it without having begun."""
        if not self._cancelled:
            self._on_done(TaskFailed(self.dispatch.token_id, failure))

    async def fail_later(self, failure: Failure) -> None:
        """End it without having begun, after the caller has gone on."""
        self.fail(failure)

    def _done(self, result: TaskResult) -> None:
        self._under_way = None
        if self._cancelled:
            return
        token_id, used = self.dispatch.token_id, result.usage
        tokens = used.input_tokens + used.output_tokens or None
        cost = used.cost_usd or None
        steps, noted = _steps(result.steps), result.noted
        metrics: tuple[Metric, ...] = ()
        attempts = result.attempts
        for record in result.steps:
            if record.artifacts or record.attempts > 1:
                noted = (*_artifacts(result.steps), *noted)
                attempts = max(attempts, _attempts_most(result.steps))
                break
        if result.metrics:
            metrics = tuple((one.name, one.value, one.dimensions) for one in result.metrics)
        if result.error is None:
            done = (result.output, result.started_at_ms, attempts, steps, tokens, cost, noted, metrics)
            self._on_done(TaskCompleted(token_id, *done, result.output_cut))
            return
        error = result.error
        details: JsonValue = error.details or None
        failure = Failure(error.code, error.message, attempts, error.retryable, details)
        self._on_done(TaskFailed(token_id, failure, result.started_at_ms, steps, tokens, cost, noted, metrics))


def _steps(records: Sequence[StepRecord]) -> JsonValue:
    """Give the records of the steps as JSON, as events keep them (TSK-6)."""
    shown: JsonValue = msgspec.to_builtins(list(records))
    return shown


def _attempts_most(records: Sequence[StepRecord]) -> int:
    """Count how often the step that was tried most often was tried, in all attempts of its task."""
    by_step = Counter[str]()
    for record in records:
        by_step[record.ref] += record.attempts
    return max(by_step.values())


def _artifacts(records: Sequence[StepRecord]) -> list[Event]:
    """Give what the steps have stored as events, each artifact once."""
    found: dict[str, Event] = {}
    for record in records:
        for one in record.artifacts or ():
            told: ArtifactWritten = {
                "step": record.ref,
                "artifact_id": one.artifact_id,
                "content_type": one.content_type,
                "size_bytes": one.size_bytes,
            }
            found[one.artifact_id] = ARTIFACT_WRITTEN(told)
    return list(found.values())
