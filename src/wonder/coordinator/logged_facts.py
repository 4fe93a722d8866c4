"""Logged facts: runs go on as soon as results of their tasks are durable, and not only when rows are in the tables.

The engine is pure: from the rows of a run and the facts that came after them, whoever has both comes to the same
decisions. So the facts alone are logged, which is one write of the disk; where a run is alone, the engine decides while
that is on its way, and makes the next task ready. The rows of many facts then go to the tables together. A fact whose
rows never came there is taken once more, by this process or by the next owner of the runs.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from wonder.coordinator.live import LiveRun
from wonder.engine.facts import TaskCompleted
from wonder.engine.state import DISPATCHED, EXECUTING, Token
from wonder.storage.errors import DatabaseFailed
from wonder.storage.store import NewId

_FORMAT = 1
_WORKING = (DISPATCHED, EXECUTING)
_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder()


class LoggedFact(NamedTuple):
    """A fact with all else that the engine needs to decide on it once more as it did."""

    run_id: str
    now_ms: int
    token_id: str
    """The id of the token that the run goes on with."""
    fact: TaskCompleted


def logged_fact(run_id: str, now_ms: int, token_id: str, fact: TaskCompleted) -> LoggedFact:
    """Make a LoggedFact, in a quarter of the time that the class takes, which goes through a function of Python's."""
    return tuple.__new__(LoggedFact, (run_id, now_ms, token_id, fact))


class LoggedIds:
    """Gives new ids: the fact's own one first, so that it is the same whenever the fact is taken."""

    __slots__ = ("_first", "_new_id", "count")

    def __init__(self, first: str, new_id: NewId) -> None:
        self._first, self._new_id = first, new_id
        self.count = 0

    def __call__(self) -> str:
        """Give an id."""
        self.count += 1
        return self._first if self.count == 1 else self._new_id()


def may_be_logged(run: LiveRun, fact: TaskCompleted) -> bool:
    """Say whether a fact most likely lets the run go on with one more task, and does nothing that others wait for."""
    if fact.metrics or run.has_written_too_much or run.program.workflow.has_transforms:
        return False
    token = working_token(run, fact)
    return token is not None and token.scope.group is None and token.node.id in run.program.loggable


def working_token(run: LiveRun, fact: TaskCompleted) -> Token | None:
    """Give the token whose task has completed; None if that was taken before."""
    token = run.state.tokens.get(fact.token_id)
    return token if token is not None and token.status in _WORKING else None


def encode_facts(facts: Sequence[LoggedFact]) -> bytes | None:
    """Write facts down; None if that can't be, as with a number of more than 64 bits."""
    try:
        return _ENCODER.encode((_FORMAT, facts))
    except (OverflowError, RecursionError, TypeError, ValueError):
        return None


def decode_facts(entries: Iterable[bytes]) -> dict[str, list[LoggedFact]]:
    """Read facts, in order, by the id of their run."""
    found: dict[str, list[LoggedFact]] = {}
    for entry in entries:
        try:
            facts = _decode(_DECODER.decode(entry))
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            # To leave it out would lose a result that counts.
            message = f"an entry of the journal can't be read: {error}; open the database with the Wonder that wrote it"
            raise DatabaseFailed(message) from error
        for logged in facts:
            found.setdefault(logged.run_id, []).append(logged)
    return found


def _decode(found: Any) -> list[LoggedFact]:
    written_as, facts = found
    if written_as != _FORMAT:
        raise ValueError(f"it is written in the form {written_as}, and {_FORMAT} is known")
    return [LoggedFact(run_id, now_ms, token_id, _fact(fields)) for run_id, now_ms, token_id, fields in facts]


def _fact(fields: dict[str, Any]) -> TaskCompleted:
    # What is written as a tuple is read as a list, which is something else where the engine is compiled.
    noted = tuple((type, metadata) for type, metadata in fields.pop("noted"))
    metrics = tuple((name, value, dimensions) for name, value, dimensions in fields.pop("metrics"))
    return TaskCompleted(**fields, noted=noted, metrics=metrics)
