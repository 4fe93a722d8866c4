"""Real processes, killed with SIGKILL at chosen moments: every accepted run ends once, and nothing counts twice."""

import signal
from collections import Counter
from pathlib import Path

import pytest
from engine_program import ITEMS, KEYS

from support.nursery import Nursery, last_told
from support.systems import assert_sound, never_quarantine
from wonder.storage.opening import open_store
from wonder.storage.store import Store


@pytest.mark.parametrize(
    "moments",
    [
        ["before 1"],  # the first start is not durable
        ["after 1"],  # it is, and nobody was told
        ["during 2"],
        ["after 3", "before 1"],  # after a commit, before what follows from it; then at the first of the recovery
        ["result 2"],  # an action has acted, and its result was not handed over
        ["result 7", "result 1"],
        ["before:close_inbox_item 1"],  # an answer under way
        ["during:close_inbox_item 2", "after:close_inbox_item 1"],
        ["before:insert_run 4"],  # a call is durable, and the sub-workflow, the fourth run, is not
        ["after:insert_run 4", "read 9"],  # it is; then while runs are loaded
        ["after:put_snapshot 1", "before:put_snapshot 2"],  # a sub-workflow has ended, and its caller does not know
        ["before:delete_timer 1", "during:delete_timer 1"],  # timers that come due while nobody is there
        ["before:delete_event_wait 1"],  # an event that was kept, and the token that waits for it
        # A join has fired; then while the next processes begin.
        ["after:delete_group 1", "read 4", "read 12", "during 1"],
    ],
    ids=" then ".join,
)
async def test_every_accepted_run_ends_once_whenever_its_process_is_killed(
    store_url: str, tmp_path: Path, nursery: Nursery, moments: list[str]
) -> None:
    """INV-1, INV-2, INV-3, INV-4, EVT-1."""
    await never_quarantine(store_url)
    printed = tmp_path / "printed"
    for moment in moments:
        status = nursery.run(printed, "work", store_url, str(tmp_path), *moment.split())
        if status == 0 and moment != moments[0]:
            # Many runs share a commit: what the first process left may take fewer than this moment counts.
            break
        assert status == -signal.SIGKILL, printed.read_text()
    assert nursery.run(printed, "work", store_url, str(tmp_path), "never", "0") == 0, printed.read_text()
    lines = printed.read_text().splitlines()
    results = last_told(lines)["results"]
    _assert_that_no_answer_changed(lines)
    assert sorted(result["event"]["key"] for result in results.values()) == sorted(KEYS)
    assert all(result["all"] == ITEMS and result["inner"] == "inner" for result in results.values())
    _assert_effects(tmp_path / "effects", moments)
    await _assert_rows(store_url, set(results))
    await assert_sound(store_url)


def _assert_that_no_answer_changed(lines: list[str]) -> None:
    """What was accepted keeps its run, and what was answered is not asked again."""
    accepted = {tuple(line.split()[1:]) for line in lines if line.startswith("accepted")}
    assert len(accepted) == len(KEYS), accepted
    answered = [line for line in lines if line.startswith("answered")]
    assert len(answered) == len(set(answered)) <= len(KEYS)


def _assert_effects(file: Path, moments: list[str]) -> None:
    """Every action acted at least once, and again only for processes that were killed."""
    effects = Counter(file.read_text().splitlines())
    names = [*map(str, ITEMS), "inner", "last"]
    assert set(effects) == {f"{key} {name}" for key in KEYS for name in names}
    assert max(effects.values()) <= 1 + len(moments)


async def _assert_rows(url: str, roots: set[str]) -> None:
    store = await open_store(url)
    try:
        runs = await store.query("SELECT id, parent_run_id, status FROM runs")
        assert all(status == "completed" for _, _, status in runs)
        assert {id for id, parent_id, _ in runs if parent_id is None} == roots
        assert Counter(parent_id for _, parent_id, _ in runs if parent_id) == Counter(roots)
        assert await _count(store, "tokens WHERE ended_ms IS NULL") == 0
        # start, three branches, ask, sleep, call, listen, last, done; and the one of the sub-workflow.
        assert await _count(store, "tokens") == len(KEYS) * (len(ITEMS) + 8)
        assert await _count(store, "events WHERE type = 'workflow_completed'") == 2 * len(KEYS)
        assert await _count(store, "events WHERE type = 'human_input_answered'") == len(KEYS)
        for table in ("timers", "event_waits", "run_groups", "run_branches"):
            assert await _count(store, table) == 0, table
        assert await _count(store, "inbox_items WHERE status <> 'answered'") == 0
    finally:
        await store.close()


async def _count(store: Store, what: str) -> int:
    ((count,),) = await store.query(f"SELECT count(*) FROM {what}")
    assert isinstance(count, int)
    return count
