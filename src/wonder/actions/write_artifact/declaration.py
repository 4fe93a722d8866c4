"""The declaration of `write_artifact`."""

from typing import ClassVar

from wonder.actions.write_artifact.record import WriteArtifact
from wonder.definitions.checks.flow import ANYTHING, Sight, check_mapping
from wonder.definitions.faults import Path
from wonder.definitions.findings import Findings
from wonder.definitions.kinds import TEXT, WHOLE_NUMBER, Kind, Named, object_of
from wonder.language.schemas import Schema


class Declaration(Kind):
    """Keeps content in the object store."""

    kind = "write_artifact"
    configuration = WriteArtifact
    summary = "keeps content in the object store"
    gives = "{artifact_id, content_type, size_bytes}"
    errors = ("ARTIFACT_MISFIT", "ARTIFACT_TOO_LARGE", "NO_OBJECT_STORE", "OBJECTS_UNAVAILABLE")
    references: ClassVar = {"artifact_type_id": "artifact_type"}
    at_work = "wonder.actions.write_artifact.kind:WriteArtifactKind"

    def check(self, implementation: WriteArtifact, path: Path, findings: Findings) -> None:
        """Note a mapping that can't be read."""
        # `$` is the action's input, of which nothing is known here.
        sight = Sight({}, whole=ANYTHING)
        check_mapping(implementation.content_mapping, sight, (*path, "content_mapping"), findings)

    def output_schema(self, implementation: WriteArtifact | None, named: Named) -> Schema:
        """Give the id of the artifact, its content type and its size."""
        return object_of(artifact_id=TEXT, content_type=TEXT, size_bytes=WHOLE_NUMBER)
