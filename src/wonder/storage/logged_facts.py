"""Logged facts: results of tasks, written down so that the engine comes to the same decisions on them again.

The engine is pure: from the rows of a run and the facts that came after them, everyone who has both comes to the same
decisions. So where a store has a journal, the facts alone make a result durable, which is one write of the disk, and
the rows of many facts go to the tables together (run_writer.py). A fact whose rows never came there is taken once
more, by this process or by the next owner of the runs.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from wonder.engine.facts import TaskCompleted
from wonder.storage.errors import DatabaseFailed

_FORMAT = 1
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
