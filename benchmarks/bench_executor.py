"""How much running a task costs besides what its functions do."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from wonder.actions.copied_values import take_value
from wonder.actions.equipment import Equipment
from wonder.actions.functions.functions import FunctionRegistry
from wonder.actions.functions.marked import function
from wonder.actions.protocol import Origin
from wonder.actions.registry import ActionRegistry
from wonder.actions.resources import Resources
from wonder.actions.threads import Threads
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.tasks import TaskDef
from wonder.executor.assignment import Assignment
from wonder.executor.compiled import CompiledTask, compile_task
from wonder.executor.environment import SystemEnvironment
from wonder.executor.executor import Executor
from wonder.executor.idempotency import MemoryIdempotency
from wonder.executor.running import TaskExecution
from wonder.executor.services import Services
from wonder.storage.store import Reader

INPUT = {"name": "Ada", "count": 3}
ORIGIN = Origin("project", "run", "node")
SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
}
_DEFINED = {"version": 1, "project_id": "project", "content_hash": "", "created_at": "", "updated_at": ""}


async def return_input(**given: Any) -> dict[str, Any]:
    """Return the input."""
    return given


def return_input_in_thread(**given: Any) -> dict[str, Any]:
    """Return the input."""
    return given


@function(quick=True)
def return_input_quickly(**given: Any) -> dict[str, Any]:
    """Return the input."""
    return given


def compiled(
    function: str, registry: ActionRegistry, *, schemas: bool = True, timeout_ms: int | None = None
) -> CompiledTask:
    """A task of one step that calls a function with the input and returns what it returns."""
    schema = SCHEMA if schemas else {}
    action = ActionDef.model_validate(
        {**_DEFINED, "id": "a", "name": "a", "kind": "python", "implementation": {"function": function}}
        | {"requires": schema, "produces": schema, "execution": {"timeout_ms": timeout_ms}}
    )
    step = {"id": "s", "ref": "s", "ordinal": 0, "action_id": "a", "action_version": 1}
    mappings = {"input_mapping": {"name": "$.input.name", "count": "$.input.count"}, "output_mapping": {"output": "$"}}
    task = TaskDef.model_validate(
        {**_DEFINED, "id": "t", "name": "t", "steps": [step | mappings], "timeout_ms": timeout_ms}
        | {"input_schema": schema, "output_schema": schema}
    )
    return compile_task(task, {("a", 1): action}, registry)


def measure() -> list[tuple[str, float]]:
    """Return what was measured, as labels and microseconds of CPU, the best of some rounds."""
    return asyncio.run(_measure())


async def _measure() -> list[tuple[str, float]]:
    functions, threads = FunctionRegistry(), Threads()
    for call in (return_input, return_input_in_thread, return_input_quickly):
        functions.register(f"bench:{call.__name__}", call)
    environment = SystemEnvironment(seed=1)
    resources = Resources(cast("Reader", None), environment.now_ms)  # nothing is looked up
    equipment = Equipment(functions, threads, resources, environment.now_ms, environment.sleep, environment.random)
    registry = ActionRegistry(equipment=equipment)
    services = Services(environment, MemoryIdempotency(environment.now_ms))
    executor = Executor(services, tasks_max=10_000)
    measured = []
    for label, name in [
        ("async function", "return_input"),
        ("quick function", "return_input_quickly"),
        ("function in a thread", "return_input_in_thread"),
    ]:
        task = compiled(f"bench:{name}", registry)
        measured.append((f"{label}: the story of a task alone", await _each(lambda task=task: _story(task, services))))
        measured.append(
            (f"{label}: one task after the other", await _each(lambda task=task: executor.run(task, INPUT, ORIGIN)))
        )
        measured.append((f"{label}: 1,000 tasks at once, each", await _at_once(executor, task)))
    bare = compiled("bench:return_input", registry, schemas=False)
    measured.append(("async function: the story without schemas", await _each(lambda: _story(bare, services))))
    limited = compiled("bench:return_input", registry, timeout_ms=60_000)
    measured.append(("async function: the story with two time limits", await _each(lambda: _story(limited, services))))
    measured.append(("taking a value of 1 KB", _take_one_kilobyte()))
    threads.close()
    return measured


async def _story(task: CompiledTask, services: Services) -> None:
    worker = asyncio.current_task()
    assert worker
    result = await TaskExecution(task, INPUT).run(Assignment(services, ORIGIN, lambda failure: None, worker))
    assert result.status == "completed"


async def _each(work: Callable[[], Awaitable[object]], times: int = 2_000) -> float:
    rounds = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(times):
            await work()
        rounds.append((time.process_time() - start) / times * 1e6)
    return min(rounds)


async def _at_once(executor: Executor, task: CompiledTask, times: int = 1_000) -> float:
    rounds = []
    for _ in range(5):
        done = asyncio.Event()
        left = times

        def on_done(result: object, done: asyncio.Event = done) -> None:
            nonlocal left
            left -= 1
            if not left:
                done.set()

        start = time.process_time()
        for _ in range(times):
            executor.start(task, INPUT, ORIGIN, on_done)
        await done.wait()
        rounds.append((time.process_time() - start) / times * 1e6)
    return min(rounds)


def _take_one_kilobyte() -> float:
    value = {"rows": [{"sku": f"item-{number}", "price": 1.5, "count": number} for number in range(20)]}
    start = time.process_time()
    for _ in range(1_000):
        take_value(value)
    return (time.process_time() - start) * 1e3


if __name__ == "__main__":
    for label, microseconds in measure():
        print(f"{label:55} {microseconds:8.1f} µs")
