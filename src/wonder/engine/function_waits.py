"""Waiting for a function: a task whose function this process does not have waits for a process that has it (TSK-8)."""

from typing import Any, Final

from wonder.engine.decisions import RestartToken, SuspendToken
from wonder.engine.events import TOKEN_RESUMED, TOKEN_SUSPENDED
from wonder.engine.failure import Failure
from wonder.engine.nodes import fail_node
from wonder.engine.state import Token
from wonder.engine.turn import Turn
from wonder.language.values import JsonValue

UNKNOWN_FUNCTION: Final = "UNKNOWN_FUNCTION"
KIND: Final = "function"


def is_missing(failure: Failure) -> bool:
    """Say whether a task did not begin because its process does not have a function of it."""
    details = failure.details
    return failure.code == UNKNOWN_FUNCTION and isinstance(details, dict) and details.get("missing_here") is True


def wait_for_function(turn: Turn, token: Token, failure: Failure) -> None:
    """Let a token wait for a process that has the function, for as long as the project allows."""
    details: Any = failure.details
    wait: dict[str, JsonValue] = {"kind": KIND, "function": details["function"]}
    turn.emit(SuspendToken(token.id, wait, token.input))
    turn.record(TOKEN_SUSPENDED({"wait": wait}), token)
    turn.set_timer(f"function:{token.id}", turn.now_ms + turn.run.limits.function_wait_ms, token)


def waits_for_function(token: Token) -> bool:
    """Say whether a token waits for a function."""
    return token.wait is not None and token.wait.get("kind") == KIND


def begin_with_function(turn: Turn, token: Token) -> None:
    """Begin the node again, in a process that has the function."""
    turn.cancel_timer(f"function:{token.id}")
    turn.record(TOKEN_RESUMED({"by": "function", "again": True}), token)
    turn.emit(RestartToken(token.id))


def give_up_function(turn: Turn, token: Token) -> None:
    """Fail the node, because no process had the function in time."""
    name, wait_ms = str((token.wait or {})["function"]), turn.run.limits.function_wait_ms
    module = name.partition(":")[0]
    message = (
        f"no process that ran the engine had the function {name!r} for {wait_ms:,} ms (run_limits.function_wait_ms); "
        f"start one with --module {module}, then retry the run"
    )
    turn.record(TOKEN_RESUMED({"by": UNKNOWN_FUNCTION}), token)
    fail_node(turn, token, Failure(UNKNOWN_FUNCTION, message, 1, retryable=True, details={"function": name}))
