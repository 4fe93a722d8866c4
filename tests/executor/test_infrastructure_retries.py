"""Infrastructure retry inside one step (RET-1)."""

from typing import Any

import pytest

from support.tasks import ManualEnvironment, action, bench, step, task
from wonder.actions.protocol import ActionFailed
from wonder.definitions.records.actions import RetryPolicy
from wonder.definitions.records.fields import Retry
from wonder.executor.retries import InfrastructureRetry, delay_ms


@pytest.mark.parametrize(
    ("backoff", "chance", "delays"),
    [
        ("none", 0.0, [100, 100, 100, 100]),
        ("none", 0.9, [100, 100, 100, 100]),
        ("linear", 0.0, [100, 200, 300, 400]),
        ("exponential", 0.0, [100, 200, 400, 500]),
        ("linear", 0.4, [110, 220, 330, 440]),
        ("exponential", 0.4, [110, 220, 440, 500]),
    ],
)
def test_ret_1_backoff_grows_with_jitter_up_to_its_maximum(backoff: Any, chance: float, delays: list[float]) -> None:
    """RET-1: the jitter only ever makes a wait longer, and never longer than `max_delay_ms`."""
    retry = Retry(max_attempts=9, backoff=backoff, initial_delay_ms=100, max_delay_ms=500)
    assert [round(delay_ms(retry, attempt, chance), 6) for attempt in (1, 2, 3, 4)] == delays


def test_ret_1_a_delay_that_doubled_a_thousand_times_is_still_a_number() -> None:
    """RET-1: at most a century, as for every length of time."""
    retry = Retry(max_attempts=1_000, backoff="exponential", initial_delay_ms=3_155_760_000_000)
    assert delay_ms(retry, 999, 0.999) == 3_155_760_000_000


def failure(code: str = "HTTP_503", *, retryable: bool = True, names: tuple[str, ...] = ()) -> ActionFailed:
    """A failure of an action."""
    return ActionFailed(code, "no", retryable=retryable, names=names)


@pytest.mark.parametrize(
    ("patterns", "given", "allowed"),
    [
        (None, failure(), True),
        (None, failure(retryable=False), False),
        ([], failure(), False),
        (["default"], failure(), True),
        (["HTTP_409"], failure(), False),  # replaces the list
        (["HTTP_409", "default"], failure(), True),
        (["HTTP_409", "default"], failure("HTTP_409", retryable=False), True),
        (["HTTP_4*"], failure("HTTP_409", retryable=False), True),
        (["HTTP_4*"], failure("HTTP_503"), False),
        (["*"], failure("ANYTHING", retryable=False), True),
        (["*_LIMITED"], failure("RATE_LIMITED", retryable=False), True),
        (["R*E*D"], failure("RATE_LIMITED", retryable=False), True),
        (["R*X*D"], failure("RATE_LIMITED", retryable=False), False),
        (["RATE*ELIMITED"], failure("RATELIMITED", retryable=False), False),  # the parts may not overlap
        (["RATE"], failure("RATE_LIMITED"), False),
        (["http_503"], failure("HTTP_503"), False),
        (["HTTP.503"], failure("HTTP_503"), False),
        (["OSError"], failure(retryable=False, names=("ConnectionError", "OSError")), True),
        (["*a" * 100], failure("a" * 150 + "b", retryable=False), False),  # and at once
    ],
)
def test_ret_1_retryable_errors_replace_the_list(patterns: Any, given: ActionFailed, allowed: bool) -> None:
    """RET-1: `default` in it includes the list, `*` matches any text."""
    retry = InfrastructureRetry(RetryPolicy(max_attempts=2, retryable_errors=patterns))
    assert retry.allows(given, 1) is allowed
    assert not retry.allows(given, 2)


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (ConnectionResetError("gone"), 3),
        (TimeoutError("slow"), 3),
        (ValueError("bad"), 1),
        (KeyError("bad"), 1),
        (ActionFailed("RATE_LIMITED", "slow down", retryable=True), 3),
        (ActionFailed("HTTP_404", "not there"), 1),
    ],
)
async def test_ret_1_what_may_pass_is_tried_again_and_the_rest_is_not(error: Exception, calls: int) -> None:
    """RET-1: `max_attempts` counts the first."""
    made: list[int] = []

    async def f() -> None:
        made.append(1)
        raise error

    act = action("f", execution={"retry_policy": {"max_attempts": 3, "backoff": "linear", "initial_delay_ms": 10}})
    environment = ManualEnvironment()
    async with bench(environment=environment) as it:
        result = await it.run(task(step("f")), {}, act, f=f)
    assert (len(made), result.steps[0].attempts) == (calls, calls)
    assert environment.slept == [10, 20][: calls - 1]
    assert result.attempts == 1


async def test_ret_1_without_a_policy_there_is_one_attempt() -> None:
    """RET-1."""

    async def f() -> None:
        raise ConnectionError

    async with bench() as it:
        result = await it.run(task(step("f")), {}, f=f)
    assert result.steps[0].attempts == 1
    assert result.error
    assert result.error.retryable


@pytest.mark.parametrize(
    ("retry_after_ms", "max_delay_ms", "slept"),
    [
        (5_000, 200, 5_000),
        (20, 200, 100),
        (None, 200, 100),
        (3_600_000, 200, 3_600_000),
        (3_155_760_000_000, 200, 3_600_000),
        (3_155_760_000_000, None, 3_600_000),
        (3_155_760_000_000, 7_200_000, 7_200_000),
        (7_100_000, 7_200_000, 7_100_000),
    ],
)
async def test_ret_1_retry_after_is_obeyed(retry_after_ms: int | None, max_delay_ms: int | None, slept: float) -> None:
    """RET-1: the longer of the two, even above `max_delay_ms`, but no longer than an hour or that."""
    asked: list[int] = []

    async def f() -> str:
        asked.append(1)
        if len(asked) == 1:
            raise ActionFailed("HTTP_429", "slow down", retryable=True, retry_after_ms=retry_after_ms)
        return "done"

    policy = {"max_attempts": 2, "backoff": "none", "initial_delay_ms": 100, "max_delay_ms": max_delay_ms}
    environment = ManualEnvironment()
    async with bench(environment=environment) as it:
        result = await it.run(task(step("f")), {}, action("f", execution={"retry_policy": policy}), f=f)
    assert (result.output, environment.slept) == ("done", [slept])
