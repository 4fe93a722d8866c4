"""Retry and fork: a new run that begins where another one was, which stays as it is (CTL-19)."""

from collections.abc import Callable

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.starting import Starter, live_run
from wonder.engine.decisions import RecordEvent
from wonder.engine.fork import fork, retry_point, snapshot_at
from wonder.language.values import JsonValue, check_value
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.looking import events_of_run
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import NewRun, Origin

Also = Callable[[Batch, str], None]


class Forker:
    """Makes new runs out of the events of old ones."""

    def __init__(self, coordinator: Coordinator, starter: Starter) -> None:
        self._coordinator, self._starter = coordinator, starter

    async def retry(self, run_id: str, also: Also | None = None, origin: Origin | None = None) -> str:
        """Begin a failed run again just before its failure; give the new run's id. Raises NotFound or ForkRefused.

        `origin` is that of a triggered run which its trigger has retried (PHS-6).
        """
        return await self._begin(run_id, None, None, also, origin)

    async def fork(self, run_id: str, after: int, state: JsonValue = None, also: Also | None = None) -> str:
        """Begin a new run as another was after an event, with another state if one is given.

        Raises NotFound or ForkRefused.
        """
        if state is not None:
            check_value(state)
        return await self._begin(run_id, after, state, also)

    async def _begin(
        self, run_id: str, after: int | None, state: JsonValue, also: Also | None, origin: Origin | None = None
    ) -> str:
        coordinator = self._coordinator
        header = await load_header(coordinator.store, run_id)
        events = await self._events(run_id)
        snapshot = snapshot_at(events, retry_point(events) if after is None else after)
        program = await coordinator.programs.get(header.workflow_def_id, header.workflow_version)
        settings = await self._starter.settings(header.project_id)
        now_ms = coordinator.clock.now_ms()
        new_run = NewRun(
            id=coordinator.new_id(),
            project_id=header.project_id,
            workflow_id=header.workflow_id,
            workflow_def_id=header.workflow_def_id,
            workflow_version=header.workflow_version,
            input=snapshot.run.input,
            created_ms=now_ms,
            retry_of_run_id=run_id if after is None else None,
            forked_from_run_id=None if after is None else run_id,
            forked_from_sequence=after,
            origin=origin,
        )
        run = live_run(new_run, program, settings)
        decisions = fork(
            run.state,
            snapshot,
            now_ms=now_ms,
            new_id=coordinator.new_id,
            state=state,
            # What took too long would else do so again at once, however often its trigger retries it; and the
            # trigger's own time-out is none of what a person makes of its run.
            whole_timeout=origin is not None or header.origin is not None,
        )
        coordinator.check_running()
        self._starter.take_on(new_run)
        if also:
            also(coordinator.commits.batch, run.id)
        coordinator.commits.batch.start(new_run)
        coordinator.adopt(run)
        if run.state.status == "running":
            self._starter.admission.hold_place(run.project_id, run.id)
        coordinator.commits.add(run, decisions, now_ms)
        await coordinator.durable()
        return run.id

    async def _events(self, run_id: str) -> list[RecordEvent]:
        events: list[RecordEvent] = []
        while page := await events_of_run(self._coordinator.store, run_id, after=events[-1].sequence if events else 0):
            events += page
        return events
