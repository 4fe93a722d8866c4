"""The checker finds nothing wrong with what the real engine wrote, and says what it found to people and programs."""

import asyncio
import json
from pathlib import Path

import pytest

from support.checked_runs import TYPE, Spoiler, open_spoiler
from wonder.checker.__main__ import main
from wonder.checker.checking import Count, check_runs
from wonder.cli.main import main as wonder

# Sub-workflows, what was triggered beside the first, and what was scheduled beside the first.
UNNAMED = 5 + 5


async def test_runs_of_every_kind_break_no_rule(spoiler: Spoiler) -> None:
    """Fan-outs, joins, loops, errors, waits, sub-workflows, cancel, pause, gates, retries, forks, schedules."""
    count = Count()
    assert [str(one) async for one in check_runs(spoiler.store, count)] == []
    assert (count.runs, count.moving) == (len(spoiler.runs) + UNNAMED, 0)
    assert count.events > 300


def spoil(url: str, runs: dict[str, str]) -> None:
    async def lose_an_end() -> None:
        spoiler = await open_spoiler(url, runs)
        await spoiler.drop("line", "workflow_completed")
        await spoiler.store.close()

    asyncio.run(lose_an_end())


def test_the_program_prints_violations_and_its_exit_status_says_so(
    good_copy: tuple[str, dict[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, runs = good_copy
    assert main([url]) == 0
    assert "events checked: no violation" in capsys.readouterr().out
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"kind": "accepted", "run": "gone", "at": 1}) + "\n")
    assert main([url, "--log", str(log)]) == 1
    assert "accepted: run gone: it was accepted, and is not there" in capsys.readouterr().out
    spoil(url, runs)
    assert main([url]) == 1
    assert f"end: run {runs['line']}: its status is completed, and no event says so" in capsys.readouterr().out


def test_what_can_not_be_checked_is_told_with_another_exit_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"sqlite:///{tmp_path / 'none.db'}"]) == 2
    assert "no such file" in capsys.readouterr().err


def test_db_check_looks_at_every_run(good_copy: tuple[str, dict[str, str]], capsys: pytest.CaptureFixture[str]) -> None:
    url, runs = good_copy
    assert wonder(["db", "check", "--db", url]) == 0
    assert f"no errors, {len(runs) + UNNAMED} runs and " in capsys.readouterr().out
    spoil(url, runs)
    assert wonder(["db", "check", "--db", url]) == 1
    assert f"error BROKEN_END: run {runs['line']}: its status is completed" in capsys.readouterr().out
    assert wonder(["db", "check", "--db", url, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["sound"], told["runs"]) == (False, len(runs) + UNNAMED)
    assert "BROKEN_END" in {finding["type"] for finding in told["findings"]}


async def test_what_completed_before_triggers_were_fired_at_all_has_fired_none(spoiler: Spoiler) -> None:
    """PHS-6: a database of an older Wonder is sound."""
    run_id = spoiler.runs["triggering"]
    rows = (("trigger_firings", "run_id"), ("snapshots", "run_id"), ("triggered_runs", "triggered_by_run_id"))
    for table, column in rows:
        await spoiler.sql(f"DELETE FROM {table} WHERE {column} = $1", run_id)
    events = [event for event in await spoiler.events("triggering") if not event[TYPE].startswith("trigger_")]
    await spoiler.write("triggering", events)
    since = "UPDATE schema_migrations SET applied_at = '1970-01-01T00:00:01.500000Z' WHERE name = 'triggers'"
    await spoiler.sql(since)
    for completed_ms, found in ((1_500, {("triggers", run_id)}), (1_499, set[tuple[str, str]]())):
        await spoiler.sql("UPDATE runs SET completed_ms = $2 WHERE id = $1", run_id, completed_ms)
        assert {(one.rule, one.run_id) for one in await spoiler.check()} == found
