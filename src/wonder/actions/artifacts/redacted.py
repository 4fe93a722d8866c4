"""Artifacts without the secrets that actions used: what a peer shows of them is not kept either (INV-8)."""

from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.protocol import ActionContext
from wonder.language.redaction import Redactor
from wonder.language.values import JsonValue
from wonder.objects.store import Content
from wonder.storage.artifacts import Artifact


class RedactedArtifacts(Artifacts):
    """Stores content as its base does, with `[secret NAME]` where a secret stood."""

    def __init__(self, redactor: Redactor, *given: Any) -> None:
        super().__init__(*given)
        self._redactor = redactor

    async def write(
        self,
        content: Content,
        context: ActionContext,
        *,
        content_type: str,
        schema_data: JsonValue = None,
        **given: Any,
    ) -> Artifact:
        """Store content, its type and what is known of it."""
        if redactor := self._redactor:
            content = redactor.data(content) if isinstance(content, bytes) else redacted_stream(content, redactor)
            content_type, schema_data = redactor.text(content_type), redactor.value(schema_data)
        return await super().write(content, context, content_type=content_type, schema_data=schema_data, **given)


async def redacted_stream(chunks: AsyncIterable[bytes], redactor: Redactor) -> AsyncIterator[bytes]:
    """Give a stream without secrets, also where one goes from one chunk into the next."""
    held = b""
    async for chunk in chunks:
        held = redactor.data(held + chunk, more=True)
        ready = len(held) - redactor.longest + 1
        if ready > 0:
            yield held[:ready]
            held = held[ready:]
    if held:
        yield redactor.data(held)
