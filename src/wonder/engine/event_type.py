"""EventType: the declaration of one type of event, and the only way to make an event of it.

Types are checked by mypy and cost nothing while a run goes on: an event is a name and a dict, as it is stored.
"""

from collections.abc import Mapping
from typing import Any, Generic, NewType, TypeAlias, TypeVar

from wonder.errors import WonderError

EventName = NewType("EventName", str)
"""The name of a declared type of event; any other string is a type error where an event is recorded."""

Metadata = NewType("Metadata", dict[str, Any])
"""What an event says: the fields that its type declares, and no others."""

Event: TypeAlias = tuple[EventName, Metadata]
"""An event before it has a number: only an EventType makes one."""

Fields = TypeVar("Fields", bound=Mapping[str, object])


class EventType(Generic[Fields]):
    """One type of event: its name and, as a TypedDict, its fields."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: type[Fields]) -> None:
        self.name, self.fields = EventName(name), fields

    def __call__(self, metadata: Fields) -> Event:
        """Return an event of this type."""
        return self.name, metadata  # type: ignore[return-value]  # a TypedDict is a dict when the program runs

    @property
    def sentence(self) -> str:
        """What the event says, in one sentence."""
        return " ".join((self.fields.__doc__ or "").split())

    @property
    def required(self) -> frozenset[str]:
        """The fields that every event of this type has."""
        found: frozenset[str] = self.fields.__required_keys__  # type: ignore[attr-defined]  # of a TypedDict
        return found

    @property
    def optional(self) -> frozenset[str]:
        """The fields that an event of this type may have."""
        found: frozenset[str] = self.fields.__optional_keys__  # type: ignore[attr-defined]  # of a TypedDict
        return found


class UndeclaredEvent(WonderError):
    """An event has a type, or fields, that are not declared."""

    code = "UNDECLARED_EVENT"

    def __init__(self, event_type: object, reason: str) -> None:
        super().__init__(f"the event {event_type!r} {reason}; engine/events.py declares every event with its fields")
        self.event_type, self.reason = event_type, reason
