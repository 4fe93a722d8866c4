"""The story of one task: steps in order, in memory, from its input to its result (TSK-1 to TSK-6)."""

import asyncio
from typing import Final, Literal, assert_never

from msgspec import UNSET

from wonder.actions.protocol import NOTHING_USED, Metric, TaskContext, Usage
from wonder.definitions.records.tasks import StepOutcome
from wonder.engine.event_type import Event
from wonder.errors import WonderError
from wonder.executor.acting import Acting
from wonder.executor.assignment import Assignment
from wonder.executor.compiled import CompiledStep, CompiledTask, chosen_outcome
from wonder.executor.counting import counted
from wonder.executor.errors import StepConditionFailed, TaskInputMisfit, TaskOutputMisfit
from wonder.executor.results import StepRecord, TaskFailure, TaskResult, failure_from
from wonder.executor.retries import delay_ms
from wonder.language.steps import TooManySteps
from wonder.language.targets import write
from wonder.language.values import JsonValue, check_value, is_plain

STEP_RECORDS_MAX = 1_000

_NOTHING: JsonValue = {}
_NO_CONTEXT: TaskContext = {}
_ALWAYS: Final[tuple[StepOutcome, bool]] = ("continue", True)


class TaskExecution:
    """A task on its way through its steps."""

    __slots__ = (
        "_assignment",
        "_attempt",
        "_context",
        "_input",
        "_last_failure",
        "_metrics",
        "_noted",
        "_started_at_ms",
        "_steps",
        "_taken",
        "_task",
        "_usage",
    )

    def __init__(self, task: CompiledTask, input: JsonValue) -> None:
        self._task, self._input = task, input
        self._attempt = 1
        self._context: TaskContext = _NO_CONTEXT
        self._started_at_ms = 0
        self._steps: list[StepRecord] = []
        self._usage: Usage = NOTHING_USED
        self._metrics: list[Metric] = []
        self._noted: list[Event] = []
        self._last_failure: TaskFailure | None = None
        # The output that an action gave last: it was checked when it was taken, and need not be again.
        self._taken: JsonValue = None

    async def run(self, assignment: Assignment) -> TaskResult:
        """Run the task to its end; raises CancelledError when someone cancelled it."""
        self._assignment = assignment
        self._started_at_ms = assignment.services.environment.now_ms()
        if self._task.timeout_ms is None:
            return self.result(await self._run_attempts())
        limit = assignment.limit(self._task.timeout_ms, self.timed_out)
        limit.begin()
        assignment.due_ms = limit.due_ms
        try:
            try:
                failure = await self._run_attempts()
            finally:
                limit.end()
        except asyncio.CancelledError:
            if assignment.is_cancelled or not limit.expired:
                raise
            failure = self.timed_out()
        return self.result(failure)

    def cancel(self) -> None:
        """Abort the action under way."""
        self._assignment.cancel()

    def result(self, failure: TaskFailure | None) -> TaskResult:
        """Return the result that the task has if it ends now."""
        return TaskResult(
            status="completed" if failure is None else _STATUS.get(failure.code, "failed"),
            output=self._context["output"] if failure is None else None,
            error=failure,
            attempts=self._attempt,
            started_at_ms=self._started_at_ms,
            steps=tuple(self._steps),
            usage=self._usage,
            metrics=tuple(self._metrics),
            noted=tuple(self._noted),
        )

    def timed_out(self) -> TaskFailure:
        """Return the failure of a task that took too long (TSK-5)."""
        limit, last = self._task.timeout_ms, self._last_failure
        details: dict[str, JsonValue] = {"timeout_ms": limit}
        if last:
            details["last_error"] = {"code": last.code, "message": last.message, "step": last.step}
        message = f"the task {self._task.name!r} took longer than {limit:,} ms and was aborted"
        return TaskFailure("TASK_TIMEOUT", message, details=details)

    async def _run_attempts(self) -> TaskFailure | None:
        """Run the steps, again from the first if one that says `retry` fails, as often as the task allows."""
        task, environment = self._task, self._assignment.services.environment
        validator = task.input_validator
        if validator and not validator.is_valid(self._input):
            return failure_from(TaskInputMisfit(task.name, validator.faults(self._input)), None)
        while True:
            failure, again = await self._run_steps()
            if failure is None or not again or task.retry is None or self._attempt >= task.retry.max_attempts:
                return failure
            self._last_failure = failure
            await environment.sleep(delay_ms(task.retry, self._attempt, environment.random()))
            self._attempt += 1
            # What is done again is counted once.
            self._metrics.clear()

    async def _run_steps(self) -> tuple[TaskFailure | None, bool]:
        """Run the steps once over a fresh context; return the failure, and whether it asks for another attempt."""
        self._context = {"input": self._input, "state": {}, "output": {}}
        last: CompiledStep | None = None
        for step in self._task.steps:
            try:
                outcome, matched = (
                    counted(self._assignment.steps, chosen_outcome, step, self._context) if step.condition else _ALWAYS
                )
                if outcome == "skip":
                    continue
                if outcome == "succeed":
                    break
                last = step
                if outcome == "fail":
                    assert step.condition
                    raise StepConditionFailed(step.ref, step.condition.expression.text, matched=matched)
                if outcome != "continue":
                    assert_never(outcome)
            except WonderError as error:
                failure: TaskFailure | None = failure_from(error, step.ref)
                environment = self._assignment.services.environment
                self._record(step, failure, environment.now_ms(), environment.monotonic_ms(), None)
            else:
                failure = await self._run_step(step)
            if failure is None:
                continue
            if failure.code == TooManySteps.code:
                return failure, False  # Whatever follows would find no steps left either.
            match step.on_failure:
                case "continue":
                    self._note(failure, step.ref)
                case "abort":
                    return failure, False
                case "retry":
                    return failure, True
                case _:
                    assert_never(step.on_failure)
        return self._check_output(last)

    async def _run_step(self, step: CompiledStep) -> TaskFailure | None:
        """Run one step and write what it gives to the context; return its failure."""
        environment = self._assignment.services.environment
        started_at_ms, started_ms = environment.now_ms(), environment.monotonic_ms()
        acting: Acting | None = None
        failure: TaskFailure | None = None
        spent = self._assignment.steps
        try:
            context = self._context
            if step.act:
                acting = Acting(step.act, step.ref, self._assignment)
                mapping = step.input_mapping
                given = mapping.apply(context) if step.is_plain else counted(spent, mapping.apply, context)
                output = self._taken = await acting.run(given)
            else:
                assert step.on_context
                context = counted(spent, step.on_context.apply, context, self._metrics.append)
                output = _NOTHING
            if step.output_mapping:
                context = (
                    _written(step, context, output)
                    if step.is_plain
                    else counted(spent, _written, step, context, output)
                )
            self._context = context
        except WonderError as error:
            failure = failure_from(error, step.ref)
        except asyncio.CancelledError:
            self._record(step, None, started_at_ms, started_ms, acting, "cancelled")
            raise
        self._record(step, failure, started_at_ms, started_ms, acting)
        return failure

    def _check_output(self, last: CompiledStep | None) -> tuple[TaskFailure | None, bool]:
        """Hold the output against its schema and the limits of values; the last step says whether to try again."""
        output, validator = self._context["output"], self._task.output_validator
        try:
            if output is not self._taken and not is_plain(output):
                check_value(output)
            if validator and not validator.is_valid(output):
                raise TaskOutputMisfit(self._task.name, validator.faults(output))
        except WonderError as error:
            return failure_from(error, None), last is not None and last.on_failure == "retry"
        return None, False

    def _note(self, failure: TaskFailure, ref: str) -> None:
        """Put a failure that the task goes on after where later steps can read it: `state._errors[ref]` (TSK-3)."""
        state = self._context["state"]
        if not isinstance(state, dict):
            return  # A step has replaced the whole state by something that can't hold it; the record has it.
        errors = state.get("_errors")
        noted: JsonValue = {
            "code": failure.code,
            "message": failure.message,
            "retryable": failure.retryable,
            "details": failure.details,
        }
        known = errors if isinstance(errors, dict) else {}
        self._context = {**self._context, "state": {**state, "_errors": {**known, ref: noted}}}

    def _record(
        self,
        step: CompiledStep,
        failure: TaskFailure | None,
        started_at_ms: int,
        started_ms: float,
        acting: Acting | None,
        outcome: Literal["cancelled"] | None = None,
    ) -> None:
        usage = acting.usage if acting else NOTHING_USED
        if usage is not NOTHING_USED:
            self._usage += usage
        if acting and acting.noted:
            self._noted += acting.noted
        if len(self._steps) == STEP_RECORDS_MAX:
            del self._steps[0]
        self._steps.append(
            StepRecord(
                step.ref,
                self._attempt,
                outcome or ("failed" if failure else "completed"),
                started_at_ms,
                self._assignment.services.environment.monotonic_ms() - started_ms,
                acting.attempts if acting else 1,
                usage,
                failure,
                tuple(acting.artifacts.values()) if acting and acting.artifacts else UNSET,
                tuple(acting.failed_attempts) if acting and acting.failed_attempts else UNSET,
            )
        )


def _written(step: CompiledStep, context: TaskContext, output: JsonValue) -> TaskContext:
    """Give the context with what a step writes."""
    assert step.output_mapping
    # Its `$` is the action's output, which may be any value, and it is an object, as it was written as one.
    mapped = step.output_mapping.apply(output)
    assert isinstance(mapped, dict)
    for target, value in mapped.items():
        context, _ = write(context, step.targets[target], value)
    return context


_STATUS: dict[str, Literal["timed_out", "cancelled"]] = {"TASK_TIMEOUT": "timed_out", "TASK_CANCELLED": "cancelled"}
