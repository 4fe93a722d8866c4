"""Real processes that ask a model, killed with SIGKILL: a budget holds by the model's own log (RES-6)."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from budget_program import CENTS

from support.nursery import Nursery, last_told
from support.paid_models import model, spent
from support.systems import assert_sound, never_quarantine
from wonder.storage.opening import open_store

PROGRAM = Path(__file__).with_name("budget_program.py")


@pytest.fixture(scope="module")
def budget_nursery() -> Iterator[Nursery]:
    """A program that makes processes which ask models."""
    made = Nursery(PROGRAM)
    yield made
    made.close()


@pytest.mark.parametrize(("runs", "items"), [(1, 200), (20, 10)], ids=["a fan-out", "many runs"])
async def test_inv_1_no_death_of_a_process_makes_a_budget_overspent(
    store_url: str, tmp_path: Path, budget_nursery: Nursery, runs: int, items: int
) -> None:
    """Killed while calls are under way, whose worst case counts; all runs end, and each call is paid."""
    ids: list[int] = []

    def kills(count: int) -> bool:
        if count in (3, 11, 12, 30):
            os.kill(ids[-1], signal.SIGKILL)
            return False
        return True

    await never_quarantine(store_url)
    printed = tmp_path / "printed"
    statuses: list[int] = []
    async with model(kills) as peer:
        while not statuses or statuses[-1] < 0:
            arguments = (store_url, peer.url, str(runs), str(items))
            ids.append(await asyncio.to_thread(budget_nursery.start, printed, "spend", *arguments))
            statuses.append(await asyncio.to_thread(budget_nursery.wait, ids[-1]))
        calls = len(peer.requests)
    assert statuses[-1] == 0, printed.read_text()
    assert len(statuses) >= 4, "it was killed several times"
    told = last_told(printed.read_text().splitlines())
    assert set(told["statuses"]) == {"completed"}
    said = sum(got == {"said": "ok"} for got in told["said"])
    assert said <= calls <= CENTS
    store = await open_store(store_url)
    # What nobody knows the end of was paid too, though the model may not have been asked.
    assert await spent(store) == {(CENTS, 0)}
    assert await store.query("SELECT count(*) FROM reservations") == [(0,)]
    await store.close()
    await assert_sound(store_url)
