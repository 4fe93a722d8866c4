"""What operations give back, as JSON."""

from typing import Any

import msgspec
from msgspec import Struct

from wonder.language.values import JsonValue


class Output(Struct, frozen=True, kw_only=True):
    """What an operation gives back."""

    def change(self) -> "tuple[JsonValue, JsonValue] | None":
        """Give a setting as it was and as it is now, for the audit log; None where none was changed."""
        return None


def as_json(output: Any) -> JsonValue:
    """Give the output of an operation as JSON, as `--json` prints it."""
    written: JsonValue = msgspec.to_builtins(output)
    return written
