"""ULIDs of a given time, so that what is stored by id is also found by time."""

from typing import Final

_DIGITS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME_BITS: Final = 48
_RANDOM_BITS: Final = 80


def ulid_of(at_ms: int, number: int = 0) -> str:
    """Give the ULID of a time in milliseconds and a number of 80 bits; with 0, the first one of that millisecond."""
    at_ms = min(max(at_ms, 0), 2**_TIME_BITS - 1)
    value = at_ms << _RANDOM_BITS | number
    return "".join([_DIGITS[value >> shift & 31] for shift in range(125, -1, -5)])
