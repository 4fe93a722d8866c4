"""What a `read_artifact` takes."""

from typing import Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from wonder.definitions.records.fields import Record, Ref
from wonder.definitions.records.implementation_fields import Text


class ReadArtifact(Record):
    """An artifact by its id, or the newest that a node has stored in this run or in one whose artifacts it inherits."""

    artifact_id: Text | None = None
    node: Ref | None = None
    encoding: Literal["utf-8", "json", "base64"] = "utf-8"

    @model_validator(mode="after")
    def _one_way_to_find_it(self) -> "ReadArtifact":
        if (self.artifact_id is None) == (self.node is None):
            raise PydanticCustomError("which_artifact", "give either artifact_id or node, to say which one is read")
        return self
