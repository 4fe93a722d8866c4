"""The gate of a budget: a task that would overspend waits until a person extends the budget or lets it fail (RES-6)."""

from typing import Any, Final

import msgspec

from wonder.engine.decisions import RequestInput, RestartToken, SuspendToken
from wonder.engine.events import HUMAN_INPUT_ANSWERED, HUMAN_INPUT_REQUESTED, TOKEN_RESUMED, TOKEN_SUSPENDED
from wonder.engine.failure import Failure
from wonder.engine.nodes import fail_node, record_with_cost
from wonder.engine.state import Token
from wonder.engine.turn import Turn
from wonder.language.schemas import Schema, ValueFault, compile_validator
from wonder.language.values import JsonValue

BUDGET_EXCEEDED: Final = "BUDGET_EXCEEDED"
KIND: Final = "budget"
# How much is added has no default: it is money.
_SCHEMA: Final[Schema] = {
    "type": "object",
    "required": ["decision"],
    "properties": {
        "decision": {"enum": ["extend", "fail"]},
        "extend_cents": {"type": "integer", "minimum": 1, "maximum": 100_000_000_000},
    },
    "if": {"properties": {"decision": {"const": "extend"}}},
    "then": {"required": ["decision", "extend_cents"]},
    "additionalProperties": False,
}
_VALIDATOR = compile_validator(_SCHEMA)


def asks_a_person(failure: Failure) -> bool:
    """Say whether a person is to decide about a task that did not start a call because of a budget."""
    details = failure.details
    return failure.code == BUDGET_EXCEEDED and isinstance(details, dict) and details.get("on_exceeded") == "human_gate"


def ask_about_budget(
    turn: Turn, token: Token, failure: Failure, tokens: int | None = None, cost_usd: float | None = None
) -> None:
    """Let a token wait for what a person decides; what its task has spent so far counts."""
    item_id = turn.new_id()
    wait: dict[str, JsonValue] = {"kind": KIND, "item_id": item_id, "error": failure.as_json()}
    decision = "extend the budget for this month by so many cents, or let it fail?"
    prompt = f"{token.node.ref!r} would overspend: {failure.message}; {decision}"
    turn.emit(SuspendToken(token.id, wait, token.input))
    record_with_cost(turn, TOKEN_SUSPENDED({"wait": wait}), token, tokens, cost_usd)
    turn.emit(RequestInput(item_id, token.id, KIND, prompt, _SCHEMA, failure.details, None))
    turn.record(HUMAN_INPUT_REQUESTED({"item_id": item_id, "prompt": prompt}), token)


def is_about_budget(token: Token) -> bool:
    """Say whether a token waits for a decision about a budget."""
    return token.wait is not None and token.wait.get("kind") == KIND


def check_decision(value: JsonValue) -> list[ValueFault]:
    """Say what of an answer is no decision about a budget."""
    return _VALIDATOR.faults(value)


def decide_on_budget(turn: Turn, token: Token, value: Any, by: str | None) -> None:
    """Begin the node again, now that there is more to spend, or fail it."""
    wait: Any = token.wait
    decision = value["decision"]
    turn.record(HUMAN_INPUT_ANSWERED({"item_id": wait["item_id"], "decision": decision, "by": by}), token)
    if decision == "extend":
        turn.record(TOKEN_RESUMED({"by": "answer", "again": True}), token)
        turn.emit(RestartToken(token.id))
    else:
        assert decision == "fail", "it was checked by `check_decision`"
        turn.record(TOKEN_RESUMED({"by": "answer"}), token)
        fail_node(turn, token, msgspec.convert(wait["error"], Failure))
