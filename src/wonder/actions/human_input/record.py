"""What a `human_input` takes."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from wonder.definitions.records.fields import Json, JsonSchema, Milliseconds, Record
from wonder.definitions.records.implementation_fields import value_or_record


class DefaultAnswer(Record):
    """The answer that counts when nobody answered in time."""

    default: Json


class HumanInput(Record):
    """A question to a person, with the schema of the answer (ACT-4)."""

    prompt: Annotated[str, Field(min_length=1, max_length=100_000)]
    # `schema` is also a name of pydantic's, hence the alias.
    schema_: Annotated[JsonSchema, Field(alias="schema")] = {}
    deadline_ms: Milliseconds | None = None
    on_deadline: Annotated[
        Annotated[Literal["fail"], Tag("value")] | Annotated[DefaultAnswer, Tag("from_context")],
        Discriminator(value_or_record),
    ] = "fail"
