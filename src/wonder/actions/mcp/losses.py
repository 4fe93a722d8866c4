"""Why a session with a server is over, told alike to every call that it had."""

from dataclasses import dataclass, field

from wonder.actions.protocol import ActionFailed
from wonder.language.values import JsonValue

_SHOWN = 2_000


@dataclass(frozen=True, slots=True)
class Loss:
    """A failure that can be told more than once: an exception has one traceback only."""

    code: str
    message: str
    retryable: bool = True
    details: dict[str, JsonValue] = field(default_factory=dict)
    retry_after_ms: int | None = None
    names: tuple[str, ...] = ()

    def failure(self) -> ActionFailed:
        """Make what a call raises."""
        return ActionFailed(
            self.code,
            self.message,
            retryable=self.retryable,
            details=self.details,
            retry_after_ms=self.retry_after_ms,
            names=self.names,
        )


def lost(server: str, reason: str) -> Loss:
    """Say that a server is gone; the next call starts it anew."""
    message = f"the MCP server {server!r} is lost: {reason}; the next call starts it anew"
    return Loss("MCP_SERVER_LOST", message, details={"server": server}, names=("ConnectionError",))


def broken(server: str, reason: str) -> Loss:
    """Say that a server does not speak the protocol as it should: trying again would not fix that."""
    message = f"the MCP server {server!r} does not speak MCP as it should: {reason}; fix or update the server"
    return Loss("MCP_PROTOCOL_ERROR", message, retryable=False, details={"server": server})


def shown(text: str, length_max: int = _SHOWN) -> str:
    """Make a text of a server fit to be shown: shortened, and without what a terminal would obey."""
    cut = text[:length_max]
    plain = cut if cut.isprintable() else "".join(sign if sign.isprintable() or sign in "\n\t" else "?" for sign in cut)
    return plain if len(text) <= length_max else f"{plain}… ({len(text):,} characters)"
