"""The log of facts: which ones are logged, and which the tables lack and have to be taken once more."""

from collections.abc import Iterable, Sequence

from wonder.coordinator.commits import GroupCommit
from wonder.coordinator.live import LiveRun
from wonder.coordinator.loggable import may_be_logged
from wonder.engine.facts import Fact, TaskCompleted
from wonder.storage.logged_facts import LoggedFact, decode_facts, logged_fact
from wonder.storage.runs.leases import Lease
from wonder.storage.store import NewId, Store


class FactsLog:
    """Facts to be logged, and those that wait to be taken again."""

    def __init__(self, new_id: NewId, commits: GroupCommit, store: Store, lease: Lease) -> None:
        self._new_id, self._commits = new_id, commits
        self._has_journal = store.journal is not None
        self._untaken = decode_facts(lease.inherited)
        """Facts, by their run, whose rows never came to the tables: they are taken when the run is loaded."""
        self.note_taken()

    @property
    def untaken(self) -> list[str]:
        """The runs of which facts wait to be taken: before all else, when the owner before has ended (recovery)."""
        return list(self._untaken)

    def untaken_of(self, run_ids: Iterable[str]) -> list[str]:
        """Say which of these runs have facts that wait to be taken."""
        return [run_id for run_id in run_ids if run_id in self._untaken] if self._untaken else []

    def to_log(self, run: LiveRun, fact: Fact, now_ms: int) -> LoggedFact | None:
        """Say what has to be logged so that a run can go on, if that is enough."""
        if self._has_journal and type(fact) is TaskCompleted and may_be_logged(run, fact):
            return logged_fact(run.id, now_ms, self._new_id(), fact)
        return None

    def lose(self, facts: Sequence[LoggedFact]) -> None:
        """Have facts taken again whose rows went with a commit that failed."""
        for logged in facts:
            self._untaken.setdefault(logged.run_id, []).append(logged)
        self.note_taken()

    def pop(self, run_id: str) -> list[LoggedFact]:
        """Return the facts of a run that wait to be taken, and forget them here; `note_taken` has to follow."""
        return self._untaken.pop(run_id, [])

    def note_taken(self) -> None:
        """Let commits say that the tables have all that was logged, unless facts wait to be taken."""
        self._commits.writer.settles = not self._untaken

    def forget(self, run_ids: Iterable[str]) -> None:
        """Forget the facts of runs that have ended, or do not exist: nothing is left to be taken."""
        for run_id in run_ids:
            self._untaken.pop(run_id, None)
        self.note_taken()
