"""What an action says when it fails, without the secrets that it used (INV-8)."""

from wonder.actions.protocol import ActionFailed
from wonder.errors import WonderError
from wonder.language.redaction import Redactor


def redact_error(error: WonderError, redactor: Redactor) -> None:
    """Take secrets out of an error, in place: whoever looks at its type or code finds the same."""
    error.args = tuple(redactor.text(part) if isinstance(part, str) else part for part in error.args)
    if not isinstance(error, ActionFailed):
        return
    error.message = redactor.text(str(error.message))
    error.code = redactor.text(str(error.code))  # type: ignore[misc]  # each failure has a code of its own
    error.names = tuple(redactor.text(str(name)) for name in error.names)
    details = redactor.value(error.details)
    error.details = details if isinstance(details, dict) else {"details": details}
