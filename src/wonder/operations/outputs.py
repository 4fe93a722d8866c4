"""What operations give back, as JSON."""

from typing import Any

import msgspec
from msgspec import Struct

from wonder.language.values import JsonValue


class Output(Struct, frozen=True, kw_only=True):
    """What an operation gives back."""


def as_json(output: Any) -> JsonValue:
    """Give the output of an operation as JSON, as `--json` prints it."""
    written: JsonValue = msgspec.to_builtins(output)
    return written
