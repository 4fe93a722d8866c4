"""Failed attempts in the logs, with the traceback of what the user's own code raised."""

import logging
import traceback
from typing import Final

from wonder.actions.context import ActionContext
from wonder.errors import WonderError

_SERVICE: Final = "wonder.actions"


def log_failure(failure: WonderError, raised: BaseException, context: ActionContext) -> None:
    """Log why an attempt has failed; a traceback is only of use where code of the user's, or a bug, raised."""
    cause = failure.__cause__ if raised is failure else raised
    stack = None
    if cause is not None and not isinstance(cause, WonderError):
        stack = "".join(traceback.format_exception(cause)).rstrip("\n")
    assert context.logs
    message = f"{failure.code}: {failure}"
    context.logs.add(logging.ERROR, _SERVICE, message, place=context.place, stack=stack)
