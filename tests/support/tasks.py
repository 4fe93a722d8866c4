"""Tasks for tests of the executor: definitions from a few words, and an executor to run them with."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.embedding.searching import Searching
from wonder.actions.equipment import Equipment
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.protocol import ActionKind, Origin
from wonder.actions.registry import ActionRegistry
from wonder.actions.resources import Resources
from wonder.actions.threads import Threads
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.tasks import TaskDef
from wonder.executor.compiled import CompiledTask, compile_task
from wonder.executor.environment import Environment, SystemEnvironment
from wonder.executor.executor import Executor
from wonder.executor.idempotency import IdempotencyStore, MemoryIdempotency
from wonder.executor.results import TaskResult
from wonder.executor.services import Services
from wonder.storage.store import Row, Value

ORIGIN = Origin("project", "run-1", "node", "0.1")

_DEFINED = {
    "version": 1,
    "project_id": "project",
    "content_hash": "",
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
}


def action(name: str, kind: str = "python", implementation: Any = None, **fields: Any) -> ActionDef:
    """An action; a `python` one calls the function that is registered as `test:NAME`."""
    implementation = implementation if implementation is not None else {"function": f"test:{name}"}
    return ActionDef.model_validate(
        {**_DEFINED, "id": name, "name": name, "kind": kind, "implementation": implementation, **fields}
    )


def step(name: str, **fields: Any) -> dict[str, Any]:
    """A step that calls the action of the same name with the task's input and writes its output to the task's."""
    passed = {"input_mapping": "$.input", "output_mapping": {"output": "$"}}
    return {"id": name, "ref": name, "action_id": name, "action_version": 1, **passed, **fields}


def task(*steps: dict[str, Any], **fields: Any) -> TaskDef:
    """A task of steps in order."""
    ordered = [{"ordinal": ordinal, **fields_of} for ordinal, fields_of in enumerate(steps)]
    return TaskDef.model_validate({**_DEFINED, "id": "task", "name": "task", "steps": ordered, **fields})


class NothingStored:
    """A database without anything in it."""

    async def fetch(self, name: str, *parameters: Value) -> list[Row]:
        """Find nothing."""
        return []

    async def fetch_named(self, name: str, *parameters: Value) -> list[dict[str, Value]]:
        """Find nothing."""
        return []

    async def query(self, sql: str, *parameters: Value) -> list[Row]:
        """Find nothing."""
        return []


class Bench:
    """An executor with functions of a test's own."""

    def __init__(
        self,
        *,
        environment: Environment | None = None,
        grace_ms: float = 50,
        tasks_max: int = 100,
        threads: Threads | None = None,
        kinds: tuple[ActionKind, ...] = (),
        idempotency: IdempotencyStore | None = None,
        resources: Resources | None = None,
        artifacts: Artifacts | None = None,
        searching: Searching | None = None,
        **services: Any,
    ) -> None:
        self.environment = environment or SystemEnvironment(seed=1)
        self.functions = FunctionRegistry()
        self.threads = threads or Threads(threads_max=4)
        environment = self.environment
        self.resources = resources or Resources(NothingStored(), environment.now_ms)
        self.equipment = Equipment(
            self.functions,
            self.threads,
            self.resources,
            environment.now_ms,
            environment.sleep,
            environment.random,
            artifacts=artifacts,
            searching=searching,
        )
        self.registry = ActionRegistry(kinds, equipment=self.equipment)
        idempotency = idempotency or MemoryIdempotency(self.environment.now_ms)
        self.services = Services(self.environment, idempotency, grace_ms, **services)
        self.executor = Executor(self.services, tasks_max)

    def compiled(self, task_def: TaskDef, *actions: ActionDef, **functions: Callable[..., Any]) -> CompiledTask:
        """Compile a task; its actions that are not given call the function of the same name."""
        for name, function in functions.items():
            self.functions.register(f"test:{name}", function)
        known = {(given.id, given.version): given for given in actions}
        for used in task_def.steps:
            known.setdefault((used.action_id, 1), action(used.action_id))
        return compile_task(task_def, known, self.registry)

    async def run(
        self, task_def: TaskDef, input: Any = None, *actions: ActionDef, **functions: Callable[..., Any]
    ) -> TaskResult:
        """Compile and run a task once; what takes longer than a minute hangs."""
        compiled = self.compiled(task_def, *actions, **functions)
        async with asyncio.timeout(60):
            return await self.executor.run(compiled, {} if input is None else input, ORIGIN)


@asynccontextmanager
async def bench(**settings: Any) -> AsyncIterator[Bench]:
    """An executor that is closed in the end."""
    made = Bench(**settings)
    yield made
    await made.executor.close()
    made.threads.close()


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds; what takes longer than a minute never comes."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  # what is waited for is not made to tell
            await asyncio.sleep(0.002)


class ManualEnvironment:
    """A clock that moves only when something sleeps, and then at once; `slept` has what was slept."""

    def __init__(self, chance: float = 0.0) -> None:
        self.chance = chance
        self.slept: list[float] = []
        self._now = 1_000_000.0
        self._timers: list[ManualTimer] = []

    def now_ms(self) -> int:
        """The time, in milliseconds."""
        return int(self._now)

    def monotonic_ms(self) -> float:
        """The time, to measure with."""
        return self._now

    async def sleep(self, milliseconds: float) -> None:
        """Move the clock on, and let all be called that comes due."""
        self.slept.append(milliseconds)
        until = self._now + milliseconds
        while due := [timer for timer in self._timers if timer.due_ms <= until and not timer.is_cancelled]:
            timer = min(due, key=lambda timer: timer.due_ms)
            self._timers.remove(timer)
            self._now = timer.due_ms
            timer.call()
            await asyncio.sleep(0)
        self._now = until
        await asyncio.sleep(0)

    def after(self, milliseconds: float, call: Callable[[], None]) -> "ManualTimer":
        """Have something called when the clock has moved on so far."""
        timer = ManualTimer(self._now + milliseconds, call)
        self._timers.append(timer)
        return timer

    def random(self) -> float:
        """The chance that the test has chosen."""
        return self.chance


class ManualTimer:
    """Something that will be called."""

    def __init__(self, due_ms: float, call: Callable[[], None]) -> None:
        self.due_ms, self.call = due_ms, call
        self.is_cancelled = False

    def cancel(self) -> None:
        """Let it not be called."""
        self.is_cancelled = True
