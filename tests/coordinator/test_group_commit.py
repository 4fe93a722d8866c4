"""What a commit says of logged facts: it settles them only if their rows are in it, and loses none that are not."""

import asyncio
from collections.abc import Callable
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import pytest

from wonder.coordinator.commits import GroupCommit, Written
from wonder.engine.facts import TaskCompleted
from wonder.errors import WonderError
from wonder.storage.errors import DiskFull
from wonder.storage.logged_facts import LoggedFact
from wonder.storage.run_writer import UNSETTLED_MS


class Memory:
    """A store that keeps what each commit said, and fails as often as it is told to."""

    def __init__(self) -> None:
        self.settled: list[bool] = []
        self.fails = False
        self.journal = self

    def settle_by(self, settle: Any) -> None:
        """Have nothing settled: nobody reads it."""

    async def commit(self, batch: Any, *, fence: Any, independent: bool, settles: bool) -> None:
        """Take a batch."""
        if self.fails:
            raise DiskFull("commit")
        self.settled.append(settles)


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.ms = 0.0
        self.calls: list[tuple[float, Callable[[], None]]] = []

    def monotonic_ms(self) -> float:
        """Give the time."""
        return self.ms

    def after(self, milliseconds: float, call: Callable[[], None]) -> None:
        """Note what is called when."""
        self.calls.append((self.ms + milliseconds, call))

    async def pass_until(self, ms: float) -> None:
        """Go on, and call what is due."""
        while due := sorted((call for call in self.calls if call[0] <= ms), key=itemgetter(0)):
            self.calls.remove(due[0])
            self.ms = due[0][0]
            due[0][1]()
            await asyncio.sleep(0)
        self.ms = ms


class Runs:
    """A group commit, with what it has released and lost."""

    def __init__(self) -> None:
        self.store = Memory()
        self.lost: list[tuple[set[Any], list[LoggedFact]]] = []
        lease: Any = SimpleNamespace(fence=None)
        store: Any = self.store
        self.clock = Clock()
        clock: Any = self.clock
        self.commits = GroupCommit(store, lease, clock, lambda decided: None, self._lose, {})

    def _lose(self, written: Written, error: WonderError) -> None:
        self.lost.append((written.runs, written.facts))

    def write(self) -> None:
        """Put something into the open batch that is no fact."""
        self.commits.batch.write(("anything", [(1,)]))
        self.commits.touch()


def fact(run_id: str) -> LoggedFact:
    return LoggedFact(run_id, 1, f"next-{run_id}", TaskCompleted(f"token-{run_id}", None))


@pytest.mark.parametrize("taken_again", [True, False])
async def test_inv_2_a_batch_settles_as_it_was_when_it_was_closed(taken_again: bool) -> None:
    """Facts that are taken again, or lost, while its commit is about to begin, have their rows in the next one."""
    it = Runs()
    it.commits.writer.settles = not taken_again
    it.write()
    it.commits.begin()
    it.commits.writer.settles = taken_again
    await it.commits.drain()
    assert it.store.settled == [not taken_again]


async def test_inv_2_facts_of_a_run_are_lost_with_the_commit_of_another_and_not_forgotten() -> None:
    """Those whose rows were in the batch that failed, and those whose rows came into the next one meanwhile."""
    it = Runs()
    it.commits.keep(fact("one"))
    it.write()
    it.store.fails = True
    it.commits.begin()
    it.commits.keep(fact("two"))
    it.write()
    await it.commits.drain()
    assert [[logged.run_id for logged in facts] for _, facts in it.lost] == [["one", "two"]]
    it.store.fails = False
    it.write()
    await it.commits.drain()
    assert it.store.settled == [True]
    assert len(it.lost) == 1


async def test_inv_2_facts_are_lost_with_a_batch_that_was_given_up_before_its_commit() -> None:
    it = Runs()
    it.commits.keep(fact("one"))
    it.commits.fail_open(DiskFull("log"))
    assert [[logged.run_id for logged in facts] for _, facts in it.lost] == [["one"]]


async def test_rows_of_logged_facts_wait_as_long_as_they_may_and_no_longer() -> None:
    """However long ago it is that others began to wait, which a commit has taken along since."""
    it = Runs()
    clock = it.clock

    def keep(run_id: str) -> None:
        it.commits.batch.write(("anything", [(1,)]))
        it.commits.keep(fact(run_id))

    keep("one")
    await clock.pass_until(UNSETTLED_MS - 10)
    keep("two")
    assert it.store.settled == []
    await clock.pass_until(UNSETTLED_MS)
    await it.commits.drain()
    assert len(it.store.settled) == 1
    keep("three")
    await clock.pass_until(UNSETTLED_MS + 150)
    it.commits.begin(to_tables=True)
    await it.commits.drain()
    keep("four")
    await clock.pass_until(2 * UNSETTLED_MS + 149)
    assert len(it.store.settled) == 2
    await clock.pass_until(2 * UNSETTLED_MS + 150)
    await it.commits.drain()
    assert len(it.store.settled) == 3
    await clock.pass_until(10 * UNSETTLED_MS)
    assert clock.calls == []
