"""Storing what actions make for good, and reading it back (ACT-6).

Content goes into the object store first, then a row is written that says what it is.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from wonder.actions.protocol import ActionContext, ActionFailed, Origin
from wonder.backoff import insist
from wonder.clock import Clock
from wonder.errors import WonderError
from wonder.language.values import JsonValue
from wonder.objects.errors import ObjectDamaged, ObjectMissing, ObjectsUnavailable, ObjectTooLarge
from wonder.objects.store import Content, Objects, StoredObject, read_whole
from wonder.storage.artifacts import Artifact, artifact_id, load_artifact, newest_artifact_of_node, put_artifact
from wonder.storage.errors import (
    ConnectionLost,
    DatabaseBusy,
    DatabaseFailed,
    DiskFull,
    LeaseLost,
    WriteRefused,
)
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.leases import Lease
from wonder.storage.store import Store

BLOB: Final = "blob"
"""The type of artifacts that takes anything."""
OUTPUT: Final = "recorded output"
"""The part under which the output of a task is kept that is too large for an event."""

# No fault of the run: the database will be back, or the action's time is over first.
_UNWRITABLE_NOW: Final = (ConnectionLost, DatabaseBusy, DiskFull, WriteRefused, DatabaseFailed)

log = logging.getLogger("wonder.actions")


class ContentGate:
    """Keeps content from being deleted that is just being stored again, before its row is written."""

    def __init__(self) -> None:
        self._writers = 0
        self._is_open = asyncio.Event()
        self._is_open.set()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Store content and write its row; waits while content is deleted."""
        while not self._is_open.is_set():
            await self._is_open.wait()
        self._writers += 1
        try:
            yield
        finally:
            self._writers -= 1

    @asynccontextmanager
    async def deleting(self) -> AsyncIterator[bool]:
        """Say whether content may be deleted now: not while any is being stored."""
        if self._writers:
            yield False
            return
        self._is_open.clear()
        try:
            yield True
        finally:
            self._is_open.set()


class Artifacts:
    """Where kinds of action store content, in the process that has the lease."""

    def __init__(
        self,
        objects: Objects,
        store: Store,
        lease: Lease,
        clock: Clock,
        on_lost: Callable[[LeaseLost], None] = lambda error: None,
        on_written: Callable[[Artifact], None] = lambda artifact: None,
    ) -> None:
        """Store in `objects`; `on_lost` is called when the lease is another's, `on_written` with each artifact."""
        self.objects, self.on_lost, self.on_written = objects, on_lost, on_written
        self.gate = ContentGate()
        self._store, self._lease, self._clock = store, lease, clock

    async def write(
        self,
        content: Content,
        context: ActionContext,
        *,
        content_type: str,
        part: str = "content",
        artifact_type: tuple[str, int | None] = (BLOB, None),
        schema_data: JsonValue = None,
        size_max: int | None = None,
    ) -> Artifact:
        """Store content as a part of what the step gives; what it stored as that part before is replaced.

        Raises ActionFailed, and whatever a stream of content raises; then there is no artifact.
        """
        async with self.gate.writing():
            return await self._write(content, context, content_type, part, artifact_type, schema_data, size_max)

    async def _write(
        self,
        content: Content,
        context: ActionContext,
        content_type: str,
        part: str,
        artifact_type: tuple[str, int | None],
        schema_data: JsonValue,
        size_max: int | None,
    ) -> Artifact:
        stored = await self._put(content, size_max)
        origin = context.origin
        artifact = Artifact(
            id=artifact_id(origin.run_id, origin.token_id, context.step, part),
            project_id=origin.project_id,
            run_id=origin.run_id,
            token_id=origin.token_id,
            node=origin.node,
            path_id=origin.branch,
            step=context.step,
            part=part,
            artifact_type_id=artifact_type[0],
            artifact_type_version=artifact_type[1],
            storage_key=stored.key,
            content_type=content_type,
            size_bytes=stored.size_bytes,
            schema_data={} if schema_data is None else schema_data,
            created_ms=self._clock.now_ms(),
        )
        await self._write_down(artifact)
        self.on_written(artifact)
        context.report_artifact(artifact.id, content_type, stored.size_bytes)
        return artifact

    async def keep_output(self, content: bytes, origin: Origin) -> str:
        """Keep the output of a task, which is too large for an event, as JSON; returns the id of its artifact."""
        async with self.gate.writing():
            stored = await self.objects.put(content)
            artifact = Artifact(
                id=artifact_id(origin.run_id, origin.token_id, "", OUTPUT),
                project_id=origin.project_id,
                run_id=origin.run_id,
                token_id=origin.token_id,
                node=origin.node,
                path_id=origin.branch,
                step="",
                part=OUTPUT,
                artifact_type_id=BLOB,
                artifact_type_version=None,
                storage_key=stored.key,
                content_type="application/json",
                size_bytes=stored.size_bytes,
                schema_data={},
                created_ms=self._clock.now_ms(),
            )
            await self._write_down(artifact)
        return artifact.id

    async def find(self, origin: Origin, artifact_id: str) -> Artifact:
        """Find an artifact of the run's project; raises ActionFailed, also for one of another project (INV-7)."""
        try:
            return await load_artifact(self._store, origin.project_id, artifact_id)
        except NotFound:
            message = f"there is no artifact {artifact_id[:100]!r} in this project; check where the id comes from"
            raise ActionFailed("ARTIFACT_NOT_FOUND", message) from None

    async def newest_of_node(self, origin: Origin, node: str) -> Artifact:
        """Find what a node has stored last, in this run or in one whose artifacts it inherits; raises ActionFailed."""
        found = await newest_artifact_of_node(self._store, origin.run_id, node)
        if found is None:
            message = (
                f"no node {node!r} has stored an artifact in this run, or in one that it inherits artifacts from "
                "(inherit_artifacts of the workflow_call); let it run before"
            )
            raise ActionFailed("ARTIFACT_NOT_FOUND", message)
        return found

    async def read(self, artifact: Artifact, bytes_max: int) -> bytes:
        """Read the content of an artifact; raises ActionFailed."""
        try:
            return await read_whole(self.objects, artifact.storage_key, size_max=bytes_max)
        except ObjectTooLarge as error:
            message = (
                f"the artifact {artifact.id} has {artifact.size_bytes:,} bytes, and at most {bytes_max:,} are read"
            )
            raise ActionFailed("ARTIFACT_TOO_LARGE", message, details={"size_max": bytes_max}) from error
        except ObjectsUnavailable as error:
            raise ActionFailed(error.code, str(error), retryable=error.passing) from error
        except (ObjectMissing, ObjectDamaged) as error:
            raise ActionFailed(error.code, str(error)) from error

    async def _put(self, content: Content, size_max: int | None) -> StoredObject:
        try:
            return await self.objects.put(content, size_max=size_max)
        except ObjectTooLarge as error:
            details: dict[str, JsonValue] = {"size_max": error.size_max}
            raise ActionFailed("ARTIFACT_TOO_LARGE", str(error), details=details) from error
        except ObjectsUnavailable as error:
            raise ActionFailed(error.code, str(error), retryable=error.passing) from error

    async def _write_down(self, artifact: Artifact) -> None:
        async def attempt() -> None:
            await put_artifact(self._store, self._lease, artifact)

        try:
            await insist(attempt, passing=_UNWRITABLE_NOW, clock=self._clock, report=_report)
        except LeaseLost as error:
            self.on_lost(error)
            # A caller that was cancelled by it ends here, before a step that may follow acts.
            await asyncio.sleep(0)
            raise


def _report(error: WonderError, pause_ms: float) -> None:
    log.warning("an artifact can't be written down: %s; trying again in %d ms", error, pause_ms)
