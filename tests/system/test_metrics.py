"""Metrics through whole runs: each number counts once, whatever happens in between (EVT-4)."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from budget_program import measured

from support.nursery import Nursery
from support.systems import (
    assert_sound,
    bundle,
    calls,
    never_quarantine,
    open_item,
    running,
    settle,
    settle_workspace,
)
from wonder.actions.protocol import ActionFailed
from wonder.cli.main import main
from wonder.storage.metrics import metrics_in_all
from wonder.storage.opening import open_store
from wonder.storage.store import Reader

PROGRAM = Path(__file__).with_name("budget_program.py")
COUNT = {"kind": "emit_metric", "implementation": {"metric_name": "tries", "value": 1}}


@pytest.fixture(scope="module")
def metric_nursery() -> Iterator[Nursery]:
    """A program that makes processes which give metrics."""
    made = Nursery(PROGRAM)
    yield made
    made.close()


async def totals(reader: Reader) -> dict[str, tuple[int, float]]:
    """How often each metric was given, and the sum."""
    ((project_id,),) = await reader.query("SELECT id FROM projects")
    assert isinstance(project_id, str)
    return {total.name: (total.times, total.sum) for total in await metrics_in_all(reader, project_id)}


@pytest.mark.parametrize(
    "moments",
    [
        ["before:add_metric 1"],
        ["during:add_metric 1", "after:add_metric 1"],
        ["result 3"],  # numbers were given, and the task's result was not handed over
        ["result 2", "before:add_metric 1", "result 4", "after:add_metric 1"],
    ],
    ids=" then ".join,
)
async def test_evt_4_a_number_counts_once_whenever_its_process_is_killed(
    store_url: str, tmp_path: Path, metric_nursery: Nursery, moments: list[str]
) -> None:
    """INV-3: with the commit of what the run has decided, or not at all; four branches have given four of each."""
    await never_quarantine(store_url)
    printed = tmp_path / "printed"
    for moment in moments:
        status = metric_nursery.run(printed, "measure", store_url, str(tmp_path), *moment.split())
        assert status == -signal.SIGKILL, printed.read_text()
    assert metric_nursery.run(printed, "measure", store_url, str(tmp_path), "never", "0") == 0, printed.read_text()
    store = await open_store(store_url)
    completed = await store.query("SELECT count(*) FROM tokens WHERE status = 'completed'")
    assert await totals(store) == {"steps": (4, 4.0), "nodes": (4, 8.0)}, completed
    await store.close()
    await assert_sound(store_url)


def trying(step: dict[str, Any], **task: Any) -> dict[str, Any]:
    """Make a workflow whose task counts, and then does something that may fail."""
    steps = [{"ref": "count", "action": COUNT}, {"ref": "act", **step}]
    return bundle("trying", {"only": {"task": {"steps": steps, **task}}})


async def test_evt_4_an_attempt_that_is_made_again_counts_once(store_url: str) -> None:
    """RET-2: whether the last one succeeds or not."""
    failures = [1, 2, 4, 5, 6]
    count = 0

    def act() -> None:
        nonlocal count
        count += 1
        if count in failures:
            raise ActionFailed("BROKEN", "not yet")

    retry = {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 0}
    definition = trying({"action": calls("act")["action"], "on_failure": "retry"}, retry=retry)
    async with running(store_url, act=act) as wonder:
        workflow = await wonder.deploy(definition)
        assert (await (await wonder.start(workflow)).wait()).status == "completed"
        assert await totals(wonder.store) == {"tries": (1, 1.0)}
        assert (await (await wonder.start(workflow)).wait()).status == "failed"
        assert await totals(wonder.store) == {"tries": (2, 2.0)}
    assert count == 6


async def test_evt_4_a_node_that_begins_again_behind_a_budget_counts_once(store_url: str) -> None:
    """RES-6: what was given before a person was asked is given again."""
    ask = {"kind": "llm_call", "implementation": {"prompt_spec_id": "p", "model_profile_id": "m"}}
    models = {
        "prompts": {"p": {"template": "hello"}},
        "models": {
            "m": {
                "provider": "mock",
                "model_id": "m",
            }
        },
    }
    async with running(store_url) as wonder:
        price = {"provider": "mock", "model_id": "m", "input_usd_per_million": 1_000, "output_usd_per_million": 1_000}
        await settle_workspace(wonder, model_prices=[price])
        await settle(wonder, budget={"max_monthly_spend_cents": 0, "on_exceeded": "human_gate"})
        run = await wonder.start(await wonder.deploy({**trying({"action": ask}), **models}))
        item = await open_item(wonder, run)
        await wonder.answer(item.id, {"decision": "extend", "extend_cents": 100_000})
        assert (await run.wait()).status == "completed"
        assert await totals(wonder.store) == {"tries": (1, 1.0)}


async def test_evt_4_metrics_are_shown_to_people_and_to_prometheus(
    store_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def effect(name: int, key: str) -> None:
        pass

    async with running(store_url, effect=effect) as wonder:
        await (await wonder.start(await wonder.deploy(measured()), {"items": [1, 2, 3]})).wait()
        assert await asyncio.to_thread(main, ["metrics", "--db", store_url]) == 0
        shown = [row.split()[:7] for row in capsys.readouterr().out.splitlines()]
        assert ["nodes", "of=node", "3", "6", "2", "2", "2"] in shown
        assert ["steps", "of=task", "3", "3", "1", "1", "1"] in shown
        assert await asyncio.to_thread(main, ["metrics", "--prometheus", "--db", store_url]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert "# TYPE nodes summary" in lines
        assert any(row.startswith("nodes_count{") and 'of="node"' in row and row.endswith(" 3") for row in lines)
        assert any(row.startswith("steps_sum{") and 'of="task"' in row and row.endswith(" 3.0") for row in lines)


@pytest.mark.parametrize("value", [1.7e308, -1.7e308, {"expr": "1e300 * input.sign"}])
async def test_evt_4_a_number_whose_sums_could_not_be_kept_fails_its_own_run_alone(store_url: str, value: Any) -> None:
    """PostgreSQL rejects a sum that overflows, and SQLite infinity minus infinity: the whole commit failed."""
    emit = {"action": {"kind": "emit_metric", "implementation": {"metric_name": "huge", "value": value}}}
    huge, small = bundle("huge", {"only": emit}), trying({"action": calls("act")["action"]})
    async with running(store_url, act=lambda: None) as wonder:
        workflow = await wonder.deploy(huge)
        for sign in (1, 1, -1):
            ended = await (await wonder.start(workflow, {"sign": sign})).wait()
            assert (ended.status, ended.error and ended.error["code"]) == ("failed", "METRIC_NOT_NUMBER")
        assert (await (await wonder.start(await wonder.deploy(small))).wait()).status == "completed"
        assert await totals(wonder.store) == {"tries": (1, 1.0)}
