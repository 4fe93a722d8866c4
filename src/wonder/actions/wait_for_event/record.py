"""What a `wait_for_event` takes."""

from typing import Annotated

from pydantic import Field

from wonder.definitions.records.fields import Milliseconds, Name, Record


class WaitForEvent(Record):
    """A wait for an event from outside."""

    event: Name
    key: Annotated[str, Field(max_length=10_000)] | None = None
    timeout_ms: Milliseconds | None = None
