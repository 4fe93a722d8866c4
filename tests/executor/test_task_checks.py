"""What is checked around a task (TSK-4), and what reaches the coordinator (TSK-6)."""

from typing import Any

import pytest

from support.tasks import ManualEnvironment, action, bench, step, task
from wonder.actions.python.kind import current_context
from wonder.executor.results import TaskResult

NUMBER = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
RETRY = {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 1}
EVERYTHING = {"max_attempts": 5, "backoff": "none", "initial_delay_ms": 1, "retryable_errors": ["*", "default"]}


def code(result: TaskResult) -> str | None:
    """The code of a result's error."""
    return result.error.code if result.error else None


@pytest.mark.parametrize(
    ("place", "given", "returned", "expected"),
    [
        ("input_schema", {"n": "three"}, {"n": 3}, "TASK_INPUT_SCHEMA"),
        ("requires", {"n": "three"}, {"n": 3}, "ACTION_INPUT_SCHEMA"),
        ("produces", {"n": 3}, {"n": "three"}, "ACTION_OUTPUT_SCHEMA"),
        ("output_schema", {"n": 3}, {"n": "three"}, "TASK_OUTPUT_SCHEMA"),
        ("output_schema", {"n": 3}, {"n": 3}, None),
    ],
)
async def test_tsk_4_each_schema_is_checked(place: str, given: object, returned: object, expected: str | None) -> None:
    """TSK-4: and the message says where."""
    of_action = {place: NUMBER} if place in ("requires", "produces") else {}
    of_task = {place: NUMBER} if place not in of_action else {}
    async with bench() as it:
        result = await it.run(task(step("f"), **of_task), given, action("f", **of_action), f=lambda n: returned)
    assert code(result) == expected
    if result.error:
        assert "n: " in result.error.message


async def test_tsk_4_a_refused_task_input_is_never_retried_and_nothing_is_run() -> None:
    """TSK-4."""
    calls: list[Any] = []
    definition = task(step("f", on_failure="retry"), input_schema=NUMBER, retry=RETRY)
    async with bench(environment=ManualEnvironment()) as it:
        result = await it.run(definition, {}, f=lambda **given: calls.append(given))
    assert (code(result), result.attempts, calls, result.steps) == ("TASK_INPUT_SCHEMA", 1, [], ())


@pytest.mark.parametrize(
    ("steps", "attempts"),
    [
        ([step("f", on_failure="retry")], 3),
        ([step("f", on_failure="abort")], 1),
        ([step("f", on_failure="continue")], 1),
        ([step("f", on_failure="abort"), step("g", on_failure="retry")], 3),
        ([step("f", on_failure="retry"), step("g", on_failure="abort")], 1),
        # A step that was skipped was not executed.
        ([step("f", on_failure="retry"), step("g", condition={"if": "false"})], 3),
        ([step("f", on_failure="retry", condition={"if": "false"})], 1),
    ],
)
async def test_tsk_4_a_refused_output_is_retried_if_the_last_executed_step_says_so(steps: Any, attempts: int) -> None:
    """TSK-4."""
    async with bench(environment=ManualEnvironment()) as it:
        result = await it.run(task(*steps, output_schema=NUMBER, retry=RETRY), {}, f=dict, g=dict)
    assert (code(result), result.attempts) == ("TASK_OUTPUT_SCHEMA", attempts)


@pytest.mark.parametrize("place", ["requires", "produces"])
async def test_tsk_4_a_failed_check_is_never_an_infrastructure_retry(place: str) -> None:
    """TSK-4: not even if the policy retries everything."""
    act = action("f", execution={"retry_policy": EVERYTHING}, **{place: NUMBER})
    calls: list[int] = []
    async with bench(environment=ManualEnvironment()) as it:
        result = await it.run(task(step("f")), {}, act, f=lambda: calls.append(1))
    assert code(result) in ("ACTION_INPUT_SCHEMA", "ACTION_OUTPUT_SCHEMA")
    assert len(calls) == (0 if place == "requires" else 1)


async def test_tsk_4_a_result_that_is_no_json_is_never_an_infrastructure_retry() -> None:
    """TSK-4."""
    calls: list[int] = []

    def give() -> object:
        calls.append(1)
        return {1, 2}

    act = action("give", execution={"retry_policy": EVERYTHING})
    async with bench(environment=ManualEnvironment()) as it:
        result = await it.run(task(step("give")), {}, act, give=give)
    assert (code(result), len(calls)) == ("BAD_RESULT", 1)


async def test_tsk_6_the_result_shows_what_happened_inside() -> None:
    """TSK-6: for every executed step its ref, start, duration, attempts, tokens and cost."""
    environment = ManualEnvironment()

    async def ask() -> str:
        context = current_context()
        context.report_usage(input_tokens=10, output_tokens=5, cost_usd=0.25)
        if context.attempt == 1:
            raise ConnectionError("lost")
        return "answer"

    policy = {"max_attempts": 2, "backoff": "none", "initial_delay_ms": 500}
    act = action("ask", execution={"retry_policy": policy})
    steps = [step("ask"), step("skipped", condition={"if": "false"}), step("last", input_mapping=None)]
    start = environment.now_ms()
    async with bench(environment=environment) as it:
        result = await it.run(task(*steps), {}, act, ask=ask, last=lambda: 1, skipped=lambda: 1)
    asked, last = result.steps
    assert (asked.ref, asked.started_at_ms, asked.duration_ms, asked.attempts) == ("ask", start, 500, 2)
    assert (asked.usage.input_tokens, asked.usage.output_tokens, asked.usage.cost_usd) == (20, 10, 0.5)
    assert (last.ref, last.started_at_ms, last.attempts, last.usage.cost_usd) == ("last", start + 500, 1, 0)
    assert (result.usage.cost_usd, result.attempts, result.started_at_ms) == (0.5, 1, start)


async def test_tsk_6_the_records_of_very_many_attempts_are_bounded() -> None:
    """TSK-6: the last thousand are kept, what was used is counted for all."""

    async def bad() -> None:
        current_context().report_usage(input_tokens=1)
        raise ValueError

    steps = [step("a", output_mapping=None), step("b", on_failure="retry", input_mapping=None)]
    definition = task(*steps, retry={"max_attempts": 700, "backoff": "none", "initial_delay_ms": 0})
    async with bench(environment=ManualEnvironment()) as it:
        it.functions.register("test:b", bad)
        result = await it.run(definition, {}, a=_nothing, b=bad)
    assert (result.attempts, len(result.steps), result.usage.input_tokens) == (700, 1_000, 700)


async def _nothing() -> None:
    return None
