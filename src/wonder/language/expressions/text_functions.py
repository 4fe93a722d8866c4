"""SQLite's scalar functions over texts and over values of any type."""

import re

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.limits import MAX_TEXT
from wonder.language.expressions.numbers import MAX_INTEGER, real_text
from wonder.language.expressions.sql_values import (
    Document,
    SqlValue,
    built,
    integer_of,
    lower_ascii,
    storable,
    text_of,
    upper_ascii,
)
from wonder.language.steps import spend

# So few characters to trim are looked through at once for each character of a text.
_FEW_CHARACTERS = 64


def char(*codes: SqlValue) -> str:
    """char(X, ...): the characters with these code points."""
    points = [integer_of(code) for code in codes]
    return storable("".join([chr(point) if 0 <= point <= 0x10FFFF else "\ufffd" for point in points]))


def concat(*values: SqlValue) -> str:
    """concat(X, ...): all texts together, NULL as nothing."""
    return join_texts("", [text_of(value) for value in values if value is not None])


def concat_ws(separator: SqlValue, *values: SqlValue) -> str | None:
    """concat_ws(SEPARATOR, X, ...): all texts that are not NULL, with a separator between them."""
    if separator is None:
        return None
    return join_texts(text_of(separator), [text_of(value) for value in values if value is not None])


def join_texts(separator: str, texts: list[str]) -> str:
    """Join texts, if the result is not too long to be built."""
    size = sum(map(len, texts)) + len(separator) * max(len(texts) - 1, 0)
    if size > MAX_TEXT:
        raise EvaluationError(f"a string of {size:,} characters would be built; the limit is {MAX_TEXT:,}")
    return separator.join(texts)


def hex_(value: SqlValue) -> str:
    """hex(X): the bytes of a text in hexadecimal."""
    text = text_of(value)
    return "" if text is None else built(text.encode().hex().upper())


def instr(text: SqlValue, part: SqlValue) -> int | None:
    """instr(X, Y): where Y begins in X, counted from 1; 0 if it is not there."""
    if text is None or part is None:
        return None
    return text_of(text).find(text_of(part)) + 1  # type: ignore[no-any-return]  # str.find gives an int


def length(value: SqlValue) -> int | None:
    """length(X): the number of characters."""
    return None if value is None else len(text_of(value))


def octet_length(value: SqlValue) -> int | None:
    """octet_length(X): the number of bytes."""
    return None if value is None else len(text_of(value).encode())


def lower(value: SqlValue) -> str | None:
    """lower(X): A to Z as small letters."""
    return None if value is None else lower_ascii(text_of(value))


def upper(value: SqlValue) -> str | None:
    """upper(X): a to z as capital letters."""
    return None if value is None else upper_ascii(text_of(value))


def trim(value: SqlValue, characters: SqlValue = " ") -> str | None:
    """trim(X, Y): X without the characters of Y at both ends."""
    return rtrim(ltrim(value, characters), characters)


def ltrim(value: SqlValue, characters: SqlValue = " ") -> str | None:
    """ltrim(X, Y): X without the characters of Y at its beginning."""
    if value is None or characters is None:
        return None
    text, cut = text_of(value), text_of(characters)
    if len(cut) <= _FEW_CHARACTERS:
        return text.lstrip(cut)  # type: ignore[no-any-return]  # str.lstrip gives a str
    # str.lstrip looks through all of `cut` for each character of the text: hours for two texts of 16 MB.
    among = frozenset(cut)
    spend(len(text) + len(cut))
    return text[next((at for at, one in enumerate(text) if one not in among), len(text)) :]  # type: ignore[no-any-return]


def rtrim(value: SqlValue, characters: SqlValue = " ") -> str | None:
    """rtrim(X, Y): X without the characters of Y at its end."""
    if value is None or characters is None:
        return None
    text, cut = text_of(value), text_of(characters)
    if len(cut) <= _FEW_CHARACTERS:
        return text.rstrip(cut)  # type: ignore[no-any-return]  # str.rstrip gives a str
    among = frozenset(cut)
    spend(len(text) + len(cut))
    kept = next((at for at in range(len(text), 0, -1) if text[at - 1] not in among), 0)
    return text[:kept]  # type: ignore[no-any-return]  # a part of a str


def quote(value: SqlValue) -> str:
    """quote(X): X as a literal of SQL."""
    if value is None:
        return "NULL"
    if type(value) is int:
        return str(value)
    if type(value) is float:
        return real_text(value, "9.0e+999")
    return built("'" + text_of(value).replace("'", "''") + "'")


def unistr_quote(value: SqlValue) -> str:
    """unistr_quote(X): X as a literal of SQL, control characters as escapes."""
    quoted = quote(value)
    if not _CONTROL.search(quoted):
        return quoted
    escaped = _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted.replace("\\", "\\\\"))
    return built(f"unistr({escaped})")


_CONTROL = re.compile(r"[\x00-\x1f]")


def replace(value: SqlValue, old: SqlValue, new: SqlValue) -> str | None:
    """replace(X, Y, Z): X with every Y replaced by Z."""
    if value is None or old is None:
        return None
    text, pattern = text_of(value), text_of(old)
    if not pattern:
        return text  # type: ignore[no-any-return]  # the text of a value that is not NULL
    if new is None:
        return None
    replacement = text_of(new)
    growth = len(replacement) - len(pattern)
    if growth > 0 and len(text) + growth * text.count(pattern) > MAX_TEXT:
        raise EvaluationError(f"replace() would build a string of more than {MAX_TEXT:,} characters")
    return text.replace(pattern, replacement)  # type: ignore[no-any-return]  # str.replace gives a str


def substr(value: SqlValue, start: SqlValue, count: SqlValue = MAX_INTEGER) -> str | None:
    """substr(X, Y, Z): Z characters from the Yth on, counted from 1, or from the end if Y is below 0."""
    if value is None or start is None or count is None:
        return None
    text = text_of(value)
    first, size = integer_of(start), integer_of(count)
    if first < 0:
        first += len(text)
        if first < 0:
            size = 0 if size < 0 else size + first
            first = 0
    elif first > 0:
        first -= 1
    elif size > 0:
        size -= 1
    if size < 0:
        size = first if size < -first else -size
        first -= size
    return text[first : first + size]  # type: ignore[no-any-return]  # a part of a str


def subtype(value: SqlValue) -> int:
    """subtype(X): 74 for what is known to be JSON, otherwise 0."""
    return 74 if type(value) is Document else 0


def typeof(value: SqlValue) -> str:
    """typeof(X): the name of the storage class."""
    if value is None:
        return "null"
    return {int: "integer", float: "real"}.get(type(value), "text")


def unicode(value: SqlValue) -> int | None:
    """unicode(X): the code point of the first character."""
    text = text_of(value)
    return ord(text[0]) if text else None


_UNISTR = re.compile(r"\\(?:(\\)|([0-9a-fA-F]{4})|\+([0-9a-fA-F]{6})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|)")


def unistr(value: SqlValue) -> str | None:
    """unistr(X): X with escapes like \\u00e9 replaced by their characters."""
    if value is None:
        return None
    text = text_of(value)
    # Each calls a function of ours, which takes longer than the characters that were counted for it.
    spend(text.count("\\"))
    return storable(_UNISTR.sub(_unistr_character, text))


def _unistr_character(match: re.Match[str]) -> str:
    backslash, *codes = match.groups()
    if backslash:
        return "\\"
    code = next((code for code in codes if code), None)
    if code is None:
        raise EvaluationError("unistr() was given an invalid escape; write \\XXXX, \\uXXXX, \\+XXXXXX or \\UXXXXXXXX")
    if int(code, 16) > 0x10FFFF:
        raise EvaluationError(f"unistr() was given {code}, which is beyond the last character, 10FFFF")
    return chr(int(code, 16))
