"""Turns drafts into records, once it is known which id and version each reference means."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from wonder.definitions.content import content_hash, fields_of
from wonder.definitions.drafts import ActionDraft, NodeDraft, TaskDraft, TransitionDraft, WorkflowDraft
from wonder.definitions.records.actions import ActionBody, ActionDef
from wonder.definitions.records.graph import Node, NodeBody, Transition, TransitionBody, WorkflowBody, WorkflowDef
from wonder.definitions.records.resources import ArtifactType, ArtifactTypeBody, PromptBody, PromptSpec
from wonder.definitions.records.tasks import Step, StepBody, TaskBody, TaskDef
from wonder.definitions.records.workflows import Trigger
from wonder.definitions.references import Reference


class Bound(Struct, frozen=True):
    """What a reference means: an id, and a version where there are versions."""

    id: str
    version: int | None


class Binder(Struct, frozen=True):
    """Makes records for one owner; ids and the time come from outside."""

    project_id: str | None
    library_id: str | None
    resolve: Callable[[Reference], Bound]
    new_id: Callable[[], str]
    now: str

    def action(self, draft: ActionDraft) -> ActionDef:
        """Make an action's record; what its implementation names is stored as ids."""
        assert draft.implementation is not None
        fields = fields_of(ActionBody, draft.body)
        implementation = draft.implementation.model_dump(by_alias=True)
        for reference in draft.references:
            bound = self.resolve(reference)
            versioned = "version" not in implementation and reference.version is not None
            implementation[str(reference.path[-1])] = f"{bound.id}@{reference.version}" if versioned else bound.id
            # A version that is read from the context stays as it is: it is known when the call is made (RES-4).
            if reference.kind == "workflow" and not isinstance(implementation.get("version", {}), dict):
                implementation["version"] = reference.version
        fields["implementation"] = implementation
        return ActionDef.model_validate(self._definition(draft.name, fields, fields))

    def task(self, draft: TaskDraft) -> TaskDef:
        """Make a task's record."""
        steps = []
        for ordinal, step in enumerate(draft.steps):
            assert step.action is not None
            bound = self.resolve(step.action)
            steps.append(
                fields_of(StepBody, step.body)
                | {"ordinal": ordinal, "action_id": bound.id, "action_version": bound.version}
            )
        fields = fields_of(TaskBody, draft.body)
        records = [Step.model_validate(step | {"id": self.new_id()}) for step in steps]
        return TaskDef.model_validate(
            self._definition(draft.name, fields | {"steps": records}, fields | {"steps": steps})
        )

    def workflow(self, draft: WorkflowDraft) -> WorkflowDef:
        """Make a workflow's record."""
        ids = {ref: self.new_id() for ref in draft.nodes}
        fields = fields_of(WorkflowBody, draft.body)
        nodes = [self._node(node) for node in draft.nodes.values()]
        transitions = [_transition(transition) for transition in draft.transitions]
        content = fields | {
            "initial_node": draft.initial_node,
            "nodes": nodes,
            "transitions": transitions,
            "triggers": [trigger.body.model_dump(by_alias=True) for trigger in draft.triggers],
        }
        graph = {
            "initial_node_id": ids[draft.initial_node],
            "nodes": [Node.model_validate(node | {"id": ids[node["ref"]]}) for node in nodes],
            "transitions": [self._transition_record(transition, ids) for transition in transitions],
        }
        return WorkflowDef.model_validate(self._definition(draft.name, fields | graph, content))

    def triggers(self, draft: WorkflowDraft, workflow_def_id: str, version: int) -> list[Trigger]:
        """Make the records of a workflow version's triggers."""
        of = {"workflow_def_id": workflow_def_id, "workflow_def_version": version}
        return [
            Trigger.model_validate(
                trigger.body.model_dump(by_alias=True) | of | {"id": self.new_id(), "ordinal": trigger.ordinal}
            )
            for trigger in draft.triggers
        ]

    def prompt(self, name: str, body: PromptBody) -> PromptSpec:
        """Make a prompt's record."""
        fields = fields_of(PromptBody, body)
        return PromptSpec.model_validate(self._definition(name, fields, fields))

    def artifact_type(self, name: str, body: ArtifactTypeBody) -> ArtifactType:
        """Make the record of a type of artifact."""
        fields = fields_of(ArtifactTypeBody, body)
        return ArtifactType.model_validate(self._definition(name, fields, fields))

    def _node(self, node: NodeDraft) -> dict[str, Any]:
        assert node.task is not None
        bound = self.resolve(node.task)
        own = {"ref": node.ref, "task_id": bound.id, "task_version": bound.version}
        return fields_of(NodeBody, node.body) | own

    def _transition_record(self, transition: dict[str, Any], ids: dict[str, str]) -> Transition:
        ends = {"id": self.new_id(), "from_node_id": ids[transition["from"]], "to_node_id": ids[transition["to"]]}
        body = {key: value for key, value in transition.items() if key not in ("from", "to")}
        return Transition.model_validate(body | ends)

    def _definition(self, name: str, fields: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
        return fields | {
            "id": self.new_id(),
            "version": 1,  # the store counts
            "name": name,
            "project_id": self.project_id,
            "library_id": self.library_id,
            "content_hash": content_hash(content),
            "created_at": self.now,
            "updated_at": self.now,
        }


def _transition(transition: TransitionDraft) -> dict[str, Any]:
    ends = {"from": transition.from_ref, "to": transition.to_ref}
    return fields_of(TransitionBody, transition.body) | ends
