"""What a `transform` takes."""

from typing import Annotated

from pydantic import Field

from wonder.definitions.records.fields import Record


class Transform(Record):
    """Pure TypeScript."""

    source: Annotated[str, Field(min_length=1, max_length=200_000)]
