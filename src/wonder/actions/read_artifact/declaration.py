"""The declaration of `read_artifact`."""

from collections.abc import Iterator

from wonder.actions.read_artifact.record import ReadArtifact
from wonder.definitions.faults import Path
from wonder.definitions.kinds import TEXT, WHOLE_NUMBER, Kind, Named, object_of
from wonder.language.schemas import Schema


class Declaration(Kind):
    """Reads the content of an artifact."""

    kind = "read_artifact"
    configuration = ReadArtifact
    summary = "reads the content of an artifact"
    gives = "{artifact_id, content, content_type, size_bytes, schema_data}"
    errors = (
        "ARTIFACT_NOT_FOUND",
        "ARTIFACT_TOO_LARGE",
        "NOT_JSON",
        "NOT_UTF_8",
        "NO_OBJECT_STORE",
        "OBJECTS_UNAVAILABLE",
        "OBJECT_DAMAGED",
        "OBJECT_MISSING",
    )
    at_work = "wonder.actions.read_artifact.kind:ReadArtifactKind"

    def output_schema(self, implementation: ReadArtifact | None, named: Named) -> Schema:
        """Give the content, and what is known of the artifact."""
        content: Schema = {} if implementation is None or implementation.encoding == "json" else TEXT
        return object_of(artifact_id=TEXT, content=content, content_type=TEXT, size_bytes=WHOLE_NUMBER, schema_data={})

    def templates(self, implementation: ReadArtifact) -> Iterator[tuple[Path, str | None]]:
        """Give the id."""
        yield ("artifact_id",), implementation.artifact_id
