"""`write_artifact`: content for the object store, described by data that fits its type (ACT-6)."""

import re
from typing import Final

from wonder.actions.artifacts.storing import BLOB, Artifacts
from wonder.actions.equipment import Equipment
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Origin, Use
from wonder.actions.resources import Resources
from wonder.actions.write_artifact.declaration import Declaration
from wonder.actions.write_artifact.record import WriteArtifact
from wonder.definitions.records.actions import ActionDef
from wonder.definitions.records.resources import ArtifactType
from wonder.language.mappings import compile_mapping
from wonder.language.schemas import Validator, compile_validator
from wonder.language.values import JsonValue, encode_json

_CONTENT: Final = "content"
_CONTENT_TYPE: Final = "content_type"
_TEXT: Final = "text/plain; charset=utf-8"
_JSON: Final = "application/json"
# A type and a subtype, with parameters that can be sent as a header (RFC 9110).
_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA_TYPE: Final = re.compile(rf'{_WORD}/{_WORD}(?:[ \t]*;[ \t]*{_WORD}=(?:{_WORD}|"[ !#-\[\]-~]*"))*')
_MEDIA_TYPE_MAX: Final = 255
_FAULTS_MAX: Final = 20


class WriteArtifactKind(Declaration, ActionKind):
    """Stores what a mapping makes of the input."""

    def __init__(self, resources: Resources, artifacts: Artifacts | None) -> None:
        self._resources, self._artifacts = resources, artifacts

    @classmethod
    def made_with(cls, equipment: Equipment) -> "WriteArtifactKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment.resources, equipment.artifacts)

    def compile(self, action: ActionDef, use: Use) -> "ArtifactWriting":
        """Compile the mapping; the type is looked up when it is first needed."""
        return ArtifactWriting(self.read(action), self._resources, self._artifacts)


class ArtifactWriting:
    """An artifact to write."""

    __slots__ = ("_artifacts", "_mapping", "_resources", "_type_id", "_validators", "_version")

    def __init__(self, configured: WriteArtifact, resources: Resources, artifacts: Artifacts | None) -> None:
        self._mapping = compile_mapping(configured.content_mapping)
        self._type_id, _, version = configured.artifact_type_id.partition("@")
        self._version = int(version) if version else None
        self._validators: dict[int, Validator] = {}
        self._resources, self._artifacts = resources, artifacts

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Store the content, and give the artifact's id, content type and size."""
        if self._artifacts is None:
            raise no_objects()
        # Its `$` is the action's input, which may be any value.
        mapped = self._mapping.apply(input)
        if not isinstance(mapped, dict):
            message = f"content_mapping must give an object, found {encode_json(mapped)[:100]}; correct the mapping"
            raise ActionFailed("ARTIFACT_MISFIT", message)
        schema_data = {key: value for key, value in mapped.items() if key not in (_CONTENT, _CONTENT_TYPE)}
        version = await self._check(schema_data, context.origin)
        content, content_type = _content(mapped, schema_data)
        artifact = await self._artifacts.write(
            content,
            context,
            content_type=content_type,
            artifact_type=(self._type_id, version),
            schema_data=schema_data,
        )
        return {
            "artifact_id": artifact.id,
            "content_type": artifact.content_type,
            "size_bytes": artifact.size_bytes,
        }

    async def _check(self, schema_data: dict[str, JsonValue], origin: Origin) -> int | None:
        """Hold the data against the type's schema, and give the version of the type that it was held against."""
        if self._type_id == BLOB:
            return None
        if self._version is not None:
            artifact_type = await self._resources.definition(ArtifactType, self._type_id, self._version)
        else:
            # The newest when the run started: a new version never changes a run under way (RES-4).
            artifact_type = await self._resources.at_start(ArtifactType, self._type_id, origin)
        validator = self._validators.get(artifact_type.version)
        if validator is None:
            validator = self._validators[artifact_type.version] = compile_validator(artifact_type.schema_)
        if not validator.is_valid(schema_data):
            raise _misfit(artifact_type, validator, schema_data)
        return artifact_type.version


def no_objects() -> ActionFailed:
    """Say that nothing can be stored for good here."""
    message = "artifacts can't be stored here: this process has no object store; run it with the engine of a database"
    return ActionFailed("NO_OBJECT_STORE", message)


def _content(mapped: dict[str, JsonValue], schema_data: dict[str, JsonValue]) -> tuple[bytes, str]:
    """Give the content as bytes, and what it is: a text is stored as it is, any other value as JSON."""
    value = mapped.get(_CONTENT, schema_data)
    content, content_type = (value, _TEXT) if isinstance(value, str) else (encode_json(value), _JSON)
    given = mapped.get(_CONTENT_TYPE, content_type)
    if not isinstance(given, str) or len(given) > _MEDIA_TYPE_MAX or not _MEDIA_TYPE.fullmatch(given):
        message = f"content_type must be one such as text/markdown, found {encode_json(given)[:100]}; correct it"
        raise ActionFailed("ARTIFACT_MISFIT", message)
    return content.encode(), given


def _misfit(artifact_type: ArtifactType, validator: Validator, schema_data: dict[str, JsonValue]) -> ActionFailed:
    faults = validator.faults(schema_data)[:_FAULTS_MAX]
    shown = "; ".join(map(str, faults[:3]))
    message = (
        f"the artifact does not fit its type {artifact_type.name!r} (version {artifact_type.version}): {shown}; "
        "correct content_mapping or the type's schema"
    )
    details: dict[str, JsonValue] = {"faults": [str(fault) for fault in faults]}
    return ActionFailed("ARTIFACT_MISFIT", message, details=details)
