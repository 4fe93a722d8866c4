"""Retry and fork: a new run that begins where another one was, which stays as it is (CTL-19)."""

from collections.abc import Callable

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.orders import RetryVersion
from wonder.coordinator.programs import Program
from wonder.coordinator.starting import Starter, live_run
from wonder.engine.fork import Rewind, fork, retry_point
from wonder.engine.moving import moved
from wonder.engine.restore import Snapshot
from wonder.language.values import JsonValue, check_value
from wonder.storage.definitions import newest_version
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.reading import EVENTS_PER_PAGE, each_event, events_of_run
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import NewRun, TriggerOrigin
from wonder.storage.store import Reader

Also = Callable[[Batch, str], None]


class Forker:
    """Makes new runs out of the events of old ones."""

    def __init__(self, coordinator: Coordinator, starter: Starter) -> None:
        self._coordinator, self._starter = coordinator, starter

    async def retry(
        self,
        run_id: str,
        also: Also | None = None,
        origin: TriggerOrigin | None = None,
        *,
        version: RetryVersion = None,
        is_ours: bool = True,
    ) -> str:
        """Begin a failed run again just before its failure; give the new run's id. Raises NotFound or ForkRefused.

        With a `version` it goes on with that version of its workflow, if all that is live has a place there. `origin`
        is that of a triggered run which its trigger has retried (PHS-6). One that is not ours is left to others, as by
        a start.
        """
        return await self._begin(run_id, None, None, also, origin, version=version, is_ours=is_ours)

    async def fork(
        self, run_id: str, after: int, state: JsonValue = None, also: Also | None = None, *, is_ours: bool = True
    ) -> str:
        """Begin a new run as another was after an event, with another state if one is given.

        Raises NotFound or ForkRefused.
        """
        if state is not None:
            check_value(state)
        return await self._begin(run_id, after, state, also, is_ours=is_ours)

    async def _begin(
        self,
        run_id: str,
        after: int | None,
        state: JsonValue,
        also: Also | None,
        origin: TriggerOrigin | None = None,
        *,
        version: RetryVersion = None,
        is_ours: bool,
    ) -> str:
        coordinator = self._coordinator
        header = await load_header(coordinator.store, run_id)
        store = coordinator.store
        snapshot = await load_run_at(store, header, await _retry_point(store, header) if after is None else after)
        program = await coordinator.programs.get(header.workflow_def_id, header.workflow_version)
        if version is not None:
            program, snapshot = await self._moved(header, program, snapshot, version)
        settings = await self._starter.settings(header.project_id)
        now_ms = coordinator.clock.now_ms()
        new_run = NewRun(
            id=coordinator.new_id(),
            project_id=header.project_id,
            workflow_id=header.workflow_id,
            workflow_def_id=header.workflow_def_id,
            workflow_version=program.definition.version,
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
        if is_ours:
            self._starter.take_on(new_run)
        if also:
            also(coordinator.commits.batch, run.id)
        coordinator.commits.batch.start(new_run)
        coordinator.residency.adopt(run)
        if run.state.status == "running":
            self._starter.admission.hold_place(run.project_id, run.id)
        coordinator.commits.add(run, decisions, now_ms)
        await coordinator.durable()
        return run.id

    async def _moved(
        self, header: RunHeader, program: Program, snapshot: Snapshot, version: RetryVersion
    ) -> tuple[Program, Snapshot]:
        """Give the program of another version, and the run as it is there."""
        store = self._coordinator.store
        wanted = await newest_version(store, header.workflow_def_id) if version == "latest" else version
        assert isinstance(wanted, int)
        if wanted == header.workflow_version:
            return program, snapshot
        new = await self._coordinator.programs.get(header.workflow_def_id, wanted)
        return new, moved(snapshot, program.definition, new.definition, new.workflow)


async def load_run_at(reader: Reader, header: RunHeader, after: int) -> Snapshot:
    """Give a run as it was after an event; events are read in pages, as a long run does not fit into memory.

    Raises ForkRefused.
    """
    following = None
    if after < header.sequence:
        following = await anext(each_event(reader, header.id, after=after, limit=1), None)
    rewind = Rewind(after, following)
    async for event in each_event(reader, header.id):
        if event.sequence > rewind.after:
            break
        rewind.take(event)
    return rewind.result()


async def _retry_point(reader: Reader, header: RunHeader) -> int:
    """Find the event after which a failed run begins again; its failure is among its last events."""
    until = header.sequence if header.status == "failed" else 0
    while until > 0:
        page = await events_of_run(reader, header.id, after=max(until - EVENTS_PER_PAGE, 0), limit=EVENTS_PER_PAGE)
        if any(event.type == "workflow_failed" for event in page):
            return retry_point(page)
        until -= EVENTS_PER_PAGE
    return retry_point(())
