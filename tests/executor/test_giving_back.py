"""Places and keys are given back, so that whoever comes next need not wait; told in seconds, where it would hang."""

import asyncio
from typing import Any

from support.tasks import ORIGIN, action, bench, step, task

SECONDS = 10.0


async def test_a_task_that_has_ended_gives_its_place_to_the_next() -> None:
    async with bench(tasks_max=1) as it:
        compiled = it.compiled(task(step("work")), work=lambda: 1)
        async with asyncio.timeout(SECONDS):
            assert (await it.executor.run(compiled, {}, ORIGIN)).status == "completed"
        assert it.executor.under_way == 0


async def test_ret_4_an_action_that_failed_gives_its_key_to_the_next() -> None:
    answers: list[Any] = [ValueError("down"), 1]

    async def charge() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    once = action("charge", idempotency={"key_template": "order"})
    async with bench() as it, asyncio.timeout(SECONDS):
        results = [await it.run(task(step("charge")), {}, once, charge=charge) for _ in range(2)]
    assert [result.status for result in results] == ["failed", "completed"]
