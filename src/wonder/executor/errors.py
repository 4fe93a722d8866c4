"""What can go wrong with a task besides the failures of its actions."""

from collections.abc import Sequence

from wonder.errors import WonderError
from wonder.language.schemas import ValueFault


class ActionMissing(WonderError):
    """A step names an action that was not given along with its task."""

    code = "ACTION_MISSING"

    def __init__(self, task: str, step: str, action_id: str, version: int) -> None:
        super().__init__(
            f"step {step!r} of task {task!r} needs the action {action_id!r} in version {version}, which was not given"
        )
        self.task, self.step, self.action_id, self.version = task, step, action_id, version


class SchemaMisfit(WonderError):
    """A value does not fit the schema of its place (TSK-4); each place has a subclass, and so a code, of its own."""

    place = "the value"

    def __init__(self, name: str, faults: Sequence[ValueFault]) -> None:
        shown = "; ".join(str(fault) for fault in faults[:3]) + (f" (and {len(faults) - 3} more)" if faults[3:] else "")
        super().__init__(f"{self.place} of {name!r} does not fit its schema: {shown}")
        self.name, self.faults = name, faults


class TaskInputMisfit(SchemaMisfit):
    """The input of a task does not fit its `input_schema`."""

    code = "TASK_INPUT_SCHEMA"
    place = "the input"


class TaskOutputMisfit(SchemaMisfit):
    """The output of a task does not fit its `output_schema`."""

    code = "TASK_OUTPUT_SCHEMA"
    place = "the output"


class ActionInputMisfit(SchemaMisfit):
    """The input of an action does not fit `requires`."""

    code = "ACTION_INPUT_SCHEMA"
    place = "the input"


class ActionOutputMisfit(SchemaMisfit):
    """The output of an action does not fit `produces`."""

    code = "ACTION_OUTPUT_SCHEMA"
    place = "the output"


class StepConditionFailed(WonderError):
    """The condition of a step says that the step fails (TSK-2)."""

    code = "STEP_CONDITION"

    def __init__(self, step: str, condition: str, *, matched: bool) -> None:
        taken = "then" if matched else "else"
        super().__init__(f"the condition of step {step!r} says so: {condition} took '{taken}', which is 'fail'")
        self.step, self.condition, self.matched = step, condition, matched
