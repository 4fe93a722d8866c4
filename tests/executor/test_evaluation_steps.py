"""RES-6: what the steps of one task evaluate, and what their actions do, has a bound in sum."""

from typing import Any

import pytest

from support.settled import SettledResources
from support.tasks import ORIGIN, Bench, action, bench, step, task
from wonder.actions.protocol import Origin
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.tasks import TaskDef
from wonder.executor.results import TaskResult

ROWS = {"rows": [[number % 7 for number in range(20)] for _ in range(50)], "text": "a" * 3_000}
QUERY = "$.input.rows[*][?@ > 9]"
LIKE = f"input.text like '%{'_' * 200}b%'"
LOOPS = "{{#each rows}}{{#each this}}{{/each}}{{/each}}"
UPDATE = action("update", "update_context", {"updates": [{"path": "state.x", "expr": LIKE}]})
REQUEST = {"method": "GET", "url_template": "http://127.0.0.1:9/", "headers": {f"X-{n}": LOOPS for n in range(10)}}


def _many(ref: str, count: int, **fields: Any) -> list[dict[str, Any]]:
    return [{**step(ref, **fields), "id": f"{ref}{number}", "ref": f"{ref}{number}"} for number in range(count)]


async def _run(it: Bench, definition: TaskDef, most: int, *actions: ActionDef) -> TaskResult:
    origin = Origin(ORIGIN.project_id, ORIGIN.run_id, ORIGIN.node, evaluation_steps=most)
    compiled = it.compiled(definition, *actions, noop=lambda **given: None)
    return await it.executor.run(compiled, ROWS, origin)


@pytest.mark.parametrize(
    ("definition", "actions"),
    [
        (task(*_many("noop", 40, input_mapping={"k": QUERY})), []),
        (task(*_many("noop", 40, input_mapping={}, condition={"if": LIKE})), []),
        (task(*_many("update", 40, output_mapping=None)), [UPDATE]),
        (task(*_many("update", 40, output_mapping=None, on_failure="continue")), [UPDATE]),
        (task(*_many("update", 40, output_mapping=None, on_failure="retry"), retry={"max_attempts": 3}), [UPDATE]),
        (task(step("request")), [action("request", "http_request", REQUEST)]),
        (
            task(step("noop", input_mapping="$.input")),
            [action("noop", idempotency={"key_template": LOOPS * 10 + "x", "ttl_seconds": 60})],
        ),
    ],
    ids=["mappings", "conditions", "updates", "not tolerated", "not retried", "templates of an action", "key"],
)
async def test_res_6_a_task_that_evaluates_too_much_fails_with_the_limit(
    definition: TaskDef, actions: list[ActionDef]
) -> None:
    async with bench(resources=SettledResources()) as it:
        result = await _run(it, definition, 30_000, *actions)
        assert result.error
        assert result.error.code == "RUN_LIMIT_EVALUATION_STEPS"
        assert result.error.details["limit"] == "run_limits.evaluation_steps"
        assert result.attempts == 1
        other = await _run(it, definition, 10_000_000, *actions)
        assert other.error is None or other.error.code == "ADDRESS_REFUSED"


async def test_each_task_has_its_own_steps() -> None:
    definition = task(step("update", output_mapping=None))
    async with bench() as it:
        for _ in range(20):
            assert (await _run(it, definition, 30_000, UPDATE)).error is None
