"""Budgets and limits of models through whole runs: by the model's own log, nobody ever overspends (RES-6)."""

import asyncio
import json
import time
from typing import Any

import pytest
from budget_program import CENTS, many_calls, one_call
from msgspec.structs import force_setattr

from support.llm_peers import RawServer
from support.paid_models import list_model, model, spent
from support.systems import event_types, no_run_in_memory, open_item, running, settle, status_of, until
from wonder.actions.protocol import Origin
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.cli.main import main
from wonder.storage.runs.reading import events_of_run, inbox_of_run
from wonder.storage.spending import HOUR_MS

EXTEND = '{"decision": "extend", "extend_cents": 100}'


async def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Run a command beside the engine; give its status and what it printed."""
    status = await asyncio.to_thread(main, list(words))
    printed = capsys.readouterr()
    return status, printed.out + printed.err


async def test_res_6_a_fan_out_never_overspends(store_url: str) -> None:
    """Of 200 calls at once, the 50 that the budget allows are made."""
    async with model() as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url)
        await settle(wonder, budget={"max_monthly_spend_cents": CENTS})
        run = await wonder.start(await wonder.deploy(many_calls(peer.url)), {"items": list(range(200))})
        result: Any = await run.wait()
        assert result.status == "completed"
        assert sum(got == {"said": "ok"} for got in result.output["all"]) == len(peer.requests) == CENTS
        assert await spent(wonder.store) == {(CENTS, 0)}


async def test_res_6_many_runs_never_overspend(store_url: str) -> None:
    """Of 200 runs at once, the 50 that the budget allows are completed, and the others say why not."""
    async with model() as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url)
        await settle(wonder, budget={"max_monthly_spend_cents": CENTS})
        workflow = await wonder.deploy(one_call(peer.url))
        runs = await asyncio.gather(*[wonder.start(workflow, {"n": n}) for n in range(200)])
        results = await asyncio.gather(*[run.wait() for run in runs])
        codes = [result.error["code"] for result in results if result.error]
        assert codes == ["BUDGET_EXCEEDED"] * 150
        assert len(peer.requests) == CENTS
        assert await spent(wonder.store) == {(CENTS, 0)}


async def test_res_6_what_a_model_may_charge_for_a_lost_call_counts(store_url: str) -> None:
    """A model that takes a question and hangs up may send a bill; one that refuses it does not."""
    async with model(lambda count: False) as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url)
        await settle(wonder, budget={"max_monthly_spend_cents": 3})
        retry = {"max_attempts": 10, "backoff": "none", "initial_delay_ms": 0}
        run = await wonder.start(await wonder.deploy(one_call(peer.url, execution={"retry_policy": retry})), {"n": 1})
        result: Any = await run.wait()
        assert (result.error["code"], len(peer.requests)) == ("BUDGET_EXCEEDED", 3)
        assert await spent(wonder.store) == {(3, 0)}
    async with running(store_url) as wonder:
        await list_model(wonder, "http://127.0.0.1:1")
        await settle(wonder, budget={"max_monthly_spend_cents": 4})
        result = await (await wonder.start(await wonder.deploy(one_call("http://127.0.0.1:1")), {"n": 1})).wait()
        assert result.error["code"] == "PROVIDER_LOST"
        assert await spent(wonder.store) == {(3, 0)}


async def test_res_6_both_budgets_must_allow_a_call(store_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with model() as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url)
        for scope, cents in (("project", "10"), ("workspace", "2")):
            words = (scope, "set", "budget.max_monthly_spend_cents", cents, "--db", store_url)
            assert (await command(capsys, *words))[0] == 0
        workflow = await wonder.deploy(one_call(peer.url))
        results: list[Any] = [await (await wonder.start(workflow, {"n": n})).wait() for n in range(3)]
        assert [result.status for result in results] == ["completed", "completed", "failed"]
        assert "the workspace's budget for" in results[2].error["message"]
        assert len(peer.requests) == 2
        _, printed = await command(capsys, "workspace", "show", "--json", "--db", store_url)
        assert json.loads(printed)["spending"]["spent_usd"] == 0.02


async def test_res_6_providers_that_are_not_allowed_are_not_asked(store_url: str) -> None:
    async with model() as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url, allowed_model_providers=["openai"])
        result: Any = await (await wonder.start(await wonder.deploy(one_call(peer.url)), {"n": 1})).wait()
        assert (result.error["code"], peer.requests) == ("PROVIDER_NOT_ALLOWED", [])
        assert "allowed: openai" in result.error["message"]


async def waiting_for_money(wonder: Application, peer: RawServer) -> Run:
    """Start a run that asks a person for money."""
    await settle(wonder, budget={"max_monthly_spend_cents": 0, "on_exceeded": "human_gate"})
    run = await wonder.start(await wonder.deploy(one_call(peer.url)), {"n": 1})
    await status_of(wonder, run, "waiting")
    return run


async def test_res_6_a_person_extends_a_budget_or_lets_the_node_fail(
    store_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with model() as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url)
        run = await waiting_for_money(wonder, peer)
        other = await wonder.start("one", {"n": 2})
        await status_of(wonder, other, "waiting")
        of = ("--db", store_url)
        status, printed = await command(capsys, "inbox", "--json", *of)
        items = {item["run_id"]: item["id"] for item in json.loads(printed)["items"]}
        assert "would overspend: the call may cost up to 0.010000 USD" in printed
        assert "extend the budget for this month by so many cents, or let it fail?" in printed
        # To raise it would not answer the question.
        assert "max_monthly_spend_cents" not in printed
        for wrong in ('{"decision": "extend"}', '{"decision": "abort"}', '{"decision": "extend", "extend_cents": 0}'):
            status, printed = await command(capsys, "answer", items[run.id], wrong, *of)
            assert (status, "the answer" in printed) == (2, True)
        assert await command(capsys, "answer", items[run.id], EXTEND, *of) == (0, "✓ answered\n")
        assert (await run.wait()).output == {"said": "ok"}
        assert await command(capsys, "answer", items[other.id], '{"decision": "fail"}', *of) == (0, "✓ answered\n")
        result: Any = await other.wait()
        assert result.error["code"] == "BUDGET_EXCEEDED"
        assert len(peer.requests) == 1
        # The rest of what was given is there for the next.
        assert (await (await wonder.start("one", {"n": 3})).wait()).status == "completed"
        for one in (run, other):
            assert (await command(capsys, "runs", "verify", one.id, *of))[0] == 0
    assert (await command(capsys, "db", "check", *of))[0] == 0


async def test_inv_1_a_question_about_a_budget_survives_a_restart(store_url: str) -> None:
    async with model() as peer:
        async with running(store_url) as wonder:
            await list_model(wonder, peer.url)
            run = await waiting_for_money(wonder, peer)
            await no_run_in_memory(wonder)
        async with running(store_url) as wonder:
            item = await open_item(wonder, Run(run.id, wonder.wait))
            await wonder.answer(item.id, json.loads(EXTEND), by="bob")
            assert (await wonder.wait(run.id)).output == {"said": "ok"}
            assert (await event_types(wonder, run)).count("human_input_answered") == 1


async def test_ctl_16_a_cancelled_run_withdraws_its_question_about_a_budget(store_url: str) -> None:
    async with model() as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url)
        run = await waiting_for_money(wonder, peer)
        await wonder.cancel(run.id)
        assert (await run.wait()).status == "cancelled"
        assert [item.status for item in await inbox_of_run(wonder.store, run.id)] == ["withdrawn"]
        assert peer.requests == []


async def test_res_6_an_alert_is_an_event_of_the_run_that_crosses_the_threshold(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with model() as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url)
        await settle(wonder, budget={"alert_threshold_cents": 7})
        run = await wonder.start(await wonder.deploy(many_calls(peer.url)), {"items": list(range(20))})
        assert (await run.wait()).status == "completed"
        events = await events_of_run(wonder.store, run.id, limit=1_000)
        (alert,) = [event.metadata for event in events if event.type == "budget_alert"]
        assert (alert["scope"], alert["name"], alert["threshold_cents"]) == ("project", "default", 7)
        assert "the project 'default' has spent its alert_threshold_cents of 7" in caplog.text


async def test_res_6_calls_over_the_limit_of_an_hour_wait_in_line_and_then_fail(store_url: str) -> None:
    """RET-1: within the action's time-out, as progress that can be seen, and retryable."""
    told: list[Any] = []

    def tell(origin: Origin, step: str, progress: Any) -> None:
        told.append(progress)

    async with model() as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url)
        await settle(wonder, rate_limits={"max_llm_calls_per_hour": 3})
        assert wonder.engine
        # `Services` never changes; this is what whoever watches is told by.
        force_setattr(wonder.engine.executor.services, "on_progress", tell)
        allowed = await wonder.deploy(one_call(peer.url))
        for number in range(3):
            assert (await (await wonder.start(allowed, {"n": number})).wait()).output == {"said": "ok"}
        # Only calls that can't be made have little time: how long the others take depends on the machine.
        hurried = await wonder.deploy(one_call(peer.url, execution={"timeout_ms": 2_000}))
        runs = [await wonder.start(hurried, {"n": number}) for number in (3, 4)]
        results: list[Any] = [await run.wait() for run in runs]
        refused = [result.error for result in results if result.error]
        assert [error["code"] for error in refused] == ["RATE_LIMITED"] * 2, refused
        assert all(error["retryable"] for error in refused)
        assert len(peer.requests) == 3
        assert any("until_ms" in one for one in told)
        assert any("ahead" in one for one in told)


async def in_line(wonder: Application, count: int) -> None:
    """Wait until so many calls of models wait behind the one whose turn it is."""

    async def look() -> bool:
        assert wonder.engine
        return [line.length for line in wonder.engine._spending._lines.values()] == [count]

    await until(look)


async def test_res_6_two_runs_take_turns_in_the_line_of_an_hour(store_url: str) -> None:
    """One with many calls does not keep the other waiting till its end."""
    async with model() as peer, running(store_url) as wonder:
        await list_model(wonder, peer.url)
        await settle(wonder, rate_limits={"max_llm_calls_per_hour": 5})
        execution = {"timeout_ms": 120_000}
        many_workflow = await wonder.deploy(many_calls(peer.url, execution=execution))
        one_workflow = await wonder.deploy(one_call(peer.url, execution=execution))
        # All that the hour allows was used, and comes free when both runs have joined the line.
        free_ms = time.time_ns() // 1_000_000 + 6_000
        async with wonder.store.transaction() as transaction:
            for number in range(5):
                row = (wonder.home.project_id, free_ms - HOUR_MS, f"before {number}")
                await transaction.execute("insert_model_call", *row)
        many = await wonder.start(many_workflow, {"items": [1] * 20})
        await in_line(wonder, 19)
        one = await wonder.start(one_workflow, {"n": 2})
        await in_line(wonder, 20)
        assert time.time_ns() // 1_000_000 < free_ms, "this machine takes too long to start two runs"
        assert (await one.wait()).output == {"said": "ok"}

        async def all_asked() -> bool:
            return len(peer.requests) >= 5

        await until(all_asked, 60)
        # The others wait for the next hour.
        await wonder.cancel(many.id)
        assert (await many.wait()).status == "cancelled"
        assert len(peer.requests) == 5
        asked = [request["messages"][0]["content"] for _, _, request in peer.requests]
        assert asked.index("2") <= 2, asked
