"""What a commit says of logged facts: it settles them only if their rows are in it, and loses none that are not."""

from types import SimpleNamespace
from typing import Any

import pytest

from wonder.coordinator.commits import GroupCommit
from wonder.coordinator.logged_facts import LoggedFact
from wonder.engine.facts import TaskCompleted
from wonder.errors import WonderError
from wonder.storage.errors import DiskFull


class Memory:
    """A store that keeps what each commit said, and fails as often as it is told to."""

    commits_at_once = False

    def __init__(self) -> None:
        self.settled: list[bool] = []
        self.fails = False

    async def commit(self, batch: Any, *, fence: Any, independent: bool, settles: bool) -> None:
        """Take a batch."""
        if self.fails:
            raise DiskFull("commit")
        self.settled.append(settles)


class Runs:
    """A group commit, with what it has released and lost."""

    def __init__(self) -> None:
        self.store = Memory()
        self.lost: list[tuple[set[Any], list[LoggedFact]]] = []
        lease: Any = SimpleNamespace(fence=None)
        store: Any = self.store
        self.commits = GroupCommit(store, lease, lambda decided: None, self._lose, {})

    def _lose(self, runs: set[Any], facts: list[LoggedFact], error: WonderError) -> None:
        self.lost.append((runs, facts))

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
    it.commits.settles = not taken_again
    it.write()
    it.commits.begin()
    it.commits.settles = taken_again
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
