"""Wait kinds: what a suspended token may wait for, as its rows say it."""

from typing import Literal, TypeAlias, get_args

from wonder.errors import WonderError
from wonder.language.values import JsonValue

WaitKind: TypeAlias = Literal["human_input", "budget", "function", "sleep", "wait_for_event", "workflow_call"]
_KINDS: dict[str, WaitKind] = {kind: kind for kind in get_args(WaitKind)}


class UnknownWait(WonderError):
    """What is stored of a token says that it waits for something that this version of Wonder does not know."""

    code = "UNKNOWN_WAIT"

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; open the database with the version of Wonder that wrote it")
        self.reason = reason


def wait_kind(token_id: str, wait: dict[str, JsonValue] | None) -> WaitKind:
    """Return what a suspended token waits for."""
    kind = (wait or {}).get("kind")
    try:
        return _KINDS[kind]  # type: ignore[index]  # what is no string is not among them either
    except (KeyError, TypeError):
        raise UnknownWait(f"the token {token_id} waits for {kind!r}, which is not known") from None
