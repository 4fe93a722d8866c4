"""How many places a regular expression can be at once: what matching costs for each character, at its worst.

An engine without backtracking follows all places of a pattern at once. As long as these are few, or only one is ever
possible, it does so by a table; `(a|b)*a(a|b){2000}c` has no table that fits into memory, and a megabyte takes minutes.
"""

import re
from functools import lru_cache
from typing import Final

# With so few places a table always fits.
_FEW: Final = 8
# What can't be told is taken to be as wide as a pattern may be.
WIDTH_MAX: Final = 8_192
_COUNT: Final = re.compile(r"\{\s*([0-9]{0,9})\s*(,?)\s*([0-9]{0,9})\s*\}")
_GROUP: Final = re.compile(r"\(\?(?:P?<\w+>|[a-zA-Z-]*:)")
_ESCAPE: Final = re.compile(
    r"\\(?:[pPxuU]\{[^}]*\}|[pP].|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL
)
_ESCAPE_NO_PLACE: Final = frozenset("bBAzG<>")
_EXTENDED: Final = re.compile(r"\(\?[a-zA-Z-]*x")
# From a beginning that is held fast only one place is possible at a time, if nothing is open in between.
_OPEN: Final = frozenset("*+?|")


@lru_cache(maxsize=1_024)
def width_of(pattern: str) -> int:
    """Return how many places of a pattern, which has been checked before, each character may cost; 0 for very few."""
    if _EXTENDED.search(pattern):
        return WIDTH_MAX  # Blanks and comments count for nothing there: read otherwise, it might seem small.
    width, is_open = _places(pattern)
    if pattern.startswith("^") and not is_open:
        return 0
    return 0 if width <= _FEW else min(width, WIDTH_MAX)


def _places(pattern: str) -> tuple[int, bool]:
    """Count places, those that are repeated as often as they are, and say whether there is a choice anywhere."""
    sums = [0]  # of each group that is open
    last = 0  # how many places the last part has, which a count multiplies
    is_open, at = False, 0
    while at < len(pattern):
        sign = pattern[at]
        counted = _COUNT.match(pattern, at) if sign == "{" else None
        if counted:
            low, comma, high = counted.groups()
            times = max(int(high or 0), int(low or 0) + (1 if comma and not high else 0), 1)
            is_open = is_open or (bool(comma) and high != low)
            sums[-1] += last * (times - 1)
            last *= times
            at = counted.end()
            continue
        at += 1
        if sign == "\\":
            escape = _ESCAPE.match(pattern, at - 1)
            last = 0 if pattern[at : at + 1] in _ESCAPE_NO_PLACE else 1
            at = escape.end() if escape else at + 1
        elif sign == "[":
            at, last = _end_of_class(pattern, at), 1
        elif sign == "(":
            sums.append(0)
            last = 0
            at = group.end() if (group := _GROUP.match(pattern, at - 1)) else at
            continue
        elif sign == ")" and len(sums) > 1:
            last = sums.pop()
        elif sign in _OPEN:
            is_open = True
            continue
        else:
            last = 0 if sign in "^$" else 1
        sums[-1] += last
    return sum(sums), is_open


def _end_of_class(pattern: str, at: int) -> int:
    """Find the end of a class, in which others may stand."""
    depth, begins = 1, True
    while at < len(pattern) and depth:
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif sign == "[":
            depth, begins = depth + 1, True
            at += 1
            continue
        elif sign == "]" and not begins:
            depth -= 1
        if sign != "^":
            begins = False
        at += 1
    return at
