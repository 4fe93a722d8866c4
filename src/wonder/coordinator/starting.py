"""Starting runs: input checked, key looked up, and durable before anybody hears of it (CTL-17)."""

from collections.abc import Callable
from typing import NamedTuple

from wonder.coordinator.admission import Admission
from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import CommitFailed, InputRefused, KeyNeedsWorkflow, ProjectArchived, WorkflowDisabled
from wonder.coordinator.family_bytes import FamilyBytes
from wonder.coordinator.live import LiveRun
from wonder.coordinator.programs import Program
from wonder.coordinator.sharing import SharedReads
from wonder.definitions.records.tenancy import ProjectSettings
from wonder.definitions.records.workflows import Startable
from wonder.engine.control import check_input
from wonder.engine.facts import RunStarted
from wonder.engine.limits import Limits
from wonder.engine.state import RunState
from wonder.language.keys import check_key
from wonder.language.values import JsonValue, check_value, is_plain
from wonder.storage.definitions import newest_version, newest_version_at_once, require_version
from wonder.storage.runs.headers import load_headers
from wonder.storage.runs.loading import LoadedRun
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.records import NewRun, TriggerOrigin
from wonder.storage.runs.starting import Accepted, Starts, input_hash
from wonder.storage.tenancy import load_project
from wonder.storage.tenants import is_archived

_SETTINGS_MS = 1_000


class _KnownProject(NamedTuple):
    """A project as it was read a moment ago."""

    read_ms: float
    settings: ProjectSettings
    is_archived: bool


class Starter:
    """Starts runs on a coordinator."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._starts = Starts()
        self._known_projects: dict[str, _KnownProject] = {}
        self._projects = SharedReads[str, _KnownProject](self._load_project)
        self._newest_versions = SharedReads[str, int](lambda id: newest_version(coordinator.store.unsettled, id))
        self.admission = Admission(coordinator, self._concurrent_runs_max)
        self.family_bytes = FamilyBytes(coordinator)
        self._starting = 0
        self.takes_on = True
        """Whether tasks of the runs that are started here are run here, where those of others are not."""

    async def start(
        self,
        workflow: Startable,
        run_input: JsonValue,
        *,
        version: int | None = None,
        idempotency_key: str | None = None,
        also: Callable[[Batch, str], None] | None = None,
        is_ours: bool = True,
    ) -> Accepted:
        """Start a run, or find the one that has the key already; durable when this returns.

        A `version` is run whatever is pinned; without one it is the pinned or the newest (RES-3).
        `also` puts something into the same commit; it is given the id of the run. One that is not ours is left to the
        process that asked for it, where this one runs only its own.
        Raises NotFound, WorkflowDisabled, ProjectArchived, InputRefused, KeyRefused, KeyNeedsWorkflow or
        IdempotencyKeyReused before anything is stored.
        """
        if idempotency_key is not None:
            if workflow.id is None:
                raise KeyNeedsWorkflow(workflow.name)
            check_key("the idempotency key", idempotency_key)
        if not workflow.enabled:
            raise WorkflowDisabled(workflow.name)
        if version is not None:
            reader = self._coordinator.store.unsettled
            await require_version(reader, workflow.workflow_def_id, version, name=workflow.name)
        coordinator = self._coordinator
        if not is_plain(run_input):
            check_value(run_input)
        self._starting += 1
        try:
            program = await self.program(workflow.workflow_def_id, version or workflow.pinned_version)
            settings = await self.settings(workflow.project_id)
            if self._known_projects[workflow.project_id].is_archived:
                raise ProjectArchived(workflow.name)
        finally:
            self._starting -= 1
        filled, faults = check_input(program.workflow, run_input)
        if faults:
            raise InputRefused(f"the input of {workflow.name!r}", faults)
        new_run = NewRun(
            id=coordinator.new_id(),
            project_id=workflow.project_id,
            workflow_id=workflow.id,
            workflow_def_id=program.definition.id,
            workflow_version=program.definition.version,
            input=filled,
            created_ms=coordinator.clock.now_ms(),
            idempotency_key=idempotency_key,
            input_hash=input_hash(run_input) if idempotency_key is not None else None,
        )
        return await self._accept(new_run, program, settings, also, is_ours=is_ours)

    async def _accept(
        self,
        new_run: NewRun,
        program: Program,
        settings: ProjectSettings,
        also: Callable[[Batch, str], None] | None,
        *,
        is_ours: bool,
    ) -> Accepted:
        """Begin a run, or find the one that has its key already; durable when this returns."""
        coordinator = self._coordinator
        while True:
            accepted = await self._starts.accept(coordinator.store, new_run)
            # From here on nothing is waited for: a second start with the key finds the first in the open batch.
            coordinator.check_running()
            if accepted.is_new:
                if also:
                    also(coordinator.commits.batch, accepted.run_id)
                self.begin(new_run, program, settings, is_ours=is_ours)
                try:
                    await coordinator.durable()
                finally:
                    self._starts.forget(new_run)
                return accepted
            # The first start with this key may have failed in the moment when we found it: nobody hears of its run,
            # not even by what is put into a commit, before it is there.
            await coordinator.durable()
            if await load_headers(coordinator.store, [accepted.run_id]):
                await self._tell(accepted.run_id, also)
                return accepted

    async def _tell(self, run_id: str, also: Callable[[Batch, str], None] | None) -> None:
        if also:
            self._coordinator.check_running()
            also(self._coordinator.commits.batch, run_id)
            self._coordinator.commits.touch()
            await self._coordinator.durable()

    def begin(self, new_run: NewRun, program: Program, settings: ProjectSettings, *, is_ours: bool = True) -> None:
        """Put an accepted run into the open batch; it is durable with the next commit.

        A root run starts now or is queued (admission.py); a sub-workflow starts now.
        """
        coordinator = self._coordinator
        run = live_run(new_run, program, settings)
        self.family_bytes.enter(run)
        if is_ours:
            self.take_on(new_run)
        try:
            coordinator.commits.batch.start(new_run)
        except Exception as error:
            # Half of its rows may be in the batch: none of them may be written.
            coordinator.commits.fail_open(CommitFailed(error))
            raise
        coordinator.residency.adopt(run)
        if new_run.parent_run_id is None:
            limit = settings.rate_limits.max_concurrent_runs
            self.admission.enter(run, new_run.input, limit, is_patient=new_run.origin is not None)
        else:
            coordinator.take(run, RunStarted(new_run.input))

    def take_on(self, new_run: NewRun) -> None:
        """Let the tasks of a run that is started here be run here, with those of its parent."""
        mine, parent_id = self._coordinator.tasks.mine, new_run.parent_run_id
        if mine is not None and self.takes_on and (parent_id is None or parent_id in mine):
            mine.add(new_run.id)

    def was_ours(self, run_id: str) -> bool:
        """Say whether what follows from a run that has ended, as its triggers do, is run here."""
        return self._coordinator.tasks.mine is None or run_id in self._coordinator.tasks.were_mine

    async def restored(self, loaded: LoadedRun) -> LiveRun:
        """Make a run in memory out of one that was loaded."""
        header = loaded.header
        program = await self._coordinator.programs.get(header.workflow_def_id, header.workflow_version)
        settings = await self.settings(header.project_id)
        loaded.run.limits = limits_of(settings, header.origin)
        place = (header.depth, header.parent_run_id, header.parent_token_id, header.origin)
        run = LiveRun(loaded.run, program, header.project_id, settings.snapshot_policy, *place, header.bytes_written)
        if run.origin is not None or run.parent_run_id is not None:
            await self.family_bytes.join(run)
        else:
            self.family_bytes.enter(run)
        run.is_told = loaded.run.begun
        return run

    async def program(self, workflow_def_id: str, version: int | None) -> Program:
        """Give the program of a definition version, or of the newest."""
        if version is None:
            # The newest when it is started; a new version never changes a run under way (RES-4).
            version = self._newest_at_once(workflow_def_id) or await self._newest_versions.get(workflow_def_id)
        return await self._coordinator.programs.get(workflow_def_id, version)

    def _newest_at_once(self, workflow_def_id: str) -> int | None:
        # Only for a lone start: many at the same moment share one answer.
        coordinator = self._coordinator
        is_lone = self._starting <= 1 and not len(coordinator.residency)
        return newest_version_at_once(coordinator.store, workflow_def_id) if is_lone else None

    async def settings(self, project_id: str) -> ProjectSettings:
        """Give a project's settings, at most a second old."""
        now_ms = self._coordinator.clock.monotonic_ms()
        known = self._known_projects.get(project_id)
        if known is None or now_ms - known.read_ms > _SETTINGS_MS:
            known = self._known_projects[project_id] = await self._projects.get(project_id)
        return known.settings

    async def _load_project(self, project_id: str) -> "_KnownProject":
        read_ms, reader = self._coordinator.clock.monotonic_ms(), self._coordinator.store.unsettled
        settings = (await load_project(reader, project_id)).settings
        return _KnownProject(read_ms, settings, await is_archived(reader, project_id))

    async def _concurrent_runs_max(self, project_id: str) -> int | None:
        return (await self.settings(project_id)).rate_limits.max_concurrent_runs


def live_run(new_run: NewRun, program: Program, settings: ProjectSettings) -> LiveRun:
    """Make a run that has not begun."""
    state = RunState(new_run.id, program.workflow, limits_of(settings, new_run.origin))
    place = (new_run.depth, new_run.parent_run_id, new_run.parent_token_id, new_run.origin)
    return LiveRun(state, program, new_run.project_id, settings.snapshot_policy, *place)


def limits_of(settings: ProjectSettings, origin: TriggerOrigin | None) -> Limits:
    """Give what a project allows each of its runs, and a trigger those that it starts."""
    allowed = settings.run_limits
    return Limits(
        settings.foreach_limit,
        timeout_ms=None if origin is None else origin.timeout_ms,
        on_timeout="fail" if origin is None else origin.on_timeout,
        retries_left=0 if origin is None else origin.retries_left,
        live_tokens=allowed.live_tokens,
        tokens=allowed.tokens,
        events=allowed.events,
        context_bytes=allowed.context_bytes,
        bytes_written=allowed.bytes_written,
        pure_steps=allowed.pure_steps,
        evaluation_steps=allowed.evaluation_steps,
        record_io=settings.record_io,
        function_wait_ms=allowed.function_wait_ms,
    )
