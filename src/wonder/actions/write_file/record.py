"""What a `write_file` takes."""

from wonder.definitions.records.fields import Record
from wonder.definitions.records.implementation_fields import TemplateText, Text


class WriteFile(Record):
    """A file of the project's `files_root`."""

    path: Text
    content: TemplateText
