"""One execution of a step's action: checked, once per key, tried as often as its policy allows (RET-1, RET-4)."""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, Final

from wonder.actions.context import CURRENT
from wonder.actions.exceptions import message_of
from wonder.actions.logged_failures import log_failure
from wonder.actions.protocol import NOTHING_USED, ActionContext, ActionFailed, AttemptClock, StoredArtifact, Usage
from wonder.engine.event_type import Event
from wonder.engine.idempotency_keys import render_key
from wonder.errors import WonderError
from wonder.executor.assignment import Assignment
from wonder.executor.compiled import CompiledAct
from wonder.executor.counting import counted, counted_work
from wonder.executor.errors import ActionInputMisfit, ActionOutputMisfit
from wonder.executor.idempotency import IdempotencyKey
from wonder.executor.redacting import redact_error, redacted_events, redacted_output
from wonder.executor.results import FailedAttempt, TaskFailure, failure_from
from wonder.executor.retries import InfrastructureRetry
from wonder.language.values import JsonValue

FAILED_ATTEMPTS_MAX: Final = 100


class Acting:
    """An action that is carried out for a step; `attempts`, `usage` and `artifacts` say what was done so far."""

    __slots__ = ("_act", "_assignment", "_step", "artifacts", "attempts", "failed_attempts", "noted", "usage")

    def __init__(self, act: CompiledAct, step: str, assignment: Assignment) -> None:
        self._act, self._step, self._assignment = act, step, assignment
        self.attempts = 0
        self.usage: Usage = NOTHING_USED
        self.artifacts: dict[str, StoredArtifact] | None = None
        """By id: what another attempt stores again is the same artifact."""
        self.noted: list[Event] | None = None
        self.failed_attempts: deque[FailedAttempt] | None = None
        """Those after which it was tried again; of very many, the last."""

    async def run(self, input: JsonValue) -> JsonValue:
        """Return the action's output; raises a WonderError when it failed for good, or CancelledError."""
        act = self._act
        # Checked outside of the attempts: another one can't fix what does not fit (TSK-4).
        if act.requires and not act.requires.is_valid(input):
            raise ActionInputMisfit(act.name, act.requires.faults(input))
        if act.key_template:
            return await self._run_once(input, self._key(input))
        return self._checked(await self._try(input, None))

    async def _run_once(self, input: JsonValue, key: IdempotencyKey) -> JsonValue:
        store = self._assignment.services.idempotency
        if kept := await store.claim(key):
            return self._checked(kept.output)
        try:
            output = self._checked(await self._try(input, key.text))
        except BaseException:
            # Only successes are kept; cancelled or failed, the next one may act.
            store.release(key)
            raise
        await store.complete(key, output, self._act.key_ttl_seconds)
        return output

    def _key(self, input: JsonValue) -> IdempotencyKey:
        assert self._act.key_template
        origin = self._assignment.origin
        place = (origin.run_id, origin.node, origin.branch)
        text = counted(self._assignment.steps, render_key, self._act.key_template, self._act.name, input, *place)
        return IdempotencyKey(origin.project_id, self._act.id, text)

    def _checked(self, output: JsonValue) -> JsonValue:
        produces = self._act.produces
        if produces and not produces.is_valid(output):
            raise ActionOutputMisfit(self._act.name, produces.faults(output))
        return output

    def _try(self, input: JsonValue, key: str | None) -> Coroutine[Any, Any, JsonValue]:
        """Make attempts until one succeeds or the policy allows no more."""
        if self._act.retry is None:
            self.attempts = 1
            return self._attempt(input, key)
        return self._try_again(self._act.retry, input, key)

    async def _try_again(self, retry: InfrastructureRetry, input: JsonValue, key: str | None) -> JsonValue:
        environment = self._assignment.services.environment
        while True:
            self.attempts += 1
            started_at_ms = environment.now_ms()
            try:
                return await self._attempt(input, key)
            except ActionFailed as failure:
                if not retry.allows(failure, self.attempts):
                    raise
                self._keep(failure, started_at_ms)
                delay_ms = retry.delay_ms(failure, self.attempts, environment.random())
            await environment.sleep(delay_ms)

    def _keep(self, failure: ActionFailed, started_at_ms: int) -> None:
        if self.failed_attempts is None:
            self.failed_attempts = deque(maxlen=FAILED_ATTEMPTS_MAX)
        self.failed_attempts.append(FailedAttempt(self.attempts, started_at_ms, failure_from(failure, None)))

    def _attempt(self, input: JsonValue, key: str | None) -> Coroutine[Any, Any, JsonValue]:
        if self._act.timeout_ms is None:
            return self._call(input, self._context(self.attempts, key, None))
        return self._attempt_within(self._act.timeout_ms, input, key)

    async def _attempt_within(self, timeout_ms: int, input: JsonValue, key: str | None) -> JsonValue:
        limit = self._assignment.limit(timeout_ms, self._ignored)
        limit.begin()
        try:
            try:
                return await self._call(input, self._context(self.attempts, key, limit))
            finally:
                limit.end()
        except asyncio.CancelledError:
            if self._assignment.is_cancelled or not limit.expired:
                raise
            raise self._timed_out() from None

    async def _call(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Run the action once, and see to it that all it can raise is a WonderError, or CancelledError if it was."""
        before = CURRENT.set(context)
        try:
            work = self._act.action.run(input, context)
            output = await (counted_work(self._assignment.steps, work) if self._act.evaluates else work)
        except GeneratorExit:
            raise
        except BaseException as error:
            if self._assignment.is_ended_by(error):
                # Also where the action answers with an error of its own: what ended it was the cancellation.
                raise asyncio.CancelledError from None
            failure = error if isinstance(error, WonderError) else self._broken(error)
            if context.logs:
                log_failure(failure, error, context)
            if redactor := self._assignment.services.redactor:
                redact_error(failure, redactor)
            try:
                if failure is error:
                    raise
                raise failure from error
            finally:
                del failure  # It knows this frame: together they would be left to the garbage collector.
        finally:
            # Not left in the variables of the task, which the context leads back to: only the garbage collector could
            # free the two. A coroutine that is closed by others has not got these variables.
            if CURRENT.get(None) is context:
                CURRENT.reset(before)
            context.end()
            if context.usage is not NOTHING_USED:
                self.usage += context.usage
            if context.noted:
                self.noted = [*(self.noted or ()), *redacted_events(context.noted, self._assignment.services.redactor)]
            if context.artifacts:
                self.artifacts = {**(self.artifacts or {}), **{one.artifact_id: one for one in context.artifacts}}
        if self._assignment.is_cancelled:
            # The action has swallowed it; the caller that cancelled waits for an end.
            raise asyncio.CancelledError
        redactor = self._assignment.services.redactor
        return await redacted_output(output, redactor) if redactor else output

    def _context(self, attempt: int, key: str | None, clock: AttemptClock | None) -> ActionContext:
        assignment, step = self._assignment, self._step
        return ActionContext(
            assignment.origin,
            step,
            attempt,
            idempotency_key=key,
            clock=clock,
            task_due_ms=assignment.due_ms,
            on_progress=self._tell if assignment.services.on_progress else None,
            logs=assignment.services.logs,
        )

    def _tell(self, progress: JsonValue) -> None:
        services = self._assignment.services
        assert services.on_progress
        shown = services.redactor.value(progress) if services.redactor else progress
        services.on_progress(self._assignment.origin, self._step, shown)

    def _timed_out(self) -> ActionFailed:
        limit = self._act.timeout_ms
        message = f"the action {self._act.name!r} took longer than {limit:,} ms and was aborted"
        return ActionFailed(
            "ACTION_TIMEOUT", message, retryable=True, details={"timeout_ms": limit}, names=("TimeoutError",)
        )

    def _ignored(self) -> TaskFailure:
        message = (
            f"the action {self._act.name!r} took longer than {self._act.timeout_ms:,} ms and goes on though it was "
            "aborted; let CancelledError through"
        )
        return TaskFailure("ACTION_TIMEOUT", message, details={"ignored_cancellation": True}, step=self._step)

    def _broken(self, error: BaseException) -> ActionFailed:
        message = f"the action {self._act.name!r} ended with {type(error).__name__}: {message_of(error)}"
        return ActionFailed("ACTION_BROKEN", message, details={"type": type(error).__name__})
