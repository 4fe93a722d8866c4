"""Orders carried out, for this process and for others, whose requests are answered in the same commit (CMD-5)."""

import logging
from collections.abc import Callable, Sequence
from typing import assert_never

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import EngineStopped, NoVectors
from wonder.coordinator.forking import Forker
from wonder.coordinator.orders import (
    AnswerItem,
    AnyOrder,
    CancelRun,
    ClaimItem,
    DelegateItem,
    FireSchedule,
    ForkRun,
    IndexVectors,
    PauseRun,
    ReleaseItem,
    ResumeRun,
    RetryRun,
    SendEvent,
    StartRun,
    order_of,
)
from wonder.coordinator.outside import Also, Outside
from wonder.coordinator.questions import Questions
from wonder.coordinator.scheduling import Scheduler
from wonder.coordinator.starting import Starter
from wonder.coordinator.targets import load_library_workflow
from wonder.definitions.records.resources import VectorIndex
from wonder.definitions.records.workflows import Startable, Workflow
from wonder.engine.gates import Person
from wonder.errors import WonderError
from wonder.language.values import JsonValue
from wonder.storage.own_resources import load_own_resource, load_own_schedule
from wonder.storage.runs.own_runs import load_own_item, load_own_run
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.requests import Request, pending_requests

log = logging.getLogger("wonder.coordinator")

Started = Callable[[Batch, str], None]
"""Puts something into the commit that starts a run, whose id it is given."""


class Orders:
    """Carries out what is asked of the engine, by this process or by another."""

    def __init__(
        self,
        coordinator: Coordinator,
        starter: Starter,
        outside: Outside,
        forker: Forker,
        scheduler: Scheduler,
        function_sources: Sequence[str] = (),
        index_vectors: Callable[[VectorIndex], None] | None = None,
    ) -> None:
        self._coordinator, self._starter, self._outside, self._forker = coordinator, starter, outside, forker
        self._scheduler, self._index_vectors = scheduler, index_vectors
        self._questions = Questions(coordinator)
        self._function_sources = list(function_sources)
        self._under_way: set[str] = set()
        # Those that are done since the last look began: what it reads may be from before, and still have them.
        self._done: set[str] = set()

    async def carry_out(
        self,
        order: AnyOrder,
        project_id: str,
        *,
        started: Started | None = None,
        also: Also | None = None,
        is_ours: bool = True,
    ) -> JsonValue:
        """Carry out an order of a project and give its result; durable when this returns.

        `started` or `also` puts something into the same commit. A run that is not ours is left to the process that
        asked for it, where this one runs only its own. Raises NotFound for what the project does not have (INV-7).
        """
        await self._require(order, project_id)
        match order:
            case StartRun():
                workflow = await self._startable(order, project_id)
                key = order.idempotency_key
                accepted = await self._starter.start(
                    workflow,
                    order.input,
                    version=order.version,
                    idempotency_key=key,
                    also=started,
                    is_ours=is_ours,
                )
                return {"run_id": accepted.run_id}
            case RetryRun():
                retried = self._forker.retry(order.run_id, also=started, version=order.version, is_ours=is_ours)
                return {"run_id": await retried}
            case ForkRun():
                forked = self._forker.fork(order.run_id, order.after, order.state, also=started, is_ours=is_ours)
                return {"run_id": await forked}
            case FireSchedule():
                return {"run_id": await self._scheduler.fire(order.schedule_id, also=started, is_ours=is_ours)}
            case IndexVectors():
                index = await load_own_resource(self._coordinator.store, VectorIndex, project_id, order.index_id)
                if self._index_vectors is None:
                    raise NoVectors()
                self._index_vectors(index)
                await self._answer(also)
            case CancelRun():
                await self._outside.cancel(order.run_id, order.reason, also=also)
            case PauseRun():
                await self._outside.pause(order.run_id, also=also)
            case ResumeRun():
                await self._outside.resume(order.run_id, also=also)
            case AnswerItem() | ClaimItem() | ReleaseItem() | DelegateItem():
                await self._take_question(order, also)
            case SendEvent():
                await self._send(order, project_id, also)
            case _:
                assert_never(order)
        return None

    async def _take_question(
        self, order: AnswerItem | ClaimItem | ReleaseItem | DelegateItem, also: Also | None
    ) -> None:
        person = Person(order.by, order.role, order.is_model)
        match order:
            case AnswerItem():
                await self._questions.answer(order.item_id, order.answer, person, also=also)
            case ClaimItem():
                await self._questions.claim(order.item_id, person, also=also)
            case ReleaseItem():
                await self._questions.release(order.item_id, person, also=also)
            case DelegateItem():
                await self._questions.delegate(order.item_id, person, order.to, also=also)
            case _:
                assert_never(order)

    async def _require(self, order: AnyOrder, project_id: str) -> None:
        """Raise NotFound if an order is about something that its project does not have (INV-7)."""
        store = self._coordinator.store
        match order:
            case RetryRun() | ForkRun() | CancelRun() | PauseRun() | ResumeRun():
                # The row of a run is never logged: it is there before anybody hears of its id.
                await load_own_run(store.unsettled, project_id, order.run_id)
            case FireSchedule():
                await load_own_schedule(store, project_id, order.schedule_id)
            case AnswerItem() | ClaimItem() | ReleaseItem() | DelegateItem():
                await load_own_item(store, project_id, order.item_id)
            case StartRun() | SendEvent() | IndexVectors():
                pass  # A start loads its workflow for the project, an index likewise, and an event belongs to it.
            case _:
                assert_never(order)

    async def _startable(self, order: StartRun, project_id: str) -> Startable:
        """Load what is to be started, for the project that asks; raises NotFound."""
        store = self._coordinator.store
        if order.workflow_def_id is not None:
            name = order.name or order.workflow_def_id
            return await load_library_workflow(store, project_id, order.workflow_def_id, name)
        return await load_own_resource(store, Workflow, project_id, order.workflow_id or "")

    async def _answer(self, also: Also | None) -> None:
        """Write down the answer to an order that changes no run."""
        if also:
            also(self._coordinator.commits.batch)
            self._coordinator.commits.touch()
            await self._coordinator.durable()

    async def _send(self, order: SendEvent, project_id: str, also: Also | None) -> None:
        await self._outside.send_event(
            project_id,
            order.event,
            order.key,
            order.payload,
            sender_id=order.sender_id,
            ttl_seconds=order.ttl_seconds,
            also=also,
        )

    @property
    def requests_under_way(self) -> int:
        """How many requests of other processes are being carried out."""
        return len(self._under_way)

    async def look_for_requests(self) -> None:
        """Begin with all requests of other processes that are new; called again only when it has returned."""
        self._done.clear()
        for request in await pending_requests(self._coordinator.store):
            if request.id not in self._under_way and request.id not in self._done:
                self._under_way.add(request.id)
                self._coordinator.spawn(self._serve(request))

    async def _serve(self, request: Request) -> None:
        try:
            await self._carry_out_request(request)
        except EngineStopped:
            raise  # The next engine carries it out.
        except WonderError as error:
            await self._refuse(request, error.code, str(error))
        except Exception as error:
            log.exception("the request %s (%s) can't be carried out", request.id, request.kind)
            await self._refuse(request, "BAD_REQUEST", f"{type(error).__name__}: {error}")
        finally:
            self._under_way.discard(request.id)
            self._done.add(request.id)

    async def _carry_out_request(self, request: Request) -> None:
        order, project_id = order_of(request.kind, request.payload)

        def answer(batch: Batch, result: JsonValue = None) -> None:
            batch.answer_request(request.id, self._coordinator.clock.now_ms(), result)

        def started(batch: Batch, run_id: str) -> None:
            answer(batch, {"run_id": run_id})

        # A process with other folders or modules may mean another function by the same name. And one that runs
        # anybody's runs allows them less than a person's own may do, so that those are never done here.
        is_ours = self._coordinator.tasks.mine is None or (
            isinstance(order, StartRun) and order.function_sources == self._function_sources
        )
        await self.carry_out(order, project_id, started=started, also=answer, is_ours=is_ours)

    async def _refuse(self, request: Request, code: str, message: str) -> None:
        shown: JsonValue = {"code": code, "message": message}
        self._coordinator.commits.batch.answer_request(request.id, self._coordinator.clock.now_ms(), error=shown)
        self._coordinator.commits.touch()
        await self._coordinator.durable()
