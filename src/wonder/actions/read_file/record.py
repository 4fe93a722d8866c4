"""What a `read_file` takes."""

from typing import Literal

from wonder.definitions.records.fields import Record
from wonder.definitions.records.implementation_fields import Text


class ReadFile(Record):
    """A file of the project's `files_root`."""

    path: Text
    encoding: Literal["utf-8", "base64"] = "utf-8"
