"""What can be wrong with a schema, or with a value that should fit one."""

from msgspec import Struct

from wonder.errors import WonderError
from wonder.language.schemas.positions import Path
from wonder.language.values import JsonValue, encode_json, show_path

_SHOWN_LENGTH = 60


class SchemaFault(Struct, frozen=True):
    """One thing that is wrong with a schema, where in it, and how to fix it."""

    code: str
    path: Path
    message: str
    hint: str


class ValueFault(Struct, frozen=True):
    """One place where a value does not fit its schema, and the keyword that says so."""

    path: Path
    message: str
    keyword: str

    def __str__(self) -> str:
        return f"{show_path(self.path)}: {self.message}" if self.path else self.message


class BadSchema(WonderError):
    """A schema can't be used: it is no JSON Schema, points outside itself, or is over a limit."""

    code = "BAD_SCHEMA"

    def __init__(self, faults: list[SchemaFault]) -> None:
        first = faults[0]
        where = f"at {show_path(first.path)}: " if first.path else ""
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        super().__init__(f"{where}{first.message}; {first.hint}{more}")
        self.faults = faults


def show_value(value: JsonValue) -> str:
    """Write a value for people, shortened when it is long."""
    match value:
        case str():
            shown = encode_json(value if len(value) <= _SHOWN_LENGTH else value[: _SHOWN_LENGTH - 3] + "...")
        case list():
            shown = _short(value) or f"a list of {len(value)}"
        case dict():
            shown = _short(value) or f"an object with {_names(list(value))}"
        case _:
            shown = encode_json(value)
            if len(shown) > _SHOWN_LENGTH:
                shown = f"{shown[:20]}... ({len(shown):,} characters)"
    return shown


def _short(value: list[JsonValue] | dict[str, JsonValue]) -> str | None:
    if len(value) > 8 or any(isinstance(part, list | dict) and part for part in _parts(value)):
        return None
    if any(isinstance(part, str) and len(part) > _SHOWN_LENGTH for part in _parts(value)):
        return None
    shown = encode_json(value)
    return shown if len(shown) <= _SHOWN_LENGTH else None


def _parts(value: list[JsonValue] | dict[str, JsonValue]) -> list[JsonValue]:
    return value if isinstance(value, list) else [*value.keys(), *value.values()]


def _names(names: list[str]) -> str:
    shown = ", ".join(name if len(name) <= 30 else name[:27] + "..." for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "") if names else "no keys"
