"""Declared events: whether what was recorded is what `engine/events.py` declares."""

from collections.abc import Iterable

import msgspec

from wonder.engine.decisions import Decision, RecordEvent
from wonder.engine.events import EVENTS, check_event


def assert_declared(decisions: Iterable[Decision]) -> None:
    """Look at the type, the names of the fields and the values of each event that is recorded."""
    for event in decisions:
        if type(event) is RecordEvent:
            check_event((event.type, event.metadata))
            msgspec.convert(event.metadata, EVENTS[event.type].fields)
