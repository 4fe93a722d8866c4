"""Acting: once decisions are durable, they are carried out, in order, here or by others (INV-3)."""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from wonder.coordinator.effects import ACTED_ON, Effects
from wonder.coordinator.ends import Ends
from wonder.coordinator.live import LiveRun
from wonder.coordinator.mapping_warnings import MappingWarnings
from wonder.coordinator.tasks import Tasks
from wonder.coordinator.timers import NearTimers
from wonder.engine.decisions import (
    AbortTask,
    AwaitEvent,
    CancelTimer,
    ContinueLater,
    ControlChild,
    Decision,
    DispatchTask,
    EndRun,
    FireTriggers,
    RetryRun,
    SetRunStatus,
    SetTimer,
    StartChild,
    WarnOfMapping,
)
from wonder.engine.facts import ChildEnded, Fact, TurnContinued

Act = Callable[[LiveRun, Any], None]

log = logging.getLogger("wonder.coordinator")


class Acting:
    """Carries out durable decisions."""

    def __init__(
        self,
        effects: Effects,
        tasks: Tasks,
        timers: NearTimers,
        ends: Ends,
        take: Callable[[LiveRun, Fact], None],
        bring: Callable[[str, Fact], None],
    ) -> None:
        """Make it ready; `take` brings a fact to a run in memory, `bring` to one wherever it is."""
        self._effects, self._tasks, self._ends, self._take, self._bring = effects, tasks, ends, take, bring
        self._acts: dict[type, Act] = {
            DispatchTask: tasks.dispatch,
            AbortTask: tasks.abort,
            StartChild: effects.start_child,
            ControlChild: effects.control_child,
            AwaitEvent: effects.await_event,
            SetTimer: lambda run, order: timers.set(run.id, order.key, order.due_ms),
            CancelTimer: lambda run, order: timers.cancel(run.id, order.key),
            SetRunStatus: lambda run, order: effects.note_status(run, order.status),
            EndRun: self._end,
            FireTriggers: effects.fire_triggers,
            RetryRun: effects.retry_run,
            ContinueLater: self._go_on,
            WarnOfMapping: MappingWarnings().tell,
        }
        assert self._acts.keys() == ACTED_ON

    def close(self) -> None:
        """From now on announce the ends of runs, and begin nothing."""
        self._acts = {EndRun: self._announce_end}

    def act(self, run: LiveRun, decisions: Iterable[Decision]) -> Exception | None:
        """Carry out what was decided for a run; returns the error that kept it from being carried out."""
        acts = self._acts
        try:
            for decision in decisions:
                if act := acts.get(type(decision)):
                    act(run, decision)
        except Exception as error:
            log.exception("the decisions on run %s can't be carried out", run.id, extra={"run_id": run.id})
            return error
        return None

    def _announce_end(self, run: LiveRun, end: EndRun) -> None:
        self._ends.tell(run.id, end)

    def _end(self, run: LiveRun, end: EndRun) -> None:
        self._announce_end(run, end)
        self._effects.note_end(run, end)
        self._tasks.note_end(run)
        if run.parent_run_id is not None and run.parent_token_id is not None:
            fact = ChildEnded(run.parent_token_id, run.id, end.status, end.output, end.failure)
            self._bring(run.parent_run_id, fact)

    def _go_on(self, run: LiveRun, _: ContinueLater) -> None:
        if not run.dropped:
            self._take(run, TurnContinued())
