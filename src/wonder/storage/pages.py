"""Pages of long lists: a cursor says after which item to go on, so that new items don't shift a page."""

import base64
import binascii
from typing import Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct

from wonder.language.values import BadValue, encode_json, parse_json
from wonder.storage.resource_errors import BadCursor, BadLimit

LIMIT = 50
HIGHEST_LIMIT = 200
CURSOR_LENGTH_MAX = 4_000
# Sorts behind every text that can be stored.
LAST = "\U0010ffff"

Order: TypeAlias = Literal["name", "newest"]
Item = TypeVar("Item")


class Page(Struct, Generic[Item], frozen=True):
    """Some items of a list; `cursor` gets the next page, or is None at the end."""

    items: list[Item]
    cursor: str | None


def check_limit(limit: int) -> int:
    """Return the limit, or raise BadLimit."""
    if not 1 <= limit <= HIGHEST_LIMIT:
        raise BadLimit(limit, HIGHEST_LIMIT)
    return limit


def write_cursor(order: str, *keys: str) -> str:
    """Write down after which item a list goes on; opaque to clients."""
    return base64.urlsafe_b64encode(encode_json([order, *keys]).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, order: str, *first: str) -> tuple[str, ...]:
    """Read where to go on, `first` when there is no cursor; raises BadCursor if it belongs to another list."""
    if cursor is None:
        return first
    if len(cursor) > CURSOR_LENGTH_MAX:
        raise BadCursor(cursor)
    try:
        padding = "=" * (-len(cursor) % 4)
        value = parse_json(base64.b64decode(cursor.encode() + padding.encode(), b"-_", validate=True))
    except (BadValue, binascii.Error, UnicodeError):
        raise BadCursor(cursor) from None
    if not isinstance(value, list) or len(value) != len(first) + 1 or value[0] != order:
        raise BadCursor(cursor)
    keys = tuple(key for key in value[1:] if isinstance(key, str))
    if len(keys) != len(first):
        raise BadCursor(cursor)
    return keys


def cut(rows: list[Item], limit: int) -> tuple[list[Item], bool]:
    """Split rows that were fetched with one more than the limit into the page, and whether more follows."""
    return rows[:limit], len(rows) > limit
