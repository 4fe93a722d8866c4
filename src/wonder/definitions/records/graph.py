"""WorkflowDef, Node and Transition: the graph that a run follows."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, model_validator
from pydantic import Tag as UnionTag
from pydantic_core import PydanticCustomError

from wonder.definitions.records.fields import (
    Count,
    Description,
    Identifier,
    Json,
    JsonSchema,
    MappingTemplate,
    Milliseconds,
    Name,
    Record,
    Ref,
    Tag,
    Timestamp,
    Version,
)
from wonder.definitions.records.tenancy import Owned

Text = Annotated[str, Field(min_length=1, max_length=10_000)]


class ExpressionCondition(Record):
    """A condition in the expression language; `reads` helps bare names (EXP-2)."""

    type: Literal["expression"]
    expr: Text
    reads: Annotated[list[Text], Field(max_length=1_000)] = []


class StructuredCondition(Record):
    """A condition as a tree of comparisons (EXP-5)."""

    type: Literal["structured"]
    definition: Json


Condition = Annotated[ExpressionCondition | StructuredCondition, Discriminator("type")]


class Foreach(Record):
    """One branch for each element of a collection."""

    collection: Text
    item_var: Ref = "item"
    max_parallel: Count | None = None


class MOfN(Record):
    """A join that goes on at the m-th arrival."""

    m_of_n: Count


MergeStrategy = Literal["append", "merge_object", "keyed_by_branch", "last_wins"]
OnEarlyComplete = Literal["cancel", "abandon"]
OnFanInTimeout = Literal["fail", "proceed_with_available"]
OnWorkflowTimeout = Literal["human_gate", "fail"]


class Merge(Record):
    """How the outputs of the arrived branches become one value (CTL-11)."""

    source: Text
    target: Text
    strategy: MergeStrategy


def _strategy_form(value: object) -> str:
    return "name" if isinstance(value, str) else "count"


Strategy = Annotated[
    Annotated[Literal["all", "any"], UnionTag("name")] | Annotated[MOfN, UnionTag("count")],
    Discriminator(_strategy_form),
]


class Synchronization(Record):
    """A fan-in: which branches are waited for, and what happens when they are there (CTL-8)."""

    strategy: Strategy
    sibling_group: Ref
    merge: Merge | None = None
    on_early_complete: OnEarlyComplete = "cancel"
    timeout_ms: Milliseconds | None = None
    on_timeout: OnFanInTimeout = "fail"


class LoopConfig(Record):
    """How often, or how long, a transition may be taken (CTL-14)."""

    max_iterations: Count | None = None
    timeout_ms: Milliseconds | None = None

    @model_validator(mode="after")
    def _some_limit(self) -> "LoopConfig":
        if self.max_iterations is None and self.timeout_ms is None:
            raise PydanticCustomError("no_limit", "a loop_config needs max_iterations, timeout_ms or both")
        return self


class TransitionBody(Record):
    """What an author says of a transition, besides its ends."""

    ref: Ref | None = None
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] = 0
    condition: Condition | None = None
    # All of its tokens are made in one commit. A foreach has the project's foreach_limit, whose default this is.
    spawn_count: Annotated[int, Field(ge=1, le=100_000)] | None = None
    foreach: Foreach | None = None
    synchronization: Synchronization | None = None
    loop_config: LoopConfig | None = None

    @model_validator(mode="after")
    def _one_way_to_fan_out(self) -> "TransitionBody":
        if self.foreach and self.spawn_count is not None:
            raise PydanticCustomError("spawn_and_foreach", "a transition can't have both spawn_count and foreach")
        if self.foreach and self.synchronization:
            raise PydanticCustomError(
                "foreach_and_synchronization", "a transition can't have both foreach and synchronization"
            )
        return self


class Transition(TransitionBody):
    """An edge of the graph; all branching is here."""

    id: Identifier
    from_node_id: Identifier
    to_node_id: Identifier


class NodeBody(Record):
    """What an author says of a node, besides its task."""

    name: Name | None = None
    input_mapping: MappingTemplate = None
    output_mapping: dict[str, MappingTemplate] | None = None


class Node(NodeBody):
    """A point of the graph: runs one task, and maps data in and out."""

    id: Identifier
    ref: Ref
    task_id: Identifier
    task_version: Version


class WorkflowBody(Record):
    """What an author says of a workflow, besides its graph."""

    description: Description = ""
    tags: list[Tag] = []
    input_schema: JsonSchema = {}
    output_schema: JsonSchema = {}
    context_schema: JsonSchema = {}
    timeout_ms: Milliseconds | None = None
    on_timeout: OnWorkflowTimeout = "human_gate"


class WorkflowDef(WorkflowBody, Owned):
    """One version of a workflow's graph, which never changes."""

    id: Identifier
    version: Version
    name: Name
    initial_node_id: Identifier
    nodes: list[Node]
    transitions: list[Transition]
    content_hash: str
    created_at: Timestamp
    updated_at: Timestamp
