"""Acting once per key (RET-4)."""

import asyncio
from typing import Any

import pytest

from support.tasks import ORIGIN, ManualEnvironment, action, bench, step, task
from wonder.actions.protocol import Origin
from wonder.actions.python.kind import current_context
from wonder.definitions.records.actions import Execution, RetryPolicy


def charge_once(**idempotency: Any) -> Any:
    """An action with a key."""
    return action("charge", idempotency={"key_template": "order-{{input.order}}", **idempotency})


async def test_ret_4_a_second_execution_with_the_same_key_returns_the_first_result() -> None:
    """RET-4: and does not act again; the action knows its key."""
    charged: list[Any] = []

    async def charge(order: int) -> int:
        charged.append(current_context().idempotency_key)
        return len(charged)

    async with bench() as it:
        outputs = [
            (await it.run(task(step("charge")), {"order": order}, charge_once(), charge=charge)).output
            for order in (7, 7, 8, 7)
        ]
    assert outputs == [1, 1, 2, 1]
    assert charged == ["order-7", "order-8"]


async def test_ret_4_a_key_reads_the_fields_of_the_input_by_their_names() -> None:
    """RET-4, ACT-9: but `input`, `run_id`, `node` and `branch` mean what they mean everywhere."""
    keys: list[Any] = []

    async def charge(**given: Any) -> None:
        keys.append(current_context().idempotency_key)

    act = charge_once(key_template="{{order}}{{#if note}}-{{note}}{{/if}} {{run_id}} {{input.node}} {{node}}")
    async with bench() as it:
        await it.run(task(step("charge")), {"order": 7, "node": "mine", "run_id": "mine"}, act, charge=charge)
    assert keys == ["7 run-1 mine node"]


@pytest.mark.parametrize(
    ("template", "input", "told"),
    [
        ("order-{{ordr}}", {"order": 7}, "{{ordr}} of its idempotency key 'order-{{ordr}}' is not there"),
        ("order-{{input.order.id}}", {"order": 7}, "{{input.order.id}} of"),
        ("order-{{order}}", {"order": None}, "is null"),
        ("order-{{input}}", {"order": 7}, "is an object"),
    ],
)
async def test_ret_4_a_key_of_which_a_variable_is_missing_fails_the_action(
    template: str, input: Any, told: str
) -> None:
    """RET-4: it would be the key of other executions too; and another attempt would not fix it."""
    charged: list[Any] = []
    act = charge_once(key_template=template)
    act = act.model_copy(update={"execution": Execution(retry_policy=RetryPolicy(max_attempts=3))})
    async with bench() as it:
        result = await it.run(task(step("charge")), input, act, charge=lambda **given: charged.append(given))
    assert result.error
    assert result.error.code == "IDEMPOTENCY_KEY_UNKNOWN"
    assert told in result.error.message
    assert (result.error.retryable, charged) == (False, [])


async def test_ret_4_only_successes_are_kept() -> None:
    """RET-4: an output that does not fit `produces` is none."""
    answers: list[Any] = [ValueError("down"), "not a number", 3, 4]

    async def charge(order: int) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    act = charge_once()
    act = act.model_copy(update={"produces": {"type": "integer"}})
    async with bench() as it:
        results = [await it.run(task(step("charge")), {"order": 7}, act, charge=charge) for _ in range(4)]
    assert [result.status for result in results] == ["failed", "failed", "completed", "completed"]
    assert [result.output for result in results] == [None, None, 3, 3]


async def test_ret_4_after_its_time_to_live_the_action_acts_again() -> None:
    """RET-4."""
    charged: list[int] = []

    async def charge(order: int) -> int:
        charged.append(order)
        return len(charged)

    environment = ManualEnvironment()
    async with bench(environment=environment) as it:
        outputs = []
        for wait_ms in (0, 59_999, 1):
            await environment.sleep(wait_ms)
            result = await it.run(task(step("charge")), {"order": 7}, charge_once(ttl_seconds=60), charge=charge)
            outputs.append(result.output)
    assert outputs == [1, 1, 2]


async def test_ret_4_one_at_the_same_time_waits_for_the_first() -> None:
    """RET-4: if the first fails, exactly one of those that wait acts."""
    charged: list[int] = []

    async def charge(order: int) -> str:
        charged.append(order)
        await asyncio.sleep(0.02)
        if len(charged) == 1:
            raise ValueError("the first fails")
        return "charged"

    async with bench() as it:
        compiled = it.compiled(task(step("charge")), charge_once(), charge=charge)
        results = await asyncio.gather(*[it.executor.run(compiled, {"order": 7}, ORIGIN) for _ in range(5)])
    assert len(charged) == 2
    assert sorted(result.status for result in results) == ["completed"] * 4 + ["failed"]


async def test_ret_4_one_that_is_cancelled_lets_the_next_act() -> None:
    """RET-4: also one that gives up waiting for the first does no harm."""
    charged: list[int] = []

    async def charge(order: int) -> str:
        charged.append(order)
        await asyncio.sleep(10 if len(charged) == 1 else 0)
        return "charged"

    async with bench() as it:
        compiled = it.compiled(task(step("charge")), charge_once(), charge=charge)
        impatient = it.compiled(task(step("charge"), timeout_ms=20), charge_once())
        results: list[Any] = []
        first = it.executor.start(compiled, {"order": 7}, ORIGIN, results.append)
        await asyncio.sleep(0.01)
        second = asyncio.create_task(it.executor.run(compiled, {"order": 7}, ORIGIN))
        waited = await it.executor.run(impatient, {"order": 7}, ORIGIN)
        first.cancel()
        assert (await second).output == "charged"
    assert waited.status == "timed_out"
    assert len(charged) == 2


async def test_ret_4_the_scope_is_project_and_action_and_the_template_sees_where_it_runs() -> None:
    """RET-4, ACT-9: templates see `input`, `run_id`, `node`, `branch`."""
    keys: list[Any] = []

    async def charge() -> None:
        keys.append(current_context().idempotency_key)

    act = action("charge", idempotency={"key_template": "{{run_id}}/{{node}}/{{branch}}"})
    async with bench() as it:
        compiled = it.compiled(task(step("charge")), act, charge=charge)
        for project in ("one", "two", "one"):
            await it.executor.run(compiled, {}, Origin(project, "run-9", "pay", "0.3"))
    assert keys == ["run-9/pay/0.3"] * 2


async def test_ret_4_the_attempts_of_one_execution_hold_the_key_together() -> None:
    """RET-4 with RET-1: a failed attempt does not give the key away."""
    seen: list[Any] = []

    async def charge(order: int) -> str:
        context = current_context()
        seen.append((context.attempt, context.idempotency_key))
        if context.attempt < 3:
            raise ConnectionError
        return "charged"

    act = action(
        "charge",
        idempotency={"key_template": "k"},
        execution={"retry_policy": {"max_attempts": 3, "initial_delay_ms": 1}},
    )
    async with bench(environment=ManualEnvironment()) as it:
        result = await it.run(task(step("charge")), {"order": 1}, act, charge=charge)
    assert (result.output, seen) == ("charged", [(1, "k"), (2, "k"), (3, "k")])
