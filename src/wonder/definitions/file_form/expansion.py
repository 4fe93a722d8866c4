"""Turns a file, once its shape is right, into drafts: what stands in line becomes a record of its own (LAY-2)."""

from typing import Any, cast

from pydantic import ValidationError

from wonder.definitions.drafts import (
    ActionDraft,
    BoundWorkflowDraft,
    Bundle,
    Definitions,
    LibraryDraft,
    NodeDraft,
    ScheduleDraft,
    StepDraft,
    TaskDraft,
    TransitionDraft,
    TriggerDraft,
    VectorIndexDraft,
    WorkflowDraft,
)
from wonder.definitions.faults import Fault, Path
from wonder.definitions.file_form.models import (
    ActionFile,
    BoundWorkflowFile,
    BundleFile,
    DefinitionsFile,
    NodeFile,
    ScheduleFile,
    StepFile,
    TaskFile,
    TransitionFile,
    WorkflowFile,
)
from wonder.definitions.file_form.record_faults import record_faults
from wonder.definitions.kinds import KINDS
from wonder.definitions.records.fields import FromContext, Record
from wonder.definitions.records.tasks import StepBody, TaskBody
from wonder.definitions.records.workflows import TriggerBody
from wonder.definitions.references import Reference, ResourceKind, inline_name, parse_reference


class Expansion:
    """One reading of a file; collects the faults that it comes across."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def bundle(self, file: BundleFile) -> Bundle:
        """Expand a whole file."""
        bundle = Bundle()
        graphs = {name: one for name, one in file.workflows.items() if isinstance(one, WorkflowFile)}
        self._definitions(file, graphs, (), bundle.definitions)
        for name, bound in file.workflows.items():
            if isinstance(bound, BoundWorkflowFile):
                self._check_name(bound.name, name, ("workflows", name))
                bundle.bound_workflows[name] = self._bound_workflow(name, bound, ("workflows", name))
        if file.workflow:
            bundle.main = self._main_workflow(file, file.workflow, bundle)
        elif file.triggers:
            self._fault(
                "no_workflow", ("triggers",), "triggers need a 'workflow' that they belong to", "add 'workflow'"
            )
        for name, library in file.libraries.items():
            definitions = Definitions()
            self._definitions(library, library.workflows, ("libraries", name), definitions)
            bundle.libraries[name] = LibraryDraft(library.description, definitions)
        bundle.models = dict(file.models)
        bundle.mcp_servers = dict(file.mcp_servers)
        for name, index in file.vector_indexes.items():
            path: Path = ("vector_indexes", name)
            references = [
                self._reference("artifact_type", text, (*path, "artifact_type_ids", i))
                for i, text in enumerate(index.artifact_type_ids)
            ]
            bundle.vector_indexes[name] = VectorIndexDraft(index, tuple(filter(None, references)), path)
        for name, schedule in file.schedules.items():
            bundle.schedules[name] = self._schedule(name, schedule, bundle.main)
        return bundle

    def _schedule(self, name: str, file: ScheduleFile, main: str | None) -> ScheduleDraft:
        path: Path = ("schedules", name)
        where, target = (*path, "workflow"), file.workflow or main
        workflow = None if target is None else self._reference("workflow", target, where)
        if workflow and (workflow.library or workflow.version):
            message = f"a schedule starts a workflow of the project, and '{target}' is a version or of a library"
            hint = f"write '{workflow.name}'; which version runs is its pin"
            if workflow.library:
                hint = f"bind it to a workflow of the project, with: wonder workflows bind NAME {target}"
            self._fault("bad_reference", where, message, hint)
            workflow = None
        return ScheduleDraft(name, file, workflow, file.paused, path, is_unnamed=target is None)

    def _bound_workflow(self, name: str, file: BoundWorkflowFile, path: Path) -> BoundWorkflowDraft:
        where = (*path, "workflow_def_id")
        definition = self._reference("workflow", file.workflow_def_id, where, file.pinned_version)
        return BoundWorkflowDraft(name, file.description, definition, path)

    def _main_workflow(self, file: BundleFile, main: WorkflowFile | BoundWorkflowFile, bundle: Bundle) -> str | None:
        if not main.name:
            self._fault("missing_field", ("workflow", "name"), "the field 'name' is missing", "add 'name'")
        name = main.name or "workflow"
        if name in bundle.definitions.workflows or name in bundle.bound_workflows:
            self._fault(
                "duplicate_name",
                ("workflow", "name"),
                f"'{name}' is also defined in 'workflows'",
                "rename one of the two",
            )
        if isinstance(main, BoundWorkflowFile):
            bundle.bound_workflows[name] = self._bound_workflow(name, main, ("workflow",))
            if file.triggers:
                message = "triggers belong to a definition, and this workflow runs one that is stored already"
                self._fault("no_workflow", ("triggers",), message, "deploy them with that definition")
            return name
        into = bundle.definitions
        into.workflows[name] = self._workflow(name, main, ("workflow",), into, file.triggers)
        return name

    def _check_name(self, inner: str | None, name: str, path: Path) -> None:
        if inner not in (None, name):
            message = f"the workflow is called '{inner}' here, and '{name}' where it stands"
            self._fault("duplicate_name", (*path, "name"), message, "leave 'name' out")

    def _definitions(
        self, file: DefinitionsFile, workflows: dict[str, WorkflowFile], path: Path, into: Definitions
    ) -> None:
        for name, action in file.actions.items():
            into.actions[name] = self._action(name, action, (*path, "actions", name), inline_in_node=False)
        for name, task in file.tasks.items():
            into.tasks[name] = self._task(name, task, (*path, "tasks", name), into)
        for name, workflow in workflows.items():
            where = (*path, "workflows", name)
            self._check_name(workflow.name, name, where)
            into.workflows[name] = self._workflow(name, workflow, where, into, [])
        into.prompts |= file.prompts
        into.artifact_types |= file.artifact_types

    def _workflow(
        self, name: str, file: WorkflowFile, path: Path, into: Definitions, top_triggers: list[TriggerBody]
    ) -> WorkflowDraft:
        placed = [(trigger, (*path, "triggers", i)) for i, trigger in enumerate(file.triggers)]
        placed += [(trigger, ("triggers", i)) for i, trigger in enumerate(top_triggers)]
        return WorkflowDraft(
            name,
            file,
            file.initial_node,
            {ref: self._node(name, ref, node, (*path, "nodes", ref), into) for ref, node in file.nodes.items()},
            tuple(_transition(i, transition, path) for i, transition in enumerate(file.transitions)),
            tuple(
                TriggerDraft(i, body, self._reference("workflow", body.workflow_id, (*where, "workflowId")), where)
                for i, (body, where) in enumerate(placed)
            ),
            path,
        )

    def _node(self, workflow: str, ref: str, file: NodeFile, path: Path, into: Definitions) -> NodeDraft:
        name = inline_name(workflow, ref)
        if file.action is not None:
            task: Reference | None = self._one_step_task(name, file.action, (*path, "action"), into)
        elif isinstance(file.task, TaskFile):
            self._new_name("task", name, (*path, "task"), into.tasks)
            into.tasks[name] = self._task(name, file.task, (*path, "task"), into)
            task = _local("task", name, (*path, "task"))
        else:
            task = self._reference("task", cast("str", file.task), (*path, "task"), file.task_version)
        return NodeDraft(ref, file, task, path)

    def _one_step_task(self, name: str, place: str | ActionFile, path: Path, into: Definitions) -> Reference:
        """FIL-1: the step passes the task's input to the action, and the action's output to the task's output."""
        if isinstance(place, str):
            action = self._reference("action", place, path)
        else:
            self._new_name("action", name, path, into.actions)
            into.actions[name] = self._action(name, place, path, inline_in_node=True)
            action = _local("action", name, path)
        self._new_name("task", name, path, into.tasks)
        step = StepBody(ref="action", input_mapping="$.input", output_mapping={"output": "$"})
        into.tasks[name] = TaskDraft(name, TaskBody(), (StepDraft(step, action, path),), path)
        return _local("task", name, path)

    def _task(self, name: str, file: TaskFile, path: Path, into: Definitions) -> TaskDraft:
        steps = tuple(self._step(name, step, (*path, "steps", i), into) for i, step in enumerate(file.steps))
        return TaskDraft(name, file, steps, path)

    def _step(self, task: str, file: StepFile, path: Path, into: Definitions) -> StepDraft:
        where = (*path, "action")
        if isinstance(file.action, str):
            action = self._reference("action", file.action, where, file.action_version)
        else:
            name = inline_name(task, file.ref)
            self._new_name("action", name, where, into.actions)
            into.actions[name] = self._action(name, file.action, where, inline_in_node=False)
            action = _local("action", name, where)
        return StepDraft(file, action, path)

    def _action(self, name: str, file: ActionFile, path: Path, *, inline_in_node: bool) -> ActionDraft:
        written, kind, where = file.implementation, KINDS.find(file.kind), (*path, "implementation")
        assert kind, "that the kind is known was checked with the file"
        if inline_in_node and kind.scoped and isinstance(written, dict):
            written = {"scope": "workflow", **written}  # FIL-2
        model = kind.configuration
        implementation: Record | None = None
        references: list[Reference | None] = []
        try:
            implementation = model.model_validate(written)
        except ValidationError as error:
            self.faults.extend(record_faults(error, model, written, where))
        else:
            for field, named in kind.references.items():
                text = getattr(implementation, field)
                if isinstance(text, str):
                    beside = getattr(implementation, "version", None)
                    version = beside if isinstance(beside, int) else None
                    reference = self._reference(named, text, (*where, field), version)
                    if reference and reference.version and isinstance(beside, FromContext):
                        message = f"'{text}' names a version, and the version beside it is read from the context"
                        self._fault(
                            "bad_reference", (*where, field), message, f"write '{reference.name}', or no version"
                        )
                    references.append(reference)
        return ActionDraft(name, file, implementation, tuple(filter(None, references)), path)

    def _reference(self, kind: ResourceKind, text: str, path: Path, version: int | None = None) -> Reference | None:
        reference = parse_reference(kind, text, path, version)
        if reference is None:
            message = f"'{text}' does not name {_a(kind)}"
            if parse_reference(kind, text, path):
                message = f"'{text}' and the version {version} beside it are two versions"
            self._fault("bad_reference", path, message, "write name, name@3 or library/name@3; a version is a number")
        return reference

    def _new_name(self, kind: str, name: str, path: Path, taken: dict[str, Any]) -> None:
        if name in taken:
            message = f"this is stored as {_a(kind)} called '{name}', and the file already has one with this name"
            self._fault("duplicate_name", path, message, f"rename the other {kind}")

    def _fault(self, code: str, path: Path, message: str, hint: str) -> None:
        self.faults.append(Fault(code, path, message, hint))


def _transition(ordinal: int, file: TransitionFile, path: Path) -> TransitionDraft:
    where = (*path, "transitions", ordinal)
    return TransitionDraft(ordinal, file, file.from_, file.to, where)


def _local(kind: ResourceKind, name: str, path: Path) -> Reference:
    return Reference(kind, name, None, None, path)


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"
