"""What the audit log shows of inputs and outputs: bounded, and without secrets (KEY-5)."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec

from wonder.language.values import JsonValue

HIDDEN: Final = "[hidden]"
TEXT_MAX: Final = 200
ITEMS_MAX: Final = 20
IDS_MAX: Final = 50
_DEPTH_MAX: Final = 6
_SECRET_NAME: Final = re.compile(
    r"pass(word|wd|phrase)|secret|token|api_?key|authorization|credential|private_?key", re.IGNORECASE
)
# Keys of ours, and passwords in addresses.
_KEY: Final = re.compile(r"(wonder_[0-9a-z]{8}_)[0-9a-f]{16,}")
_PASSWORD: Final = re.compile(r"(://[^/@:\s]*:)[^/@\s]+@")
# Where something is, and not what was changed.
_NOT_CHANGED: Final = frozenset({"workspace_id", "project_id", "key_id"})


def shown_input(given: object) -> JsonValue:
    """Give the fields of an input that differ from their defaults, without those that it leaves out."""
    if not isinstance(given, msgspec.Struct):
        return shown_value(given)
    shown: dict[str, JsonValue] = {}
    for name, written, is_left_out, default in _fields(type(given)):
        value = getattr(given, name)
        if is_left_out:
            shown[written] = HIDDEN
        elif value != default and not (value == [] and default is msgspec.NODEFAULT):
            if isinstance(value, str):
                shown[written] = _shown_text(value)
                continue
            inner = value if isinstance(value, list) else [value]
            if any(isinstance(one, msgspec.Struct) for one in inner):
                shown[written] = [shown_input(one) for one in inner[:ITEMS_MAX]]
            else:
                shown[written] = shown_value(value)
    return shown


@cache  # asking for them takes longer than all the rest
def _fields(form: type[msgspec.Struct]) -> list[tuple[str, str, bool, Any]]:
    left_out: frozenset[str] = getattr(form, "unaudited", frozenset())
    return [(one.name, one.encode_name, one.name in left_out, one.default) for one in msgspec.structs.fields(form)]


def shown_value(value: Any, depth: int = 0) -> JsonValue:
    """Give a value with long texts and lists cut, and what looks like a secret hidden."""
    if isinstance(value, str):
        return _shown_text(value)
    if isinstance(value, dict):
        if depth >= _DEPTH_MAX:
            return "…"
        kept = list(value.items())[:ITEMS_MAX]
        shown = {
            _shown_text(str(name)): HIDDEN if _SECRET_NAME.search(str(name)) else shown_value(one, depth + 1)
            for name, one in kept
        }
        return shown | ({"…": f"{len(value) - ITEMS_MAX} more"} if len(value) > ITEMS_MAX else {})
    if isinstance(value, list | tuple):
        if depth >= _DEPTH_MAX:
            return "…"
        more: list[JsonValue] = [f"… {len(value) - ITEMS_MAX} more"] if len(value) > ITEMS_MAX else []
        return [shown_value(one, depth + 1) for one in value[:ITEMS_MAX]] + more
    if isinstance(value, bool | float) or value is None or (isinstance(value, int) and abs(value) < 2**63):
        return value
    return _shown_text(f"a {type(value).__name__}")


def _shown_text(text: str) -> str:
    # Cut first: a text may have a megabyte.
    cut = text if len(text) <= TEXT_MAX else text[:TEXT_MAX]
    shown = cut
    if "://" in cut or "wonder_" in cut:
        shown = _PASSWORD.sub(r"\1***@", _KEY.sub(r"\1…", cut))
    return shown if len(text) <= TEXT_MAX else f"{shown}… ({len(text):,} characters)"


def ids_in(result: object) -> list[str]:
    """Give the ids that a result names, in their order, at most so many."""
    found: dict[str, None] = {}
    for id in _ids(msgspec.to_builtins(result), 0):
        found[id] = None
        if len(found) >= IDS_MAX:
            break
    return list(found)


def _ids(value: Any, depth: int) -> Iterator[str]:
    if depth > _DEPTH_MAX:
        return
    if isinstance(value, dict):
        for name, one in value.items():
            if isinstance(one, str):
                if (name == "id" or name.endswith("_id")) and name not in _NOT_CHANGED and len(one) <= TEXT_MAX:
                    yield one
            else:
                yield from _ids(one, depth + 1)
    elif isinstance(value, list):
        for one in value:
            yield from _ids(one, depth + 1)
