"""What an action says of itself, without the secrets that it used (INV-8)."""

from wonder.actions.protocol import ActionFailed
from wonder.errors import WonderError
from wonder.language.redaction import Redactor
from wonder.language.values import JsonValue

Noted = list[tuple[str, dict[str, JsonValue]]]
"""Events that an action asks for, with their metadata."""


def redact_error(error: WonderError, redactor: Redactor) -> None:
    """Take secrets out of an error, in place: whoever looks at its type or code finds the same."""
    error.args = tuple(redactor.text(part) if isinstance(part, str) else part for part in error.args)
    if not isinstance(error, ActionFailed):
        return
    error.message = redactor.text(str(error.message))
    error.code = redactor.text(str(error.code))  # type: ignore[misc]  # each failure has a code of its own
    error.names = tuple(redactor.text(str(name)) for name in error.names)
    error.details = _redacted(error.details, redactor)


def redacted_events(noted: Noted, redactor: Redactor) -> Noted:
    """Return the events that an action asks for, without secrets."""
    if not redactor:
        return noted
    return [(redactor.text(type), _redacted(metadata, redactor)) for type, metadata in noted]


def _redacted(fields: dict[str, JsonValue], redactor: Redactor) -> dict[str, JsonValue]:
    redacted = redactor.value(fields)
    return redacted if isinstance(redacted, dict) else {"details": redacted}
