"""Regular expressions in schemas: only those that an engine without backtracking can match, in bounded space."""

import re
from functools import lru_cache

import jsonschema_rs

from wonder.language.schemas.faults import SchemaFault
from wonder.language.schemas.positions import Path

# Compiled size of one pattern. Matching takes at most text length times this, so it also bounds the time.
PATTERN_BYTES = 512 * 1024
# Compiled size of all patterns of one schema together.
PATTERNS_BYTES = 32 * 1024 * 1024
PATTERN_LENGTH = 4_096
# The size of a pattern can't be read, only tried.
_SIZES = (64 * 1024, 256 * 1024, PATTERN_BYTES)

ENGINE = jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES, dfa_size_limit=2 * PATTERN_BYTES)
_BACKTRACKING = jsonschema_rs.FancyRegexOptions(backtrack_limit=1, size_limit=PATTERN_BYTES)
# A letter that is repeated, or one of several alternatives, need not be there.
_BEGINNING = re.compile(r"\^([\w\- ]+)(?![\w\- ?*{|])(?!.*\|)", re.DOTALL)
_COUNTED = re.compile(r"\{[0-9]+(,[0-9]*)?\}")


def pattern_faults(patterns: list[tuple[Path, str]]) -> list[SchemaFault]:
    """Say what is wrong with the patterns of one schema, each given with the path where it stands."""
    faults: list[SchemaFault] = []
    bytes_left = PATTERNS_BYTES
    for path, pattern in patterns:
        size = _size(pattern)
        if size is None:
            faults.append(_refused(path, pattern))
            continue
        bytes_left -= size
        if bytes_left < 0:
            message = f"the patterns up to here take more than {PATTERNS_BYTES:,} bytes compiled"
            faults.append(
                SchemaFault("SCHEMA_REGEX_BOMB", path, message, "use fewer patterns, or smaller repetition counts")
            )
            break
    return faults


def pattern_matches(pattern: str, text: str) -> bool:
    """Say whether a pattern, which has been checked before, is found in a text."""
    return _compiled(pattern).is_valid(text)


def may_overlap(pattern: str, other: str) -> bool:
    """Say whether a text may match both; false only where both tell how it begins, each in another way."""
    one, two = _BEGINNING.match(pattern), _BEGINNING.match(other)
    if one is None or two is None:
        return True
    length = min(len(one[1]), len(two[1]))
    return one[1][:length] == two[1][:length]


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=ENGINE, offline=True)


@lru_cache(maxsize=1024)
def _size(pattern: str) -> int | None:
    if len(pattern) > PATTERN_LENGTH:
        return None
    return next((size for size in _SIZES if _compiles(pattern, jsonschema_rs.RegexOptions(size_limit=size))), None)


def _refused(path: Path, pattern: str) -> SchemaFault:
    shown = repr(pattern if len(pattern) <= 60 else pattern[:57] + "...")
    if len(pattern) > PATTERN_LENGTH:
        message = f"the pattern {shown} has {len(pattern):,} characters; the limit is {PATTERN_LENGTH:,}"
        return SchemaFault("SCHEMA_REGEX_BOMB", path, message, "use a shorter pattern, or an enum")
    if _compiles(pattern, _BACKTRACKING):
        message = f"the pattern {shown} looks around or back at a group, which can take for ever to match"
        return SchemaFault(
            "SCHEMA_REGEX_BOMB", path, message, "write it without (?=, (?!, (?<=, (?<! and \\1; allOf joins patterns"
        )
    if _compiles(_COUNTED.sub("+", pattern), ENGINE):
        message = f"the pattern {shown} takes more than {PATTERN_BYTES:,} bytes compiled"
        return SchemaFault(
            "SCHEMA_REGEX_BOMB", path, message, "use smaller repetition counts; maxLength limits the length at no cost"
        )
    message = f"{shown} is not a regular expression"
    return SchemaFault("SCHEMA_BAD_REGEX", path, message, "close its brackets, and escape what is meant literally")


def _compiles(pattern: str, engine: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=engine, offline=True)
    except jsonschema_rs.ValidationError:
        return False
    return True
