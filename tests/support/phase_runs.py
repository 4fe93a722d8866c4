"""Phase workflows for tests: read, checked, compiled, and run in memory with Python functions for their tools."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from support.engine_runs import Player
from wonder.definitions.binding import Binder, Bound
from wonder.definitions.catalog import Catalog
from wonder.definitions.loading import load_value
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.tasks import TaskDef
from wonder.definitions.references import Reference
from wonder.engine.compiled import CompiledWorkflow
from wonder.engine.compiling import compile_workflow
from wonder.engine.decisions import DispatchTask
from wonder.engine.facts import TaskCompleted, TaskFailed
from wonder.engine.failure import Failure
from wonder.language.schemas import compile_validator
from wonder.phases.checking import Checked, check
from wonder.phases.compiling import compile_phases
from wonder.phases.errors import PhaseError
from wonder.phases.known import Known, ToolName, ToolSchemas, TransformTypes, TypeFault
from wonder.phases.records import PhaseWorkflow

Does = Callable[[Any], Any]


def tool(connection: str = "api", name: str = "run") -> dict[str, Any]:
    """Write the tool of a step."""
    return {"connectionId": connection, "toolName": name}


def phases(*steps: Any, **fields: Any) -> PhaseWorkflow:
    """Read a workflow; a step alone is a phase of its own."""
    listed = [step if isinstance(step, list) else [step] for step in steps]
    return PhaseWorkflow.model_validate({"name": "test", "steps": listed, **fields})


def known(tools: Mapping[str, Any] | None = None, transforms: Mapping[str, Any] | None = None) -> Known:
    """Make what is known: tools as `connection/name` to (input, output) or why not; transforms as (Input, Output) or
    their faults."""
    found_tools = {
        ToolName(*name.split("/", 1)): held if isinstance(held, str) else ToolSchemas(*held)
        for name, held in (tools or {}).items()
    }
    found: dict[str, TransformTypes | tuple[TypeFault, ...]] = {
        source: tuple(held) if held and isinstance(held[0], TypeFault) else TransformTypes(*held)
        for source, held in (transforms or {}).items()
    }
    return Known(found_tools, found)


def errors_of(workflow: PhaseWorkflow, what: Known) -> list[dict[str, Any]]:
    """Give all errors in the source's shape."""
    return [error.to_json() for error in check(workflow, what).errors]


def only_error(workflow: PhaseWorkflow, what: Known) -> PhaseError:
    """Give the one error that there is."""
    errors = check(workflow, what).errors
    assert len(errors) == 1, [str(error) for error in errors]
    return errors[0]


def sound(workflow: PhaseWorkflow, what: Known) -> Checked:
    """Check a workflow that has no errors."""
    checked = check(workflow, what)
    assert checked.errors == (), [str(error) for error in checked.errors]
    return checked


def compiled(workflow: PhaseWorkflow, what: Known) -> CompiledWorkflow:
    """Compile a workflow all the way to what the engine runs; the checks of the graph form find no fault in it."""
    bundle = compile_phases(workflow, sound(workflow, what))
    names = {step.tool.connection_id for phase in workflow.steps for step in phase if step.tool}
    servers = {name: {"transport": "stdio", "command": ["server"]} for name in names}
    draft, faults = load_value({**bundle, "mcp_servers": servers}).bundle(Catalog())
    assert [fault for fault in faults if fault.code != "trigger_target"] == []
    numbers = count(1)
    binder = Binder("project", None, _bound, lambda: f"id{next(numbers)}", "")
    definitions = draft.definitions
    tasks: dict[tuple[str, int], TaskDef] = {(name, 1): binder.task(task) for name, task in definitions.tasks.items()}
    actions: dict[tuple[str, int], ActionDef] = {
        (name, 1): binder.action(action) for name, action in definitions.actions.items()
    }
    return compile_workflow(binder.workflow(definitions.workflows[workflow.name]), tasks, actions)


def _bound(reference: Reference) -> Bound:
    return Bound(reference.name, 1)


class PhaseRun:
    """A run of a phase workflow, in which each step that is no sleep is done by a function of its name."""

    def __init__(self, workflow: PhaseWorkflow, what: Known, does: Mapping[str, Does]) -> None:
        self.workflow, self.what = workflow, what
        self.player = Player(compiled(workflow, what))
        self.does = does
        self.inputs: dict[str, list[Any]] = {}
        """What each step was given, in the order in which it was asked."""
        schemas = check(workflow, what).schemas
        self._takes = {name: compile_validator(step.input) for name, step in schemas.items()}

    def start(self, value: Any = None) -> "PhaseRun":
        """Run to the end: tasks are done in the order of their dispatch, timers fire when nothing else is left."""
        player = self.player
        player.start(value)
        done = 0
        while True:
            waiting = player.of(DispatchTask)[done:]
            if waiting:
                done += 1
                self._do(waiting[0])
            elif player.run.timers:
                player.fire(next(iter(player.run.timers)))
            else:
                return self

    def _do(self, task: DispatchTask) -> None:
        if task.token_id not in self.player.run.tokens:
            return  # cancelled meanwhile
        ref = self.player.run.tokens[task.token_id].node.ref
        self.inputs.setdefault(ref, []).append(task.input)
        faults = self._takes[ref].faults(task.input)
        try:
            assert not faults, [str(fault) for fault in faults]
            output = self.does[ref](task.input)
        except Exception as error:
            self.player.bring(TaskFailed(task.token_id, Failure("BROKEN", f"{type(error).__name__}: {error}", 1)))
        else:
            self.player.bring(TaskCompleted(task.token_id, output))

    @property
    def status(self) -> str:
        """The status of the run."""
        return self.player.run.status

    @property
    def output(self) -> Any:
        """What the run gives."""
        return self.player.run.output

    @property
    def steps(self) -> Any:
        """The outputs of the steps, as they are kept (PHS-1)."""
        return self.player.run.state.get("steps")

    @property
    def error(self) -> Failure | None:
        """Why the run failed."""
        return self.player.run.error
