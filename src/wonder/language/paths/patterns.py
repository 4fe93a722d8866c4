"""Regular expressions of filters, matched in linear time whatever they are: I-Regexp (RFC 9485)."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

from wonder.errors import WonderError

_LENGTH_MAX = 1_000
# The engine behind it never backtracks; the bounds keep `((a{99}){99}){99}` from filling the memory.
_OPTIONS: Final = RegexOptions(size_limit=1_000_000, dfa_size_limit=1_000_000)

_ATOM: Final = re.compile(
    r"""
    (?P<escape> \\(?:[()*+\-.?\[\\\]^nrt{|}] | [pP]\{[A-Z][a-z]?\}) )
  | (?P<common> \\[dDsSwW] )  # not in RFC 9485, and what everybody writes
  | (?P<class>  \[\^?(?:-|[^\[\\\]\-]|\\[()*+\-.?\[\\\]^nrt{|}]|\\[pP]\{[A-Z][a-z]?\}|\\[dDsSwW])++\] )  # one way only
  | (?P<open>   \( )
  | (?P<close>  \) )
  | (?P<or>     \| )
  | (?P<any>    \. )
  | (?P<count>  [*+?] | \{[0-9]{1,4}(?:,[0-9]{0,4})?\} )
  | (?P<plain>  [^()*+.?\[\\\]{|}] )  # ^ and $ are anchors, as the compliance suite of RFC 9535 has them
    """,
    re.VERBOSE | re.DOTALL,
)

Matcher: TypeAlias = Callable[[str], bool]


class BadPattern(WonderError):
    """A text is not an I-Regexp, or is too large for one."""

    code = "PATTERN_SYNTAX"

    def __init__(self, pattern: str, position: int | None) -> None:
        where = f"at character {position + 1}" if position is not None else "as a whole"
        super().__init__(f"{pattern[:200]!r} is not a regular expression of RFC 9485 {where}")
        self.pattern, self.position = pattern, position


def compile_pattern(pattern: str, *, whole: bool) -> Matcher:
    """Return the function that says whether a text matches, from end to end or anywhere."""
    if len(pattern) > _LENGTH_MAX:
        raise BadPattern(pattern, _LENGTH_MAX)
    translated = _translate(pattern)
    anchored = f"^(?:{translated})$" if whole else f"(?:{translated})"
    try:
        return Draft202012Validator({"pattern": anchored}, pattern_options=_OPTIONS).is_valid
    except (ValidationError, ValueError):
        raise BadPattern(pattern, None) from None


@lru_cache(maxsize=256)
def pattern_or_none(pattern: str, *, whole: bool) -> Matcher | None:
    """Return the same for a pattern that comes from a document; None, which matches nothing, if it is invalid."""
    try:
        return compile_pattern(pattern, whole=whole)
    except BadPattern:
        return None


def _translate(pattern: str) -> str:
    """Check the grammar, and write the pattern as the engine reads it."""
    parts: list[str] = []
    position, depth, can_count = 0, 0, False
    while position < len(pattern):
        found = _ATOM.match(pattern, position)
        kind = found.lastgroup if found else None
        if found is None or (kind == "count" and not can_count) or (kind == "close" and not depth):
            raise BadPattern(pattern, position)
        depth += (kind == "open") - (kind == "close")
        can_count = kind not in ("open", "or", "count")
        parts.append(_written(kind, found[0]))
        position = found.end()
    if depth:
        raise BadPattern(pattern, len(pattern))
    return "".join(parts)


def _written(kind: str | None, atom: str) -> str:
    match kind:
        case "any":
            return r"[^\n\r]"
        case "open":
            return "(?:"
        case "class":  # && and ~~ are operators inside the engine's classes
            return atom.replace("&", r"\&").replace("~", r"\~")
        case _:
            return atom
