"""Steps of a task: their conditions, mappings, and what happens when one fails (TSK-1 to TSK-3)."""

from typing import Any

import pytest

from support.tasks import ManualEnvironment, action, bench, step, task


async def test_tsk_1_steps_run_in_order_over_one_context() -> None:
    """TSK-1: the steps share `input`, `state` and `output`, by ordinal, not by the order written."""
    seen: list[str] = []

    async def first(**given: Any) -> dict[str, Any]:
        seen.append("first")
        return {"sum": given["a"] + given["b"]}

    def second(**given: Any) -> int:
        seen.append("second")
        return given["sum"] * 2

    steps = [
        step("second", ordinal=1, input_mapping={"sum": "$.state.sum"}, output_mapping={"output.doubled": "$"}),
        step("first", ordinal=0, output_mapping={"state.sum": "$.sum", "output.sum": "$.sum"}),
    ]
    async with bench() as it:
        result = await it.run(task(*steps), {"a": 1, "b": 2}, first=first, second=second)
    assert seen == ["first", "second"]
    assert result.output == {"sum": 3, "doubled": 6}
    assert [record.ref for record in result.steps] == ["first", "second"]


@pytest.mark.parametrize(
    ("condition", "ran", "status"),
    [
        ({"if": "input.on"}, True, "completed"),
        ({"if": "not input.on"}, False, "completed"),
        ({"if": "input.absent > 3"}, False, "completed"),  # NULL takes else, which is skip
        ({"if": "input.absent > 3", "else": "continue"}, True, "completed"),
        ({"if": "input.on", "then": "skip", "else": "continue"}, False, "completed"),
        ({"if": "input.on", "then": "succeed"}, False, "completed"),
        ({"if": "input.on", "then": "fail"}, False, "failed"),
        ({"if": "input.absent", "then": "continue", "else": "fail"}, False, "failed"),
    ],
)
async def test_tsk_2_a_condition_says_whether_a_step_runs(condition: dict[str, str], ran: bool, status: str) -> None:
    """TSK-2."""
    calls = []
    steps = step("maybe", condition=condition, output_mapping=None)
    async with bench() as it:
        result = await it.run(task(steps), {"on": True}, maybe=lambda **given: calls.append(given))
    assert bool(calls) is ran
    assert result.status == status
    if status == "failed":
        assert result.error
        assert (result.error.code, result.error.step) == ("STEP_CONDITION", "maybe")


@pytest.mark.parametrize(("outcome", "output"), [("skip", {"last": True}), ("succeed", {"first": True})])
async def test_tsk_2_skip_goes_on_and_succeed_ends_the_task(outcome: str, output: object) -> None:
    """TSK-2: `succeed` ends the task now, as a success."""
    first_output = None if outcome == "skip" else {"output.first": {"$literal": True}}
    steps = [
        step("first", output_mapping=first_output),
        step("middle", condition={"if": "true", "then": outcome}),
        step("last", output_mapping={"output.last": {"$literal": True}}),
    ]
    functions = dict.fromkeys(["first", "middle", "last"], lambda: None)
    async with bench() as it:
        result = await it.run(task(*steps), {}, **functions)
    assert result.output == output


async def test_tsk_2_the_output_of_a_task_that_succeeded_early_is_still_checked() -> None:
    """TSK-2."""
    steps = step("never", condition={"if": "true", "then": "succeed"})
    definition = task(steps, output_schema={"type": "object", "required": ["answer"]})
    async with bench() as it:
        result = await it.run(definition, {}, never=lambda: None)
    assert result.error
    assert result.error.code == "TASK_OUTPUT_SCHEMA"


async def test_exp_7_a_condition_that_cannot_be_evaluated_fails_its_step() -> None:
    """EXP-7: with the expression, by the step's on_failure."""
    broken = step("broken", condition={"if": "json_extract(input.text, '$.a')"}, on_failure="continue")
    after = step("after", input_mapping={"code": "$.state._errors.broken.code"})
    async with bench() as it:
        result = await it.run(task(broken, after), {"text": "{"}, broken=lambda: 1, after=lambda code: code)
    assert result.output == "EXPRESSION_ERROR"


def fail(**_: Any) -> None:
    raise ValueError("no such customer")


async def test_tsk_3_abort_fails_the_task_at_once() -> None:
    """TSK-3: `abort` is the default; a retry of the task is only for steps that ask for it."""
    calls: list[str] = []
    definition = task(step("bad"), step("after"), retry={"max_attempts": 5, "initial_delay_ms": 0})
    async with bench() as it:
        result = await it.run(definition, {}, bad=fail, after=lambda: calls.append("after"))
    assert result.status == "failed"
    assert result.error
    assert (result.error.code, result.error.step) == ("PYTHON_EXCEPTION", "bad")
    assert "no such customer" in result.error.message
    assert result.attempts == 1
    assert calls == []


async def test_tsk_3_continue_records_the_error_and_goes_on() -> None:
    """TSK-3: in `state._errors[ref]`; the output mapping of the failed step is not applied."""
    steps = [
        step("bad", on_failure="continue", output_mapping={"state.written": {"$literal": True}}),
        step("worse", on_failure="continue", output_mapping=None),
        step("after", input_mapping={"state": "$.state"}),
    ]
    async with bench() as it:
        result = await it.run(task(*steps), {}, bad=fail, worse=fail, after=lambda state: state)
    assert result.status == "completed"
    assert isinstance(result.output, dict)
    errors: Any = result.output["_errors"]
    assert result.output.keys() == {"_errors"}
    assert errors.keys() == {"bad", "worse"}
    assert errors["bad"]["code"] == "PYTHON_EXCEPTION"
    assert errors["bad"]["details"]["type"] == "ValueError"
    assert [record.outcome for record in result.steps] == ["failed", "failed", "completed"]


async def test_tsk_3_continue_after_the_whole_state_was_replaced_by_a_list_does_not_crash() -> None:
    """TSK-3: nothing can be noted in a list; the step's record still has the error."""
    steps = [step("listed", output_mapping={"state": "$"}), step("bad", on_failure="continue", output_mapping=None)]
    async with bench() as it:
        result = await it.run(task(*steps), {}, listed=lambda: [1], bad=fail)
    assert result.status == "completed"
    assert result.steps[1].error


async def test_ret_2_retry_runs_the_whole_task_again_with_a_fresh_context() -> None:
    """TSK-3, RET-2: from step 0, with the backoff of the task; nothing of the failed attempt is left."""
    environment = ManualEnvironment()
    seen: list[Any] = []

    def count(state: Any) -> int:
        seen.append(state)
        return len(seen)

    def flaky() -> str:
        if len(seen) < 3:
            raise ValueError("not yet")
        return "done"

    steps = [
        step("count", input_mapping={"state": "$.state"}, output_mapping={"state.count": "$"}),
        step("flaky", on_failure="retry", input_mapping=None),
    ]
    retry = {"max_attempts": 4, "backoff": "exponential", "initial_delay_ms": 100}
    async with bench(environment=environment) as it:
        result = await it.run(task(*steps, retry=retry), {}, count=count, flaky=flaky)
    assert seen == [{}, {}, {}]
    assert (result.status, result.attempts, result.output) == ("completed", 3, "done")
    assert environment.slept == [100, 200]
    assert [(record.ref, record.attempt) for record in result.steps] == [
        ("count", 1), ("flaky", 1), ("count", 2), ("flaky", 2), ("count", 3), ("flaky", 3),
    ]  # fmt: skip


@pytest.mark.parametrize(("retry", "attempts"), [(None, 1), ({"max_attempts": 3, "initial_delay_ms": 5}, 3)])
async def test_tsk_3_retry_without_a_policy_or_used_up_is_abort(retry: object, attempts: int) -> None:
    """TSK-3."""
    async with bench(environment=ManualEnvironment()) as it:
        result = await it.run(task(step("bad", on_failure="retry"), retry=retry), {}, bad=fail)
    assert (result.status, result.attempts) == ("failed", attempts)
    assert result.error
    assert result.error.code == "PYTHON_EXCEPTION"


async def test_ret_2_the_two_kinds_of_retry_never_mix() -> None:
    """RET-2: an infrastructure failure within its attempts is invisible to the task, and counted apart."""
    calls = []

    def unreachable() -> None:
        calls.append(1)
        raise ConnectionError("refused")

    policy = {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 1}
    act = action("unreachable", execution={"retry_policy": policy})
    definition = task(step("unreachable", on_failure="retry"), retry={"max_attempts": 2, "initial_delay_ms": 7})
    environment = ManualEnvironment()
    async with bench(environment=environment) as it:
        result = await it.run(definition, {}, act, unreachable=unreachable)
    assert len(calls) == 6
    assert result.attempts == 2
    assert [record.attempts for record in result.steps] == [3, 3]
    assert environment.slept == [1, 1, 7, 1, 1]


async def test_ctx_5_a_query_of_an_output_mapping_that_finds_nothing_writes_nothing() -> None:
    """CTX-5: nothing found leaves the key out."""
    mapping = {"output.a": "$.a", "output.missing": "$.missing", "output.null": "$.null"}
    async with bench() as it:
        result = await it.run(task(step("give", output_mapping=mapping)), {}, give=lambda: {"a": 1, "null": None})
    assert result.output == {"a": 1, "null": None}


async def test_ctx_5a_writing_through_a_scalar_fails_the_step() -> None:
    """CTX-5a."""
    mapping = {"output.a": "$.a", "output.a.b": "$.a"}
    async with bench() as it:
        result = await it.run(task(step("give", output_mapping=mapping)), {}, give=lambda: {"a": 1})
    assert result.error
    assert (result.error.code, result.error.step) == ("TARGET_UNWRITABLE", "give")


async def test_an_output_put_together_beyond_the_limits_of_values_fails_the_task() -> None:
    """CTX-7: each part was fine, the whole is nested too deep."""
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    mapping = {"output" + ".a" * 100: "$"}
    async with bench() as it:
        result = await it.run(task(step("give", output_mapping=mapping)), {}, give=lambda: deep)
    assert result.error
    assert result.error.code == "BAD_VALUE"
