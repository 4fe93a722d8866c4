"""Kept tasks: what workers have, or have brought, of runs whose commit failed and that are being loaded again.

A failed commit is no crash: the tasks of its runs go on here, and what they bring is known. Both are given to the run
once it is loaded, so that nothing is executed again whose outcome is known or still to come (INV-4).
"""

from collections.abc import Iterable

from wonder.coordinator.live import LiveRun
from wonder.coordinator.worker import TaskEnded, Work
from wonder.engine.state import DISPATCHED, EXECUTING

_WORKING = (DISPATCHED, EXECUTING)


class _Kept:
    """The tasks of one run, by the id of their token."""

    __slots__ = ("ended", "under_way")

    def __init__(self) -> None:
        self.under_way: dict[str, Work] = {}
        self.ended: dict[str, TaskEnded] = {}


class KeptTasks:
    """The tasks of all runs that are being loaded again."""

    def __init__(self) -> None:
        self._of: dict[str, _Kept] = {}

    def keep(self, run: LiveRun, ended: TaskEnded | None = None) -> None:
        """Take over the tasks that workers have of a run that was given up, and an outcome that was not stored."""
        if not run.tasks and ended is None:
            return
        kept = self._of.setdefault(run.id, _Kept())
        kept.under_way.update(run.tasks)
        run.tasks.clear()
        if ended is not None:
            kept.ended[ended.token_id] = ended

    def bring(self, run_id: str, ended: TaskEnded) -> bool:
        """Keep the outcome of a task that was under way; False if nothing is kept of this task."""
        kept = self._of.get(run_id)
        if kept is None or kept.under_way.pop(ended.token_id, None) is None:
            return False
        kept.ended[ended.token_id] = ended
        return True

    def give_back(self, run: LiveRun) -> dict[str, TaskEnded]:
        """Give a run that was loaded its tasks back; returns the outcomes that it has not stored, in their order."""
        kept = self._of.pop(run.id, None)
        if kept is None:
            return {}
        for token_id, work in kept.under_way.items():
            if _is_working(run, token_id):
                run.tasks[token_id] = work
            else:
                # A transform that began before it was durable, or the commit was stored after all and aborts it.
                work.cancel()
        return {token_id: ended for token_id, ended in kept.ended.items() if _is_working(run, token_id)}

    def kept_of(self, run_ids: Iterable[str]) -> list[str]:
        """Say which of these runs have tasks here."""
        return [run_id for run_id in run_ids if run_id in self._of] if self._of else []

    def discard(self, run_ids: Iterable[str]) -> None:
        """Abort and forget the tasks of runs that do not go on here."""
        for run_id in run_ids:
            if kept := self._of.pop(run_id, None):
                for work in kept.under_way.values():
                    work.cancel()

    def discard_all(self) -> None:
        """Abort and forget all tasks."""
        self.discard(list(self._of))


def _is_working(run: LiveRun, token_id: str) -> bool:
    token = run.state.tokens.get(token_id)
    return token is not None and token.status in _WORKING
