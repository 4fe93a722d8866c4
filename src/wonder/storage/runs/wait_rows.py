"""Wait rows: what runs wait for, and what has come of it: timers, inbox items, events from outside."""

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from wonder.engine.decisions import (
    AwaitEvent,
    CancelTimer,
    RecordEvent,
    RequestInput,
    SetTimer,
    StopAwaiting,
    UpdateInput,
    WithdrawInput,
)
from wonder.language.values import JsonValue
from wonder.storage.runs.cells import to_json, to_json_or_null
from wonder.storage.runs.records import Recorded
from wonder.storage.store import Entry, Row, Value

# Events that end a wait without a decision of its own.
TELLING: Final = frozenset({"human_input_answered", "token_resumed"})
# An event or a wait without a key has an empty one.
NO_KEY: Final = ""

# Places in the row of insert_inbox_item.
_STATUS: Final = 9
_ANSWER: Final = 10
_BY: Final = 11
_CLOSED: Final = 13
_ASSIGNEE: Final = 14
_CLAIMED_BY: Final = 16
_PEOPLE: Final = 17
_PROGRESS: Final = 20


_STILL_OPEN: Final[list[Value]] = [None, None, None, None, None]
_Standing: TypeAlias = tuple[Value, Value, Value, Value]


class WaitRows:
    """The waits that a batch begins or ends."""

    def __init__(self) -> None:
        self._timers: dict[tuple[str, str], int | None] = {}
        self._items: dict[str, list[Value]] = {}
        self._closed_items: dict[str, list[Value]] = {}
        self._updated_items: dict[str, _Standing] = {}
        self._answers: dict[str, str] = {}
        self._waits: dict[tuple[str, str], Row] = {}
        self._ended_waits: list[Row] = []
        self._kept: list[Row] = []
        self._used: list[Row] = []
        self._ended: list[Row] = []

    def set_timer(self, record: Recorded, decision: SetTimer, now_ms: int) -> None:
        """Note a timer, or its new time."""
        self._timers[record.id, decision.key] = decision.due_ms

    def cancel_timer(self, record: Recorded, decision: CancelTimer, now_ms: int) -> None:
        """Note that a timer is gone."""
        self._timers[record.id, decision.key] = None

    def drop_timer(self, run_id: str, key: str) -> None:
        """Note that a timer of a run that is not in memory is gone."""
        self._timers[run_id, key] = None

    def request_input(self, record: Recorded, decision: RequestInput, now_ms: int) -> None:
        """Note a question to a person."""
        self._items[decision.item_id] = [
            decision.item_id,
            record.project_id,
            record.id,
            decision.token_id,
            decision.kind,
            decision.prompt,
            to_json(decision.schema),
            to_json_or_null(decision.input),
            decision.due_ms,
            "open",
            None,
            None,
            now_ms,
            None,
            None,
            decision.role,
            None,
            None,
            to_json_or_null(decision.evidence),
            to_json_or_null(decision.rules),
            None,
        ]
        if decision.progress is not None:
            self._stand(decision.item_id, decision.progress)

    def update_input(self, record: Recorded, decision: UpdateInput, now_ms: int) -> None:
        """Note how a question stands, and what its approvers have decided if they have."""
        self._stand(decision.item_id, decision.progress)
        if decision.outcome is not None:
            self._answers[decision.item_id] = to_json(decision.outcome)

    def withdraw_input(self, record: Recorded, decision: WithdrawInput, now_ms: int) -> None:
        """Note that a question is no longer asked."""
        self._close_item(decision.item_id, "withdrawn", None, now_ms)

    def await_event(self, record: Recorded, decision: AwaitEvent, now_ms: int) -> None:
        """Note that a token waits for an event."""
        key = decision.key or NO_KEY
        row: Row = (record.id, decision.token_id, record.project_id, decision.event, key, now_ms)
        self._waits[record.id, decision.token_id] = row

    def stop_awaiting(self, record: Recorded, decision: StopAwaiting, now_ms: int) -> None:
        """Note that a token waits for its event no longer."""
        self._end_wait(record.id, decision.token_id)

    def end_all(self, run_id: str, now_ms: int) -> None:
        """Note that a run waits for nothing any more: its timers, questions and waits for events are gone."""
        self._timers = {key: due for key, due in self._timers.items() if key[0] != run_id}
        for item in self._items.values():
            if item[2] == run_id and item[_CLOSED] is None:
                item[_STATUS], item[_CLOSED] = "withdrawn", now_ms
        self._waits = {key: row for key, row in self._waits.items() if key[0] != run_id}
        self._ended_waits = [row for row in self._ended_waits if row[0] != run_id]
        self._ended.append((run_id, now_ms))

    def hear(self, record: Recorded, event: RecordEvent) -> None:
        """Take from an event that a person has answered, or that the awaited event has come."""
        if event.type == "human_input_answered":
            by = event.metadata.get("by")
            self._close_item(str(event.metadata["item_id"]), "answered", by, event.at_ms)
        elif event.metadata.get("by") == "event" and event.token_id is not None:
            self._end_wait(record.id, event.token_id)

    def keep_answer(self, item_id: str, answer: JsonValue) -> None:
        """Keep what a person answered with the item, for those who look at it later."""
        self._answers[item_id] = to_json(answer)

    def keep_event(self, row: Row) -> None:
        """Keep an event for the run that will wait for it, or the id of its sender."""
        self._kept.append(row)

    def use_event(self, id: str, now_ms: int) -> None:
        """Note that a kept event has been given to a token."""
        self._used.append((id, now_ms))

    def entries(self) -> Iterator[Entry]:
        """Give the statements with their rows."""
        for item_id, answer in self._answers.items():
            self._give_answer(item_id, answer)
        due: list[Row] = [(*key, due_ms) for key, due_ms in self._timers.items() if due_ms is not None]
        gone: list[Row] = [key for key, due_ms in self._timers.items() if due_ms is None]
        # One statement for each item: they are run in any order.
        closed = [row for item_id, row in self._closed_items.items() if item_id not in self._updated_items]
        updated = [
            [item_id, *self._closed_items.get(item_id, _STILL_OPEN)[1:], *standing]
            for item_id, standing in self._updated_items.items()
        ]
        groups: list[tuple[str, list[Row] | list[list[Value]]]] = [
            ("put_timer", due),
            ("delete_timer", gone),
            ("insert_inbox_item", list(self._items.values())),
            ("close_inbox_item", closed),
            ("update_inbox_item", updated),
            ("insert_event_wait", list(self._waits.values())),
            ("delete_event_wait", self._ended_waits),
            # After those above: what was answered or has come in this batch is not withdrawn.
            ("delete_timers_of_run", [row[:1] for row in self._ended]),
            ("withdraw_items_of_run", self._ended),
            ("delete_event_waits_of_run", [row[:1] for row in self._ended]),
            ("insert_kept_event", self._kept),
            ("use_kept_event", self._used),
        ]
        for statement, rows in groups:
            if rows:
                yield statement, rows

    def _stand(self, item_id: str, progress: dict[str, Any]) -> None:
        standing = _standing(progress)
        item = self._items.get(item_id)
        if item is None:
            self._updated_items[item_id] = standing
        else:
            item[_ASSIGNEE], item[_CLAIMED_BY], item[_PEOPLE], item[_PROGRESS] = standing

    def _close_item(self, item_id: str, status: str, by: str | None, at_ms: int) -> None:
        item = self._items.get(item_id)
        if item is None:
            # The first closing counts.
            self._closed_items.setdefault(item_id, [item_id, status, None, by, at_ms])
        elif item[_CLOSED] is None:
            item[_STATUS], item[_BY], item[_CLOSED] = status, by, at_ms

    def _give_answer(self, item_id: str, answer: str) -> None:
        if item_id in self._items:
            self._items[item_id][_ANSWER] = answer
        elif item_id in self._closed_items:
            self._closed_items[item_id][2] = answer

    def _end_wait(self, run_id: str, token_id: str) -> None:
        if self._waits.pop((run_id, token_id), None) is None:
            self._ended_waits.append((run_id, token_id))


def _standing(progress: dict[str, Any]) -> _Standing:
    """Give the assignee, the claim, the people whose turn it is, and all of it as JSON."""
    assignee, claimed_by = progress.get("assignee"), progress.get("claimed_by")
    people = [name for name in (claimed_by or assignee,) if name]
    if "approvers" in progress:
        answered = {given["by"] for given in progress["answers"]}
        people = [name for name in progress["approvers"] if name not in answered]
    return assignee, claimed_by, to_json(people), to_json(progress)
