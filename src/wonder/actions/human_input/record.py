"""What a `human_input` takes."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from wonder.definitions.records.fields import Json, JsonSchema, Milliseconds, Record, Ref
from wonder.definitions.records.implementation_fields import value_or_record

APPROVERS_MAX = 50
EVIDENCE_MAX = 50

Person: TypeAlias = Ref
"""The name of a person or of an API key, as the inbox knows it."""
AnsweringRole: TypeAlias = Literal["operator", "author", "admin"]
"""A role that may answer; each may do what those before it may."""
DottedPath = Annotated[str, Field(min_length=1, max_length=1_000)]


class DefaultAnswer(Record):
    """The answer that counts when nobody answered in time, or when approvers disagree."""

    default: Json


class AnswerableBy(Record):
    """Who may answer: those with one of these names, and those with at least this role; without both, everybody."""

    names: Annotated[list[Person], Field(min_length=1, max_length=1_000)] | None = None
    role: AnsweringRole | None = None
    models: bool = False
    """Whether a model may answer through MCP, in a person's place."""


class Quorum(Record):
    """How many of which people must give the same answer, and what happens when they can't any more (ACT-4a)."""

    of: Annotated[list[Person], Field(min_length=1, max_length=APPROVERS_MAX)]
    needed: Annotated[int, Field(ge=1, le=APPROVERS_MAX)]
    agree_on: DottedPath | None = None
    """The part of the answers that must be the same; without it, all of them."""
    on_disagreement: Annotated[
        Annotated[Literal["fail", "majority"], Tag("value")] | Annotated[DefaultAnswer, Tag("from_context")],
        Discriminator(value_or_record),
    ] = "fail"


class HumanInput(Record):
    """A question to a person or to several, with the schema of the answer (ACT-4)."""

    prompt: Annotated[str, Field(min_length=1, max_length=100_000)]
    # `schema` is also a name of pydantic's, hence the alias.
    schema_: Annotated[JsonSchema, Field(alias="schema")] = {}
    evidence: Annotated[dict[Ref, DottedPath], Field(max_length=EVIDENCE_MAX)] = {}
    """What is shown beside the question: names, and the paths of the context that are read when it is asked."""
    assignee: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    """Whose question it is: a name, or a template over the input."""
    role: AnsweringRole | None = None
    """Whose question it is, where it has no assignee: that of all with at least this role."""
    answerable_by: AnswerableBy | None = None
    quorum: Quorum | None = None
    remind_ms: Milliseconds | None = None
    """How often to remind of it while it is open."""
    deadline_ms: Milliseconds | None = None
    on_deadline: Annotated[
        Annotated[Literal["fail"], Tag("value")] | Annotated[DefaultAnswer, Tag("from_context")],
        Discriminator(value_or_record),
    ] = "fail"
