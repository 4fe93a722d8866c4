"""The coordinator with all that acts on its decisions and brings it facts."""

from collections.abc import Callable, Iterable, Sequence

from wonder.clock import Clock
from wonder.coordinator.calls import Calls
from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.forking import Forker
from wonder.coordinator.kept_events import KeptEvents
from wonder.coordinator.live import LiveRun
from wonder.coordinator.news import EngineNews, news_of
from wonder.coordinator.outside import Outside
from wonder.coordinator.quarantine import Quarantine
from wonder.coordinator.recovery import Recovery
from wonder.coordinator.requests import Orders
from wonder.coordinator.retrying import Retries
from wonder.coordinator.scheduling import Scheduler
from wonder.coordinator.starting import Starter
from wonder.coordinator.trigger_families import TriggerFamilies
from wonder.coordinator.triggering import Triggers
from wonder.coordinator.unloaded import Unloaded
from wonder.coordinator.worker import Worker
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.resources import VectorIndex
from wonder.engine.decisions import AwaitEvent, ControlChild, EndRun, FireTriggers, RetryRun, StartChild
from wonder.errors import WonderError
from wonder.storage.runs.leases import Lease
from wonder.storage.store import NewId, Store


class Collaborators:
    """Makes a coordinator and its collaborators; it is what the coordinator knows of them (effects.Effects)."""

    def __init__(
        self,
        store: Store,
        lease: Lease,
        worker: Worker,
        clock: Clock,
        new_id: NewId,
        *,
        prepare: Callable[[Iterable[ActionDef]], None],
        on_stop: Callable[[], None],
        function_sources: Sequence[str] = (),
        has_function: Callable[[str], bool] = lambda _: True,
        news: EngineNews | None = None,
        index_vectors: Callable[[VectorIndex], None] | None = None,
    ) -> None:
        """Make them.

        `prepare` gets the actions of each workflow that is loaded, `on_stop` is called when it stops, `has_function`
        says whether this process may have a function.
        """
        self._prepare, self._on_stop, self._news = prepare, on_stop, news
        self.coordinator = coordinator = Coordinator(store, lease, worker, clock, new_id, effects=self)
        self.starter = starter = Starter(coordinator)
        self.calls = Calls(coordinator, starter)
        self.unloaded = Unloaded(coordinator, starter)
        self.quarantine = Quarantine(coordinator, starter, self.unloaded, lease)
        self._kept_events = KeptEvents(coordinator)
        self.outside = Outside(coordinator, self.unloaded, self._kept_events)
        self.forker = Forker(coordinator, starter)
        families = TriggerFamilies(coordinator, starter.family_bytes)
        self._retries = Retries(coordinator, starter, self.forker, families)
        self.triggers = Triggers(coordinator, starter, self._retries, families)
        self.recovery = Recovery(coordinator, starter, self.calls, self.outside, self.triggers, has_function)
        self.scheduler = Scheduler(coordinator, starter, self.outside)
        self.orders = Orders(
            coordinator, starter, self.outside, self.forker, self.scheduler, function_sources, index_vectors
        )

    def start_child(self, run: LiveRun, order: StartChild) -> None:
        """Start a sub-workflow."""
        self.calls.call(run, order)

    def control_child(self, run: LiveRun, order: ControlChild) -> None:
        """Cancel, pause or resume a sub-workflow."""
        self.calls.control(run, order)

    def await_event(self, run: LiveRun, order: AwaitEvent) -> None:
        """Look for an event that came before a token waited for it."""
        self._kept_events.begin_to_wait(run, order)

    def fire_triggers(self, run: LiveRun, order: FireTriggers) -> None:
        """Start the runs that the triggers of a completed run ask for."""
        self.triggers.begin(run, order)

    def retry_run(self, run: LiveRun, order: RetryRun) -> None:
        """Retry a triggered run that has failed, after a pause."""
        self._retries.begin(run, order)

    def make_retry(self, run_id: str) -> None:
        """Make a retry whose pause is over."""
        self._retries.make(run_id)

    def note_status(self, run: LiveRun, status: str) -> None:
        """Count the runs of a project that go."""
        self.starter.admission.note_status(run, status)
        if self._news is not None and not run.is_told and run.state.begun:
            run.is_told = True
            if run.parent_run_id is None:
                self._news.tell_run(news_of(run, "started"))

    def note_end(self, run: LiveRun, end: EndRun) -> None:
        """Count the runs of a project that go, and tell how one has ended."""
        self.note_status(run, end.status)
        if self._news is not None and run.parent_run_id is None:
            self._news.tell_run(news_of(run, end.status, end.failure))

    def note_stop(self, error: WonderError) -> None:
        """Pass on that the coordinator has stopped."""
        self._on_stop()

    def note_program(self, actions: Iterable[ActionDef]) -> None:
        """Prepare for the actions of a workflow that was just loaded."""
        self._prepare(actions)

    async def load(self, run_ids: Sequence[str]) -> list[LiveRun]:
        """Load runs from their rows, without those that do not exist, have ended or may not be loaded."""
        return await self.recovery.load(run_ids)

    async def cancel_unloaded(self, run_id: str, reason: str | None) -> bool:
        """Cancel a run by its rows alone if it is too large to be loaded, or quarantined; False if it is neither."""
        return await self.unloaded.cancel(run_id, reason)

    async def catch_up(self) -> None:
        """Do again what was to follow from durable decisions, and was lost with a commit that failed."""
        await self.recovery.reconcile()
