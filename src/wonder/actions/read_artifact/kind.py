"""`read_artifact`: the content of what a run stored before (ACT-6)."""

from base64 import b64encode
from typing import Final

from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.equipment import Equipment
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.actions.read_artifact.declaration import Declaration
from wonder.actions.read_artifact.record import ReadArtifact
from wonder.actions.secrets.template_names import names_of
from wonder.definitions.records.actions import ActionDef
from wonder.language.templates import compile_template
from wonder.language.values import BadValue, JsonValue, parse_json
from wonder.storage.artifacts import Artifact

BYTES_MAX: Final = 10_000_000
"""As much as `read_file` reads: it becomes a value of the run."""


class ReadArtifactKind(Declaration, ActionKind):
    """Reads from the object store."""

    def __init__(self, artifacts: Artifacts | None) -> None:
        self._artifacts = artifacts

    @classmethod
    def made_with(cls, equipment: Equipment) -> "ReadArtifactKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment.artifacts)

    def compile(self, action: ActionDef, use: Use) -> "ArtifactReading":
        """Compile the template of the id."""
        return ArtifactReading(self.read(action), self._artifacts)


class ArtifactReading:
    """An artifact to read; its id is a template over the input."""

    __slots__ = ("_artifacts", "_encoding", "_id", "_node")

    def __init__(self, configured: ReadArtifact, artifacts: Artifacts | None) -> None:
        self._id = None if configured.artifact_id is None else compile_template(configured.artifact_id)
        self._node, self._encoding, self._artifacts = configured.node, configured.encoding, artifacts

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Give the content, and what is known of the artifact."""
        if self._artifacts is None:
            message = "artifacts can't be read here: this process has no object store; run it with a database's engine"
            raise ActionFailed("NO_OBJECT_STORE", message)
        if self._id is not None:
            artifact = await self._artifacts.find(context.origin, self._id.render(names_of(input)))
        else:
            artifact = await self._artifacts.newest_of_node(context.origin, self._node or "")
        content = await self._artifacts.read(artifact, BYTES_MAX)
        return {
            "artifact_id": artifact.id,
            "content": self._value(content, artifact),
            "content_type": artifact.content_type,
            "size_bytes": artifact.size_bytes,
            "schema_data": artifact.schema_data,
        }

    def _value(self, content: bytes, artifact: Artifact) -> JsonValue:
        if self._encoding == "base64":
            return b64encode(content).decode()
        if self._encoding == "json":
            try:
                return parse_json(content, max_bytes=BYTES_MAX)
            except BadValue as error:
                raise _unreadable("NOT_JSON", artifact, f"is not JSON: {error}", "utf-8 or base64") from error
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _unreadable("NOT_UTF_8", artifact, f"is not UTF-8 at byte {error.start}", "base64") from error
        if "\0" in text:
            reason = "holds the character U+0000, which no text of a workflow can"
            raise _unreadable("NOT_UTF_8", artifact, reason, "base64")
        return text


def _unreadable(code: str, artifact: Artifact, reason: str, instead: str) -> ActionFailed:
    message = f"the artifact {artifact.id} ({artifact.content_type}) {reason}; read it with 'encoding: {instead}'"
    return ActionFailed(code, message, details={"artifact_id": artifact.id})
