"""Artifacts: what runs have stored, and its content."""

from collections.abc import AsyncIterator
from typing import Any

from wonder.app.application import Application
from wonder.app.objects import objects_of
from wonder.definitions.records.resources import ArtifactType
from wonder.operations.declaring import Input, operation, stream
from wonder.operations.outputs import Output
from wonder.operations.runs import find_run
from wonder.storage.artifacts import Artifact, artifacts_of_project, artifacts_of_run, load_artifact
from wonder.storage.definitions import load_definition
from wonder.storage.pages import LIMIT


class ArtifactRecord(Output, frozen=True):
    """What is known of an artifact."""

    artifact_id: str
    run_id: str
    node: str
    path_id: str
    step: str
    part: str
    artifact_type_id: str
    artifact_type_version: int | None
    type: str
    """The name of its type, with the version."""
    content_type: str
    size_bytes: int
    storage_key: str
    schema_data: Any
    created_ms: int


class ArtifactPage(Output, frozen=True):
    """Some artifacts, newest first; `cursor` gets the next page, or is null at the end."""

    artifacts: list[ArtifactRecord]
    cursor: str | None


class ListArtifacts(Input, frozen=True):
    """Whose artifacts, and which page of them."""

    run_id: str | None = None
    """Only those of a run, and those that it inherits."""
    limit: int = LIMIT
    cursor: str | None = None


@operation("artifacts.list", role="viewer")
async def list_artifacts(application: Application, given: ListArtifacts) -> ArtifactPage:
    """List artifacts of the project or of a run, newest first."""
    store, limit, cursor = application.store, given.limit, given.cursor
    if given.run_id:
        run = await find_run(application, given.run_id)
        page = await artifacts_of_run(store, run.id, limit=limit, cursor=cursor)
    else:
        page = await artifacts_of_project(store, application.home.project_id, limit=limit, cursor=cursor)
    return ArtifactPage(artifacts=[await _record(application, one) for one in page.items], cursor=page.cursor)


class OneArtifact(Input, frozen=True):
    """An artifact."""

    artifact_id: str


@operation("artifacts.show", role="viewer")
async def show_artifact(application: Application, given: OneArtifact) -> ArtifactRecord:
    """Show what is known of an artifact."""
    return await _record(application, await _load(application, given))


@stream("artifacts.content", role="viewer")
async def artifact_content(application: Application, given: OneArtifact) -> AsyncIterator[bytes]:
    """Give the content of an artifact, part by part."""
    artifact = await _load(application, given)
    async for chunk in objects_of(application.url, application.objects_url).read(artifact.storage_key):
        yield chunk


async def _load(application: Application, given: OneArtifact) -> Artifact:
    return await load_artifact(application.store, application.home.project_id, given.artifact_id)


async def _record(application: Application, artifact: Artifact) -> ArtifactRecord:
    return ArtifactRecord(
        artifact_id=artifact.id,
        run_id=artifact.run_id,
        node=artifact.node,
        path_id=artifact.path_id,
        step=artifact.step,
        part=artifact.part,
        artifact_type_id=artifact.artifact_type_id,
        artifact_type_version=artifact.artifact_type_version,
        type=await _type(application, artifact),
        content_type=artifact.content_type,
        size_bytes=artifact.size_bytes,
        storage_key=artifact.storage_key,
        schema_data=artifact.schema_data,
        created_ms=artifact.created_ms,
    )


async def _type(application: Application, artifact: Artifact) -> str:
    version = artifact.artifact_type_version
    if version is None:
        return artifact.artifact_type_id
    definition = await load_definition(application.store, ArtifactType, artifact.artifact_type_id, version)
    return f"{definition.name}@{version}"
