"""Calls: sub-workflows as their callers see them: started, steered, and started again where that got lost (ACT-5)."""

import logging
from collections.abc import Awaitable, Callable

from wonder.coordinator.call_trees import CallTrees
from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import EngineStopped
from wonder.coordinator.family_bytes import refusal
from wonder.coordinator.keyed_calls import KeyedCalls, WaitsFor
from wonder.coordinator.live import LiveRun
from wonder.coordinator.programs import Program
from wonder.coordinator.starting import Starter
from wonder.coordinator.targets import find_called
from wonder.definitions.records.tenancy import ProjectSettings
from wonder.engine.control import check_input
from wonder.engine.decisions import ControlChild, StartChild
from wonder.engine.facts import CancelRequested, ChildEnded, Fact, PauseRequested, ResumeRequested
from wonder.engine.failure import Failure, engine_failure, misfit
from wonder.engine.state import Token
from wonder.engine.views import view_from
from wonder.engine.waiting_tasks import CallWait
from wonder.engine.waits import call_order
from wonder.errors import WonderError
from wonder.language.values import JsonValue
from wonder.storage.errors import PASSING
from wonder.storage.runs.headers import load_headers
from wonder.storage.runs.reading import EndedChild, ended_children
from wonder.storage.runs.reconciling import StrayChild, calls_without_child, stray_children
from wonder.storage.runs.records import NewRun

_WITH_PARENT = "its parent was paused"
_CONTROL: dict[str, Callable[[], Fact]] = {
    "cancel": lambda: CancelRequested("its parent was cancelled"),
    "pause": lambda: PauseRequested(_WITH_PARENT),
    "resume": ResumeRequested,
}

Prepared = tuple[Program, JsonValue, ProjectSettings]

log = logging.getLogger("wonder.coordinator")


class Calls:
    """Starts sub-workflows on a coordinator, and hands orders down to them."""

    def __init__(self, coordinator: Coordinator, starter: Starter) -> None:
        self._coordinator, self._starter = coordinator, starter
        self._trees = CallTrees(coordinator)
        self._keyed = KeyedCalls(coordinator)
        # Children that are being started: a child is started once, whoever asks for it.
        self._under_way: set[str] = set()

    async def reconcile(self) -> None:
        """Bring callers and sub-workflows into line, where a process ended or a commit failed between the two."""
        store = self._coordinator.store
        for stray in await stray_children(store):
            await self._bring_into_line(stray)
        for child in await ended_children(store):
            await self._apart(child.parent_run_id, self._tell(child))
        for call in await calls_without_child(store):
            await self._apart(call.run_id, self.ensure(call.run_id, call.token_id))

    async def _apart(self, caller_id: str, work: Awaitable[None]) -> None:
        """Do something for one caller; one that can't be loaded does not hold up the others."""
        try:
            await work
        except WonderError:
            raise
        except Exception:
            log.exception("the calls of run %s can't be brought into line", caller_id, extra={"run_id": caller_id})

    async def ensure(self, parent_id: str, token_id: str) -> None:
        """Start the sub-workflow of a call if it was never stored."""
        coordinator = self._coordinator
        parent = await coordinator.residency.get(parent_id)
        if parent is None:
            return
        token = parent.state.tokens.get(token_id)
        child_id = None if token is None or token.wait is None else token.wait.get("child_run_id")
        if token is None or not isinstance(child_id, str):
            coordinator.residency.rest(parent)
            return
        parent.pins += 1
        try:
            if coordinator.residency.has(child_id) or await load_headers(coordinator.store, [child_id]):
                return
            order = _order_again(parent, token, child_id)
            if isinstance(order, Failure):
                coordinator.bring(parent_id, ChildEnded(token_id, child_id, "failed", None, order))
            else:
                await self._start(parent, order)
        finally:
            coordinator.residency.let_go(parent)

    def call(self, parent: LiveRun, order: StartChild) -> None:
        # Held, because its caller has nothing else to do as a rule, and should not be loaded again for this.
        parent.pins += 1
        self._coordinator.spawn(self._start_and_let_go(parent, order))

    async def _start_and_let_go(self, parent: LiveRun, order: StartChild) -> None:
        try:
            await self._start(parent, order)
        finally:
            self._coordinator.residency.let_go(parent)

    async def _start(self, parent: LiveRun, order: StartChild) -> None:
        """Start a sub-workflow, or tell its caller why it can't be started."""
        coordinator, child_id = self._coordinator, order.child_run_id
        # Not `is_live`: an order to pause may be looking for a child that is not stored yet.
        if child_id in self._under_way or coordinator.residency.has(child_id):
            return
        self._under_way.add(child_id)
        self._keyed.begin(child_id)
        caller: LiveRun | None = None
        insist = coordinator.background.insist

        def again() -> None:
            coordinator.spawn(self.ensure(parent.id, order.token_id))

        try:
            what = f"the sub-workflow of run {parent.id} can't be started"
            prepared = await insist(what, lambda: self._prepare(parent, order))
            if isinstance(prepared, WaitsFor):
                wait_for = prepared.run_id
                await insist(what, lambda: self._keyed.wait(wait_for, order.token_id, again))
                return
            # Asked for again: it may have been given up and loaded anew while we waited.
            caller = await insist(what, lambda: coordinator.residency.get(parent.id))
            token = None if caller is None else caller.state.tokens.get(order.token_id)
            if caller is None or token is None or caller.state.paused is not None:
                return  # It was cancelled in the meantime, or paused: then it starts when its caller is resumed.
            if isinstance(prepared, ChildEnded):
                coordinator.take(caller, prepared)
                return
            # Looked at again: many may have been prepared before the first of them began to write.
            refused = prepared if isinstance(prepared, Failure) else refusal(caller)
            if refused is not None:
                coordinator.take(caller, ChildEnded(order.token_id, child_id, "failed", None, refused))
            elif not isinstance(prepared, Failure):
                self._begin_or_tell(caller, token, order, prepared)
        finally:
            self._under_way.discard(child_id)
            self._keyed.end(child_id)
            if caller is not None:
                coordinator.residency.rest(caller)

    def _begin_or_tell(self, caller: LiveRun, token: Token, order: StartChild, prepared: Prepared) -> None:
        try:
            self._begin(caller, token, order, prepared)
        except Exception as error:
            log.exception("the sub-workflow of run %s can't be started", caller.id, extra={"run_id": caller.id})
            if not caller.dropped:  # Else it is loaded again, and its call is tried once more.
                ended = ChildEnded(token.id, order.child_run_id, "failed", None, engine_failure(error))
                self._coordinator.take(caller, ended)

    def _begin(self, parent: LiveRun, token: Token, order: StartChild, prepared: Prepared) -> None:
        program, filled, settings = prepared
        child_id = order.child_run_id
        new_run = NewRun(
            id=child_id,
            project_id=parent.project_id,
            workflow_def_id=program.definition.id,
            workflow_version=program.definition.version,
            input=filled,
            created_ms=self._coordinator.clock.now_ms(),
            depth=parent.depth + 1,
            parent_run_id=parent.id,
            parent_token_id=token.id,
            parent_node_id=token.node.id,
            idempotency_key=order.key,
        )
        self._starter.begin(new_run, program, settings)
        if (child := self._coordinator.residency.find(child_id)) is not None:
            child.root_id = parent.root_id if parent.depth else parent.id

    async def _prepare(self, parent: LiveRun, order: StartChild) -> Prepared | ChildEnded | WaitsFor | Failure:
        """Make a sub-workflow ready to start, or give why it can't be; raises only if trying again can help."""
        try:
            return await self._checked(parent, order)
        except (EngineStopped, *PASSING):
            raise
        except WonderError as error:
            return Failure(error.code, str(error))
        except Exception as error:
            # A caller that nobody tells would wait for ever.
            log.exception("the sub-workflow of run %s can't be prepared", parent.id, extra={"run_id": parent.id})
            return engine_failure(error)

    async def _checked(self, parent: LiveRun, order: StartChild) -> Prepared | ChildEnded | WaitsFor | Failure:
        if order.key is not None and (answered := await self._keyed.find(parent, order)) is not None:
            return answered
        settings = await self._starter.settings(parent.project_id)
        if parent.depth + 1 > settings.call_depth_max:
            limit = settings.call_depth_max
            message = f"sub-workflows are nested deeper than the project's call_depth_max of {limit}"
            return Failure("CALL_DEPTH", message)
        if (too_many := await self._trees.admit(parent)) is not None:
            return too_many
        await self._starter.family_bytes.join(parent)
        program = await self._program(parent, order)
        filled, faults = check_input(program.workflow, order.input)
        if faults:
            return misfit("INPUT_SCHEMA", f"the input of {program.workflow.name!r}", faults)
        return program, filled, settings

    async def _program(self, parent: LiveRun, order: StartChild) -> Program:
        """Give what is called: a definition by its id or, as only a context says it, by its name (ACT-5)."""
        if not order.by_name:
            return await self._starter.program(order.workflow_def_id, order.version)
        called = order.workflow_def_id, order.version
        found = await find_called(self._coordinator.store.unsettled, parent.project_id, *called)
        return await self._starter.program(found.id, found.version)

    def control(self, parent: LiveRun, order: ControlChild) -> None:
        coordinator, child_id = self._coordinator, order.child_run_id
        if order.order == "resume" and not coordinator.residency.has(child_id):
            coordinator.spawn(self._resume(parent.id, child_id))
        else:
            coordinator.bring(child_id, _CONTROL[order.order]())

    async def _resume(self, parent_id: str, child_id: str) -> None:
        """Resume a sub-workflow, or start it, if its caller was paused before it could be."""
        coordinator = self._coordinator
        if await load_headers(coordinator.store, [child_id]):
            coordinator.bring(child_id, ResumeRequested())
            return
        parent = await coordinator.residency.get(parent_id)
        waiting = [] if parent is None else list(parent.state.tokens.values())
        for token in waiting:
            if token.wait is not None and token.wait.get("child_run_id") == child_id:
                await self.ensure(parent_id, token.id)
        if parent is not None:
            coordinator.residency.rest(parent)

    async def _bring_into_line(self, stray: StrayChild) -> None:
        coordinator = self._coordinator
        if stray.is_orphan:
            coordinator.bring(stray.run_id, _CONTROL["cancel"]())
        elif stray.parent_status == "paused":
            coordinator.bring(stray.run_id, _CONTROL["pause"]())
        elif stray.paused_reason == _WITH_PARENT:
            coordinator.bring(stray.run_id, _CONTROL["resume"]())

    async def _tell(self, child: EndedChild) -> None:
        """Tell a caller how its sub-workflow ended, unless it knows."""
        coordinator = self._coordinator
        parent = await coordinator.residency.get(child.parent_run_id)
        if parent is None:
            return
        token = parent.state.tokens.get(child.parent_token_id)
        if token is not None and token.wait is not None and token.wait.get("child_run_id") == child.run_id:
            fact = ChildEnded(token.id, child.run_id, child.status, child.output, child.failure)  # type: ignore[arg-type]  # a final status
            coordinator.take(parent, fact)
        coordinator.residency.rest(parent)


def _order_again(parent: LiveRun, token: Token, child_id: str) -> StartChild | Failure:
    """Make the order that started a sub-workflow again, out of what its caller's rows say."""
    assert token.node.wait is not None
    task = token.node.wait
    assert isinstance(task.wait, CallWait)
    view = view_from(parent.state, token.scope, token.last_error, with_branch=token.scope.group is not None)
    called, action_input = task.wait.resolve(view), task.action_input(token.input)
    if isinstance(called, Failure):
        return called
    if isinstance(action_input, Failure):
        return action_input
    return call_order(token, task, task.wait, child_id, called, action_input)
