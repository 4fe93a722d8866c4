"""Admission: how many runs of a project go at a time, and which one starts next (RES-6)."""

from collections.abc import Awaitable, Callable

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.live import LiveRun
from wonder.engine.facts import RunQueued, RunStarted
from wonder.language.values import JsonValue
from wonder.storage.runs.reconciling import counted_runs, projects_with_queued_runs, queued_runs

Limit = int | None
_COUNTED = ("running", "paused")
# Triggers may start any number of runs. With so many in memory, further ones wait in the queue, where they take none.
_CROWD = 5_000


class Admission:
    """Lets root runs start at once, or queues them when their project has its `max_concurrent_runs` going.

    A run that waits is not counted. When it goes on, it does so at once, and others start later.
    """

    def __init__(self, coordinator: Coordinator, limit_of: Callable[[str], Awaitable[Limit]]) -> None:
        self._coordinator, self._limit_of = coordinator, limit_of
        self._counted: dict[str, set[str]] = {}
        # Projects in which a run may be queued, and how often one was: a look that finds none forgets the project,
        # unless one was queued while it looked.
        self._queued: dict[str, int] = {}
        self._looking: set[str] = set()

    async def load(self) -> None:
        """Learn which runs go and which wait for their start, when an engine begins with all runs of its database."""
        for run_id, project_id in await counted_runs(self._coordinator.store):
            self._counted.setdefault(project_id, set()).add(run_id)
        for project_id in await projects_with_queued_runs(self._coordinator.store):
            self._queued.setdefault(project_id, 0)
            self._look(project_id)

    def enter(self, run: LiveRun, run_input: JsonValue, limit: Limit, *, is_patient: bool = False) -> None:
        """Start a root run, or queue it; one that nobody waits for is patient, and also queues when memory is full."""
        project_id = run.project_id
        full = limit is not None and len(self._counted.get(project_id, ())) >= limit
        if limit is None and is_patient:
            full = self._is_crowded
        if not (full or project_id in self._queued) or (limit is None and not is_patient):
            self._start(run, run_input)
            return
        self._queued[project_id] = self._queued.get(project_id, 0) + 1
        self._coordinator.take(run, RunQueued())

    def hold_place(self, project_id: str, run_id: str) -> None:
        """Count a run that begins otherwise, or keep the place of one that has ended for the one that retries it."""
        self._counted.setdefault(project_id, set()).add(run_id)

    def free_place(self, project_id: str, run_id: str) -> None:
        """Count a run no longer."""
        self._counted.setdefault(project_id, set()).discard(run_id)
        if project_id in self._queued:
            self._look(project_id)

    def look(self) -> None:
        """Look whether queued runs may start: a project's settings may have changed."""
        for project_id in self._queued:
            self._look(project_id)

    @property
    def _is_crowded(self) -> bool:
        return len(self._coordinator.residency) >= _CROWD

    def _start(self, run: LiveRun, run_input: JsonValue) -> None:
        self._counted.setdefault(run.project_id, set()).add(run.id)
        self._coordinator.take(run, RunStarted(run_input))

    def note_status(self, run: LiveRun, status: str) -> None:
        """Note the durable status of a run."""
        if run.parent_run_id is not None:
            return
        counted = self._counted.setdefault(run.project_id, set())
        if status in _COUNTED and run.state.begun:
            counted.add(run.id)
            return
        if status == "queued":
            self._queued[run.project_id] = self._queued.get(run.project_id, 0) + 1
        counted.discard(run.id)
        if run.project_id in self._queued:
            self._look(run.project_id)

    def _look(self, project_id: str) -> None:
        if project_id not in self._looking:
            self._looking.add(project_id)
            self._coordinator.spawn(self._admit(project_id))

    async def _admit(self, project_id: str) -> None:
        """Start as many of a project's queued runs as may go, in order."""
        background = self._coordinator.background
        try:
            await background.insist("queued runs can't be looked for", lambda: self._admit_in_order(project_id))
        finally:
            self._looking.discard(project_id)

    async def _admit_in_order(self, project_id: str) -> None:
        coordinator, counted = self._coordinator, self._counted.setdefault(project_id, set())
        after, known = "", self._queued.get(project_id)
        while True:
            # What is queued in a batch that is not durable could not be found.
            await coordinator.durable()
            limit = await self._limit_of(project_id)
            if self._is_crowded or (limit is not None and len(counted) >= limit):
                return
            found = await queued_runs(coordinator.store, project_id, after=after)
            if not found:
                if self._queued.get(project_id) == known:
                    self._queued.pop(project_id, None)
                    return
                # One may have been queued behind our back, with an id from before.
                after, known = "", self._queued.get(project_id)
                continue
            wanted = [run_id for run_id in found if coordinator.tasks.mine is None or run_id in coordinator.tasks.mine]
            chosen = wanted if limit is None else wanted[: max(0, limit - len(counted))]
            if wanted and not chosen:
                # One that had waited went on while we looked.
                return
            # All at once, because loading one takes as long as loading many.
            for run in await coordinator.residency.hold(chosen):
                if run.state.status == "queued" and (limit is None or len(counted) < limit):
                    self._start(run, run.state.input)
                coordinator.residency.let_go(run)
            after = found[-1] if len(chosen) == len(wanted) else chosen[-1]
