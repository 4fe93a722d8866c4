"""Gate changes: an open question is claimed, released, delegated, answered by one of several, or reminded of."""

from typing import Any, Final, assert_never

from wonder.engine.decisions import SuspendToken, UpdateInput
from wonder.engine.event_type import Event
from wonder.engine.events import (
    HUMAN_INPUT_CLAIMED,
    HUMAN_INPUT_COUNTED,
    HUMAN_INPUT_DELEGATED,
    HUMAN_INPUT_RELEASED,
    HUMAN_INPUT_REMINDED,
)
from wonder.engine.facts import InputClaimed, InputDelegated, InputReleased
from wonder.engine.limits import CUT_SHOWN, RECORDED_MAX
from wonder.engine.state import Token
from wonder.engine.turn import Turn
from wonder.engine.views import view_from
from wonder.engine.waiting_tasks import HumanWait
from wonder.language.paths import MISSING
from wonder.language.values import JsonValue, encode_json

REMINDERS_MAX: Final = 1_000
"""How often a question is reminded of at most; each is an event of its run."""
_FIXED: Final = ("kind", "item_id")


def progress_of(wait: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Give what changes of a question while it is open."""
    return {name: value for name, value in wait.items() if name not in _FIXED}


def gathered_evidence(turn: Turn, token: Token, wait: HumanWait) -> list[JsonValue] | None:
    """Read what is shown beside a question; large values are cut."""
    if not wait.evidence:
        return None
    view = view_from(turn.run, token.scope, token.last_error, with_branch=token.scope.group is not None)
    shown: list[JsonValue] = []
    for name, path, read in wait.evidence:
        found = read(view)
        value: JsonValue = None if found is MISSING else found
        written = encode_json(value)
        if len(written) <= RECORDED_MAX:
            shown.append({"name": name, "path": path, "value": value})
        else:
            cut: JsonValue = {"bytes": len(written.encode()), "start": written[:CUT_SHOWN]}
            shown.append({"name": name, "path": path, "cut": cut})
    return shown


def change_question(turn: Turn, token: Token, fact: InputClaimed | InputReleased | InputDelegated) -> None:
    """Let a question be claimed, released or handed to another person."""
    match fact:
        case InputClaimed():
            event = HUMAN_INPUT_CLAIMED({"item_id": fact.item_id, "by": fact.by})
        case InputReleased():
            event = HUMAN_INPUT_RELEASED({"item_id": fact.item_id, "by": fact.by})
        case InputDelegated():
            event = HUMAN_INPUT_DELEGATED({"item_id": fact.item_id, "by": fact.by, "to": fact.to})
        case _:
            assert_never(fact)
    _store(turn, _changed(turn, token, event))


def count_answer(turn: Turn, token: Token, answer: JsonValue, by: str) -> dict[str, Any]:
    """Note what one approver answered; gives how the question stands now, which the inbox is yet to be told."""
    item_id = str((token.wait or {})["item_id"])
    return _changed(turn, token, HUMAN_INPUT_COUNTED({"item_id": item_id, "by": by, "answer": answer}))


def remind(turn: Turn, token: Token, wait: HumanWait) -> None:
    """Note that people are to be reminded, and when next."""
    held: dict[str, Any] = token.wait or {}
    reminders = held.get("reminders", 0) + 1
    event = HUMAN_INPUT_REMINDED({"item_id": str(held["item_id"]), "reminders": reminders})
    _store(turn, _changed(turn, token, event))
    assert wait.remind_ms is not None
    if reminders < REMINDERS_MAX:
        turn.set_timer(f"remind:{token.id}", turn.now_ms + wait.remind_ms, token)


def changed_question(wait: dict[str, Any], event_type: str, told: dict[str, Any], at_ms: int) -> dict[str, Any]:
    """Give how a question stands after an event about it; the engine and the replay of events both ask this."""
    if event_type in ("human_input_released", "human_input_delegated"):
        wait = {name: value for name, value in wait.items() if name not in ("claimed_by", "claimed_ms")}
    match event_type:
        case "human_input_claimed":
            return {**wait, "claimed_by": told["by"], "claimed_ms": at_ms}
        case "human_input_delegated" if "approvers" in wait:
            return {**wait, "approvers": [told["to"] if one == told["by"] else one for one in wait["approvers"]]}
        case "human_input_delegated":
            return {**wait, "assignee": told["to"]}
        case "human_input_reminded":
            return {**wait, "reminders": told["reminders"], "reminded_ms": at_ms}
        case "human_input_counted":
            given = {"by": told["by"], "answer": told["answer"], "at_ms": at_ms}
            return {**wait, "answers": [*wait["answers"], given]}
    return wait


def _changed(turn: Turn, token: Token, event: Event) -> dict[str, Any]:
    name, metadata = event
    wait = changed_question(token.wait or {}, name, metadata, turn.now_ms)
    turn.emit(SuspendToken(token.id, wait, token.input))
    turn.record(event, token)
    return wait


def _store(turn: Turn, wait: dict[str, Any]) -> None:
    turn.emit(UpdateInput(str(wait["item_id"]), progress_of(wait)))
