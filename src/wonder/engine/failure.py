"""Failure: what went wrong with a node or a scope, as people, `_last_error` and events see it (CTL-15)."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from wonder.errors import WonderError
from wonder.language.schemas import ValueFault
from wonder.language.values import JsonValue, show_path

_FAULTS_SHOWN = 5


class Failure(Struct, frozen=True):
    """Why something failed; `details` is whatever else is known, as JSON."""

    code: str
    message: str
    attempts: int = 0
    retryable: bool = False
    # Not JsonValue, because msgspec decodes failures and can't follow a recursive alias.
    details: Any = None
    node: str | None = None
    """The ref of the node that failed, where it was one."""

    def at(self, node_ref: str) -> "Failure":
        """Give the same failure as one of this node."""
        return replace(self, node=node_ref)

    def as_json(self) -> dict[str, JsonValue]:
        """Give the value of `_last_error`."""
        return {
            "node": self.node,
            "code": self.code,
            "message": self.message,
            "attempts": self.attempts,
            "retryable": self.retryable,
            "details": self.details,
        }


def failure_of(error: WonderError, attempts: int = 0) -> Failure:
    """Turn an error of a mapping, an expression or a target into a failure."""
    return Failure(error.code, str(error), attempts)


def engine_failure(error: Exception) -> Failure:
    """Say that the engine itself has failed, in a way that it does not know."""
    return Failure("ENGINE_ERROR", f"the engine failed: {type(error).__name__}: {error}; please report this")


def misfit(code: str, what: str, faults: list[ValueFault]) -> Failure:
    """Say that a value does not fit its schema, and where."""
    shown = "; ".join(map(str, faults[:_FAULTS_SHOWN]))
    more = f" (and {len(faults) - _FAULTS_SHOWN} more)" if len(faults) > _FAULTS_SHOWN else ""
    details: JsonValue = [{"path": show_path(fault.path), "message": fault.message} for fault in faults]
    return Failure(code, f"{what} does not fit its schema: {shown}{more}", details=details)
