"""What an action says of itself, without the secrets that it used (INV-8)."""

import asyncio
from typing import Final

from wonder.actions.protocol import ActionFailed
from wonder.engine.event_type import Event, Metadata
from wonder.errors import WonderError
from wonder.language.redaction import Redactor
from wonder.language.values import JsonValue

# A peer that was given a secret may answer with megabytes of it: looked through here, nothing else would go on.
_SMALL: Final = 100_000


async def redacted_output(output: JsonValue, redactor: Redactor) -> JsonValue:
    """Return what an action gives, without secrets; what takes long is looked through in a thread."""
    size = redactor.clues_size(output)
    if size == 0:
        return output
    if size is None or size <= _SMALL:
        return redactor.value(output)
    return await asyncio.to_thread(redactor.without_clues, output)


def redact_error(error: WonderError, redactor: Redactor) -> None:
    """Take secrets out of an error, in place: its type and code stay the same."""
    error.args = tuple(redactor.text(part) if isinstance(part, str) else part for part in error.args)
    if not isinstance(error, ActionFailed):
        return
    error.message = redactor.text(str(error.message))
    error.code = redactor.text(str(error.code))  # type: ignore[misc]  # each failure has a code of its own
    error.names = tuple(redactor.text(str(name)) for name in error.names)
    error.details = _redacted(error.details, redactor)


def redacted_events(noted: list[Event], redactor: Redactor) -> list[Event]:
    """Return the events that an action asks for, without secrets; types and names of fields are declared, and stay."""
    if not redactor:
        return noted
    return [
        (type, Metadata({name: redactor.value(value) for name, value in metadata.items()})) for type, metadata in noted
    ]


def _redacted(fields: dict[str, JsonValue], redactor: Redactor) -> dict[str, JsonValue]:
    redacted = redactor.value(fields)
    return redacted if isinstance(redacted, dict) else {"details": redacted}
