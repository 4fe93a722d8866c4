"""Small records to store, complete but short; every field can be given."""

import itertools
from typing import Any

from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.graph import Node, Transition, WorkflowDef
from wonder.definitions.records.resources import ArtifactType, McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tasks import Step, TaskDef
from wonder.definitions.records.workflows import Trigger, Workflow

NOW = "2026-01-02T03:04:05.000006Z"
LATER = "2026-01-03T03:04:05.000006Z"
_numbers = itertools.count(1)


def new_id() -> str:
    """Give an id in the form of a ULID, each greater than the one before."""
    return f"01TEST{next(_numbers):020}"


def clock() -> str:
    """Give the same time whenever it is asked."""
    return NOW


def _definition(name: str, project_id: str | None, fields: dict[str, Any]) -> dict[str, Any]:
    content_hash = fields.pop("content_hash", "hash of " + name)
    stamps = {"created_at": NOW, "updated_at": NOW}
    given = {"id": new_id(), "version": 1, "name": name, "project_id": project_id, "content_hash": content_hash}
    return given | stamps | fields


def action(name: str, project_id: str | None = None, **fields: Any) -> ActionDef:
    """Make an action; an `assert` unless said otherwise."""
    kind = {"kind": "assert", "implementation": {"expr": "1", "message": "never"}}
    return ActionDef.model_validate(kind | _definition(name, project_id, fields))


def task(name: str, project_id: str | None, actions: list[tuple[str, int]], **fields: Any) -> TaskDef:
    """Make a task with one step for each action, given as id and version."""
    steps = [
        Step(id=new_id(), ref=f"step{ordinal}", ordinal=ordinal, action_id=id, action_version=version)
        for ordinal, (id, version) in enumerate(actions)
    ]
    return TaskDef.model_validate({"steps": steps} | _definition(name, project_id, fields))


def workflow_def(name: str, project_id: str | None, tasks: list[tuple[str, int]], **fields: Any) -> WorkflowDef:
    """Make a workflow whose nodes run the tasks, given as id and version, one after the other."""
    nodes = [
        Node(id=new_id(), ref=f"node{number}", task_id=id, task_version=version)
        for number, (id, version) in enumerate(tasks)
    ]
    transitions = [
        Transition(id=new_id(), from_node_id=first.id, to_node_id=second.id)
        for first, second in itertools.pairwise(nodes)
    ]
    graph = {"initial_node_id": nodes[0].id, "nodes": nodes, "transitions": transitions}
    return WorkflowDef.model_validate(graph | _definition(name, project_id, fields))


def prompt(name: str, project_id: str | None, **fields: Any) -> PromptSpec:
    """Make a prompt."""
    return PromptSpec.model_validate({"template": "Say {{x}}"} | _definition(name, project_id, fields))


def artifact_type(name: str, project_id: str | None, **fields: Any) -> ArtifactType:
    """Make a type of artifact."""
    return ArtifactType.model_validate(_definition(name, project_id, fields))


def _named(name: str, project_id: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"id": new_id(), "project_id": project_id, "name": name, "created_at": NOW, "updated_at": NOW} | fields


def model(name: str, project_id: str, **fields: Any) -> ModelProfile:
    """Make a model profile."""
    return ModelProfile.model_validate({"provider": "local", "model_id": "m"} | _named(name, project_id, fields))


def mcp_server(name: str, project_id: str, **fields: Any) -> McpServer:
    """Make an MCP server."""
    connection = {"transport": "stdio", "command": ["serve"], "env": {"A": "1"}}
    return McpServer.model_validate({"connection": connection} | _named(name, project_id, fields))


def vector_index(name: str, project_id: str, artifact_type_ids: list[str], **fields: Any) -> VectorIndex:
    """Make a vector index."""
    index = {"embedding_provider": "local", "embedding_model": "m", "dimensions": 3, "content_fields": ["text"]}
    given = {"artifact_type_ids": artifact_type_ids}
    return VectorIndex.model_validate(index | given | _named(name, project_id, fields))


def workflow(name: str, project_id: str, workflow_def_id: str, **fields: Any) -> Workflow:
    """Make a workflow that binds a definition."""
    return Workflow.model_validate({"workflow_def_id": workflow_def_id} | _named(name, project_id, fields))


def trigger(workflow_def_id: str, version: int, target: str, **fields: Any) -> Trigger:
    """Make a trigger of a definition version."""
    owner = {"id": new_id(), "workflow_def_id": workflow_def_id, "workflow_def_version": version, "ordinal": 0}
    return Trigger.model_validate(owner | {"workflowId": target, "inputs": {"x": "@output"}} | fields)
