"""Triggering: what was stored with the completion of a run becomes the runs that its triggers start (PHS-6)."""

import logging
from typing import Final, NamedTuple

from msgspec.structs import replace

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import TriggerInterrupted, WorkflowDisabled
from wonder.coordinator.live import LiveRun
from wonder.coordinator.programs import Program
from wonder.coordinator.retrying import Insistence, Retries
from wonder.coordinator.starting import Starter
from wonder.coordinator.targets import TARGET_ERRORS, FoundTarget, find_target
from wonder.coordinator.trigger_families import TriggerFamilies, too_many
from wonder.definitions.records.tenancy import ProjectSettings
from wonder.engine.compiled import CompiledTrigger
from wonder.engine.control import check_input
from wonder.engine.decisions import FireTriggers
from wonder.engine.facts import TriggerAdvanced
from wonder.engine.failure import Failure, engine_failure, misfit
from wonder.engine.triggers import input_for, items_of
from wonder.errors import WonderError
from wonder.language.paths import MISSING
from wonder.language.values import BadValue, JsonValue, check_value, is_plain
from wonder.storage.runs.loading import load_runs
from wonder.storage.runs.records import NewRun, TriggerOrigin
from wonder.storage.runs.triggering import StoredFiring, firings_of_run, runs_with_pending_firings

DEPTH_MAX: Final = 10
"""How many triggers may lead to a run, one after the other."""
# Runs that are started with one commit: many, because a commit takes long, and not all, so that others have their turn.
_AT_ONCE: Final = 100

log = logging.getLogger("wonder.coordinator")


class Target(NamedTuple):
    """What a trigger starts."""

    name: str
    workflow_id: str | None
    program: Program
    settings: ProjectSettings


class Triggers:
    """Fires triggers.

    What is to be done is in the rows, and each commit that does a part of it says so: however often a process dies,
    each run is started once.
    """

    def __init__(self, coordinator: Coordinator, starter: Starter, retries: Retries, families: TriggerFamilies) -> None:
        self._coordinator, self._starter, self._retries = coordinator, starter, retries
        self._families = families
        self._insistence = Insistence(coordinator.background)
        self._looks = self._is_looking = False

    async def reconcile(self) -> None:
        """Have done, beside all else, what a process left undone when it ended, or a commit when it failed."""
        self._looks = True
        if not self._is_looking:
            self._is_looking = True
            self._coordinator.spawn(self._catch_up())

    def resume(self, run_id: str) -> None:
        """Have the triggers of one run fired, if it has any that are pending."""
        self._coordinator.spawn(self._fire(run_id))

    async def _catch_up(self) -> None:
        try:
            while self._looks:
                self._looks = False
                insist = self._coordinator.background.insist
                await insist("pending triggers can't be looked for", self._fire_all)
                await insist("retries can't be looked for", self._retries.set_all)
        finally:
            self._is_looking = False

    async def _fire_all(self) -> None:
        after = ""
        while page := await runs_with_pending_firings(self._coordinator.store, after=after):
            for after in page:
                await self._fire(after)

    def begin(self, run: LiveRun, decision: FireTriggers) -> None:
        """Fire the triggers of a run that has just completed."""
        if any(firing.status == "pending" for firing in decision.firings):
            # Held, so that it need not be loaded again.
            run.pins += 1
            self._coordinator.spawn(self._fire_and_let_go(run))

    async def _fire_and_let_go(self, run: LiveRun) -> None:
        try:
            await self._fire(run.id)
        finally:
            self._coordinator.residency.let_go(run)

    async def _fire(self, run_id: str) -> None:
        what = f"the triggers of run {run_id} can't fire"
        await self._insistence.on(run_id, what, lambda: self._fire_pending(run_id))

    async def _fire_pending(self, run_id: str) -> None:
        coordinator = self._coordinator
        firings = await firings_of_run(coordinator.store, run_id)
        pending = [firing for firing in firings if firing.status == "pending"]
        if not pending:
            return
        run = await self._ended_run(run_id)
        run.pins += 1
        family_id: str | None = None
        try:
            depth, family_id = await self._families.place(run)
            for firing in pending:
                # Each time, because a commit that failed has it forgotten.
                await self._families.know(family_id)
                await self._fire_one(run, firing, depth + 1, family_id)
        except BaseException:
            self._families.forget(family_id or run_id)
            raise
        finally:
            coordinator.residency.let_go(run)

    async def _ended_run(self, run_id: str) -> LiveRun:
        """Give a run that has ended, out of memory or out of its rows."""
        coordinator = self._coordinator
        if run := coordinator.residency.find(run_id):
            return run
        store = coordinator.store
        (loaded,) = await load_runs(store, store.dialect, [run_id], coordinator.programs.get)
        return await self._starter.restored(loaded)

    async def _fire_one(self, run: LiveRun, firing: StoredFiring, depth: int, family_id: str) -> None:
        trigger = run.program.workflow.triggers[firing.ordinal]
        target = await self._target(run.project_id, trigger, depth)
        items = items_of(trigger, run.state)
        while firing.upto < firing.items:
            if isinstance(target, Target):
                most = target.settings.run_limits.bytes_written
                target = await self._families.too_much_written(family_id, most) or target
            # From here on nothing is waited for: the runs, and that they were started, are one commit.
            self._coordinator.check_running()
            if isinstance(target, Failure):
                firing = replace(firing, upto=firing.items, failure=target)
                self._advance(run, firing)
            else:
                firing = self._start_some(run, trigger, firing, items, target, depth, family_id)
            await self._coordinator.durable()

    async def _target(self, project_id: str, trigger: CompiledTrigger, depth: int) -> Target | Failure:
        if depth > DEPTH_MAX:
            message = f"this run would be triggered {depth} levels deep, and {DEPTH_MAX} are allowed"
            return Failure("TRIGGER_DEPTH", f"{message}; make sure that the output of a workflow in the cycle ends it")
        try:
            found = await find_target(self._coordinator.store, project_id, trigger.workflow_id)
            program = await self._program(found)
        except TARGET_ERRORS as error:
            return Failure(error.code, str(error))
        except WonderError:
            raise
        except Exception as error:
            # As with a call: it would fail again each time, and nobody would hear of it.
            log.exception("the target of a trigger, %s, can't be prepared", trigger.workflow_id)
            return engine_failure(error)
        return Target(found.name, found.workflow_id, program, await self._starter.settings(project_id))

    async def _program(self, found: FoundTarget) -> Program:
        if not found.enabled:
            raise WorkflowDisabled(found.name)
        return await self._starter.program(found.workflow_def_id, found.version)

    def _start_some(
        self,
        run: LiveRun,
        trigger: CompiledTrigger,
        firing: StoredFiring,
        items: list[JsonValue] | None,
        target: Target,
        depth: int,
        family_id: str,
    ) -> StoredFiring:
        """Start the next runs of a trigger; gives how far it is then."""
        upto, accepted = min(firing.items, firing.upto + _AT_ONCE), list[NewRun]()
        skipped, failure = firing.skipped, firing.failure
        most = target.settings.run_limits.triggered_runs
        room = self._families.room(family_id, most)
        for index in range(firing.upto, upto):
            if len(accepted) >= room:
                failure, upto = too_many(family_id, most, firing.items - index), firing.items
                break
            given = input_for(trigger, run.state, items, index)
            if given is MISSING:
                skipped += 1
                continue
            checked = _check(target, given, None if items is None else index)
            if isinstance(checked, Failure):
                failure = failure or checked
                continue
            accepted.append(self._new_run(run, trigger, target, index, depth, family_id, checked[0]))
        self._families.add(family_id, len(accepted))
        started = firing.started + len(accepted)
        firing = replace(firing, upto=upto, started=started, skipped=skipped, failure=failure)
        # Before its runs: if any of them makes the batch fail, this run is lost with it, and we hear of it.
        self._advance(run, firing)
        for new_run in accepted:
            if run.dropped:
                break
            self._starter.begin(new_run, target.program, target.settings, is_ours=self._starter.was_ours(run.id))
        if run.dropped:
            raise TriggerInterrupted(run.id)
        return firing

    def _advance(self, run: LiveRun, firing: StoredFiring) -> None:
        counts = (firing.items, firing.upto, firing.started, firing.skipped, firing.failure)
        self._coordinator.take(run, TriggerAdvanced(firing.ordinal, firing.workflow_id, *counts))

    def _new_run(
        self,
        run: LiveRun,
        trigger: CompiledTrigger,
        target: Target,
        index: int,
        depth: int,
        family_id: str,
        filled: JsonValue,
    ) -> NewRun:
        return NewRun(
            id=self._coordinator.new_id(),
            project_id=run.project_id,
            workflow_id=target.workflow_id,
            workflow_def_id=target.program.definition.id,
            workflow_version=target.program.definition.version,
            input=filled,
            created_ms=self._coordinator.clock.now_ms(),
            origin=TriggerOrigin(
                triggered_by_run_id=run.id,
                ordinal=trigger.ordinal,
                item_index=index,
                depth=depth,
                max_retries=trigger.max_retries,
                timeout_ms=trigger.timeout_ms,
                on_timeout=trigger.on_timeout or "fail",
                root_run_id=family_id,
            ),
        )


def _check(target: Target, given: JsonValue, index: int | None) -> tuple[JsonValue] | Failure:
    what = f"the input of {target.name!r}" + ("" if index is None else f" for item {index}")
    try:
        if not is_plain(given):
            check_value(given)
    except BadValue as error:
        return Failure("INPUT_REFUSED", f"{what} is refused: {error}")
    filled, faults = check_input(target.program.workflow, given)
    return misfit("INPUT_REFUSED", what, faults) if faults else (filled,)
