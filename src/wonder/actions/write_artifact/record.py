"""What a `write_artifact` takes."""

from wonder.definitions.records.fields import Identifier, MappingTemplate, Record


class WriteArtifact(Record):
    """Content for the object store, made by a template over the action's input."""

    artifact_type_id: Identifier
    content_mapping: MappingTemplate
