"""Token rows: all that a batch does to a token becomes one INSERT or one UPDATE."""

from collections.abc import Iterator
from typing import Final

from wonder.engine.decisions import (
    CreateToken,
    DispatchTask,
    EnterJoin,
    MoveToken,
    ReleaseToken,
    RestartToken,
    SuspendToken,
)
from wonder.engine.restore import TokenRow
from wonder.engine.state import COMPLETED, DISPATCHED, EXECUTING, PENDING, SUSPENDED, WAITING_FOR_SIBLINGS
from wonder.storage.runs.cells import to_json, to_json_or_null
from wonder.storage.runs.records import Recorded
from wonder.storage.store import Entry, Value

# Places in the row of insert_token.
_STATUS: Final = 9
_HELD: Final = 11
_LOSSES: Final = 12
_INPUT: Final = 13
_LAST_ERROR: Final = 14
_STATE_DATA: Final = 15
_UPDATED: Final = 17
_ENDED: Final = 18
# Which statement writes the input of a token, and in which of its parameters.
_INPUT_IN: Final = {"update_token": 5, "end_token_with_input": 5, "join_token_with_input": 6}


class TokenRows:
    """The tokens that a batch makes or changes."""

    def __init__(self) -> None:
        self._new: dict[str, list[Value]] = {}
        # Of tokens that have a row already: the statement that brings it up to date, and its parameters.
        self._changed: dict[str, tuple[str, list[Value]]] = {}
        self._ended: list[list[Value]] = []

    def create(self, record: Recorded, decision: CreateToken, now_ms: int) -> None:
        """Note a new token."""
        group_id, total, transition_id = decision.group_id, 1, None
        if group_id is not None:
            total, transition_id = record.branch(group_id, decision.branch_index)
        self._new[decision.token_id] = [
            record.id,
            decision.token_id,
            decision.node_id,
            decision.path_id,
            decision.parent_id,
            group_id,
            decision.branch_index,
            total,
            transition_id,
            PENDING,
            decision.born,
            decision.held,
            0,
            None,
            None if decision.last_error is None else to_json(decision.last_error),
            None,
            now_ms,
            now_ms,
            None,
        ]

    def adopt(self, record: Recorded, token: TokenRow, now_ms: int) -> None:
        """Note a token that a fork begins with."""
        total, transition_id = (
            (1, None) if token.group_id is None else record.branch(token.group_id, token.branch_index)
        )
        state_data = to_json_or_null(token.wait)
        if token.waits_at is not None:
            state_data = _place(token.waits_at, token.waits_group_id, token.waits_index)
        self._new[token.id] = [
            record.id,
            token.id,
            token.node_id,
            token.path_id,
            token.parent_id,
            token.group_id,
            token.branch_index,
            total,
            transition_id,
            token.status,
            token.born,
            token.held,
            token.losses,
            to_json_or_null(token.input),
            to_json_or_null(token.last_error),
            state_data,
            now_ms,
            now_ms,
            None,
        ]

    def move(self, record: Recorded, decision: MoveToken, now_ms: int) -> None:
        """Note that a token is executing, or has ended."""
        token_id, status = decision.token_id, decision.status
        ended_ms = None if status == EXECUTING else now_ms
        is_kept = ended_ms is None or _keeps_input(record, status)
        row = self._new.get(token_id)
        if row is not None:
            row[_STATUS], row[_UPDATED], row[_ENDED] = status, now_ms, ended_ms
            if not is_kept:
                row[_INPUT] = None
            return
        if ended_ms is None and token_id in self._changed:
            # It was dispatched in this very batch: that row has its input, and keeps it.
            self._changed[token_id][1][2] = status
            return
        parameters: list[Value] = [record.id, token_id, status, now_ms, ended_ms]
        statement = "move_token" if is_kept else "end_token_without_input"
        if is_kept and (token_input := self._input_in(token_id)) is not None:
            statement, parameters = "end_token_with_input", [*parameters, token_input]
        self._changed[token_id] = (statement, parameters)

    def end_all(self, run_id: str, status: str, now_ms: int, *, keeps_input: bool) -> None:
        """Note that all live tokens of a run have ended."""
        for row in self._new.values():
            if row[0] == run_id and row[_ENDED] is None:
                row[_STATUS], row[_UPDATED], row[_ENDED] = status, now_ms, now_ms
                if not keeps_input:
                    row[_INPUT] = None
        # Those that ended by themselves in this batch are not live; the others are ended in the table.
        changed = self._changed
        self._changed = {id: one for id, one in changed.items() if one[1][0] != run_id or _is_end(*one)}
        self._ended.append([run_id, status, now_ms, int(keeps_input)])

    def release(self, record: Recorded, decision: ReleaseToken, now_ms: int) -> None:
        """Note that `max_parallel` lets a token begin."""
        self._update(record, decision.token_id, PENDING, 0, None, None, now_ms)

    def dispatch(self, record: Recorded, decision: DispatchTask, now_ms: int) -> None:
        """Note that a worker gets the task of a token."""
        token_input = to_json(decision.input)
        record.written += len(token_input)
        self._update(record, decision.token_id, DISPATCHED, decision.losses, token_input, None, now_ms)

    def suspend(self, record: Recorded, decision: SuspendToken, now_ms: int) -> None:
        """Note what a token waits for."""
        wait, token_input = to_json(decision.wait), to_json_or_null(decision.input)
        self._update(record, decision.token_id, SUSPENDED, 0, token_input, wait, now_ms)

    def restart(self, record: Recorded, decision: RestartToken, now_ms: int) -> None:
        """Note that the node of a token begins anew."""
        self._update(record, decision.token_id, PENDING, 0, None, None, now_ms)

    def join(self, record: Recorded, decision: EnterJoin, now_ms: int) -> None:
        """Note that a token waits for its siblings, and where."""
        token_id = decision.token_id
        state_data = _place(decision.join_node_id, decision.group_id, decision.branch_index)
        is_kept = _keeps_input(record, COMPLETED)
        row = self._new.get(token_id)
        if row is not None:
            row[_STATUS], row[_STATE_DATA], row[_UPDATED] = WAITING_FOR_SIBLINGS, state_data, now_ms
            row[_LAST_ERROR] = None
            if not is_kept:
                row[_INPUT] = None
            return
        token = record.run.tokens.get(token_id)
        losses = 0 if token is None else token.losses
        parameters: list[Value] = [record.id, token_id, WAITING_FOR_SIBLINGS, losses, state_data, now_ms]
        statement = "join_token" if is_kept else "join_token_without_input"
        if is_kept and (token_input := self._input_in(token_id)) is not None:
            statement, parameters = "join_token_with_input", [*parameters, token_input]
        self._changed[token_id] = (statement, parameters)

    def _input_in(self, token_id: str) -> Value:
        """Give the input that this batch has for a token, whose row does not have it yet."""
        statement, parameters = self._changed.get(token_id, ("", []))
        place = _INPUT_IN.get(statement)
        return None if place is None else parameters[place]

    def _update(
        self,
        record: Recorded,
        token_id: str,
        status: str,
        losses: int,
        token_input: str | None,
        state_data: str | None,
        now_ms: int,
    ) -> None:
        row = self._new.get(token_id)
        if row is not None:
            row[_STATUS], row[_HELD], row[_LOSSES] = status, False, losses
            row[_INPUT], row[_STATE_DATA], row[_UPDATED] = token_input, state_data, now_ms
            return
        parameters: list[Value] = [record.id, token_id, status, False, losses, token_input, state_data, now_ms]
        self._changed[token_id] = ("update_token", parameters)

    def entries(self) -> Iterator[Entry]:
        """Give the statements with their rows."""
        if self._new:
            yield "insert_token", list(self._new.values())
        if self._ended:
            yield "end_tokens_of_run", self._ended
        if self._changed:
            by_statement: dict[str, list[list[Value]]] = {}
            for statement, parameters in self._changed.values():
                by_statement.setdefault(statement, []).append(parameters)
            yield from by_statement.items()


def _place(join_node_id: str, group_id: str | None, branch_index: int) -> str:
    """Write down where a token waits for its siblings."""
    return to_json({"join": join_node_id, "group": group_id, "branch": branch_index})


def _keeps_input(record: Recorded, status: str) -> bool:
    """Say whether the input of a token that has ended so is kept for people (RES-6)."""
    record_io = record.run.limits.record_io
    return record_io == "all" or (record_io == "failed" and status != COMPLETED)


def _is_end(statement: str, parameters: list[Value]) -> bool:
    """Say whether a change is the end of a token."""
    return statement.startswith("end_token_") or (statement == "move_token" and parameters[4] is not None)
