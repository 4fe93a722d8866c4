"""What a `python` action takes."""

from typing import Annotated

from pydantic import Field

from wonder.definitions.records.fields import Record


class PythonFunction(Record):
    """A Python function, called with the input as keyword arguments."""

    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$", max_length=500)]
