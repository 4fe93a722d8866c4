"""How a text may be written so that another program still reads it out: encoded, escaped, quoted, cut into lines.

In upper or lower case is no spelling of its own for ASCII: who looks for them takes both for the same.
"""

import html
import json
import re
from base64 import a85encode, b32encode, b32hexencode, b64encode, b85encode, urlsafe_b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 8
"""What is shorter than this stands in many texts by chance."""

# What URL libraries leave as it is besides letters, digits and `_.-~`: nothing, paths, JavaScript's encodeURIComponent
# and encodeURI, and the queries of HTTP clients.
_LEFT_AS_IT_IS = ("", "/", "!'()*", "!#$&'()*+,/:;=?@", "!$&'()*+,;=:@/?", "/:+,")
# `base64` and openssl break their lines after so many characters.
_LINE_LENGTHS = (76, 64)
_LONG = 4_096
_SHELL_SIGN = re.compile(r"[^A-Za-z0-9_@%+:,./\n-]", re.ASCII)


def spellings(text: str) -> frozenset[str]:
    """Give the ways to write a text; for one of letters and digits most of them are the same."""
    found: set[str] = set()
    # With single blanks, as messages that are one line show what came in several.
    for whole in {text, text.strip(), " ".join(text.split())}:
        found.update(_spellings(whole))
    for line in _lines(text):
        found.update((line, json.dumps(line)[1:-1], quote(line.encode("utf-8", "surrogatepass"), safe="")))
    return frozenset(spelling for spelling in found if len(spelling) >= SHORTEST)


def _lines(text: str) -> Iterator[str]:
    """Give the lines of a text of several, which are often shown one by one."""
    lines = text.splitlines()
    if len(lines) > 1:
        for line in lines:
            # The frame of a key in PEM is the same for all keys.
            if not (line.startswith("-----") and line.rstrip().endswith("-----")):
                yield line.strip()


def _spellings(text: str) -> Iterator[str]:
    yield text
    raw = text.encode("utf-8", "surrogatepass")
    if not text.isascii():
        # UTF-8 read as Latin-1, as headers of HTTP are.
        yield raw.decode("latin-1")
        yield text.lower()
        yield text.upper()
    yield from _escaped(text)
    yield from _percent_encoded(raw)
    yield from _base64(raw)
    for ascii_only in (False, True):
        # A whole document of JSON is often what is encoded.
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield from _base64(escaped.encode("utf-8", "surrogatepass")) if escaped != text else ()
    yield from _base32(raw)
    yield from _base85(raw)
    yield from _all_escaped(text, raw)
    yield raw.hex()
    # As Windows and PowerShell write texts.
    for form in ("utf-16-le", "utf-16-be"):
        wide = text.encode(form, "surrogatepass")
        yield from _base64(wide)
        if text.isascii():
            yield wide.decode("latin-1")


def _escaped(text: str) -> Iterator[str]:
    for ascii_only in (False, True):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield once
        yield once.replace("/", "\\/")  # as PHP writes it
        # The one who writes it down again may be of another mind.
        yield json.dumps(once, ensure_ascii=False)[1:-1]
        yield json.dumps(once, ensure_ascii=True)[1:-1]
    yield repr(text)[1:-1]
    yield repr(text.encode("utf-8", "surrogatepass"))[2:-1]
    yield from _quoted(text)
    page = html.escape(text, quote=False)
    for double in ('"', "&quot;", "&#34;"):
        for single in ("'", "&#x27;", "&#39;", "&apos;"):
            once = page.replace('"', double).replace("'", single)
            yield once
            yield once.replace("&", "&amp;")


def _quoted(text: str) -> Iterator[str]:
    """Give how shells, and languages that double a quote, write a text."""
    yield text.replace("'", "'\\''")
    yield text.replace("'", "'\"'\"'")  # Python's shlex
    yield text.replace("'", "''")
    yield text.replace('"', '""')
    yield _SHELL_SIGN.sub(r"\\\g<0>", text)  # bash's %q
    yield re.sub(r'["$`\\]', r"\\\g<0>", text)  # inside double quotes


def _percent_encoded(raw: bytes) -> Iterator[str]:
    # A long one is a key or a file, which nobody puts into an address: once is enough.
    for safe in _LEFT_AS_IT_IS if len(raw) <= _LONG else _LEFT_AS_IT_IS[:1]:
        for encode in (quote, quote_plus):
            once = encode(raw, safe=safe)
            yield once
            yield _lower_hex(once)
            yield quote(once, safe=safe)


def _lower_hex(encoded: str) -> str:
    first, *rest = encoded.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _base64(raw: bytes) -> Iterator[str]:
    """Give the characters that stand for a text in base64, whatever stands before and behind it in what was encoded."""
    for encode in (b64encode, urlsafe_b64encode):
        for before in range(3):
            encoded = encode(bytes(before) + raw).decode()
            # A character has 6 bits: those that share some with what stands around are left out.
            whole = encoded[(before * 8 + 5) // 6 : (before + len(raw)) * 8 // 6]
            yield whole
            for length in _LINE_LENGTHS if before == 0 else ():
                if len(whole) > length:
                    yield from (whole[start : start + length] for start in range(0, len(whole), length))


def _base32(raw: bytes) -> Iterator[str]:
    """Give the same in base32, where a character has 5 bits."""
    for encode in (b32encode, b32hexencode):
        for before in range(5):
            encoded = encode(bytes(before) + raw).decode()
            yield encoded[(before * 8 + 4) // 5 : (before + len(raw)) * 8 // 5]


def _base85(raw: bytes) -> Iterator[str]:
    """Give the same in base85, where 4 bytes are 5 characters that depend on all of them: those of whole groups.

    At the end of what was encoded there may be a shorter group.
    """
    for encode in (a85encode, b85encode):
        for skipped in range(4):
            rest = raw[skipped:]
            yield encode(rest[: len(rest) // 4 * 4]).decode()
            yield encode(rest).decode()


def _all_escaped(text: str, raw: bytes) -> Iterator[str]:
    """Give how a text is written by those who escape every character, once and twice."""
    units = text.encode("utf-16-be", "surrogatepass").hex()
    every = [
        "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)),
        "".join(f"\\{byte:03o}" for byte in raw),
    ]
    if len(raw) <= _LONG:
        every += [
            "".join(f"\\{byte:o}" for byte in raw),
            "".join(f"\\x{byte:02x}" for byte in raw),
            "".join(f"%{byte:02x}" for byte in raw),
        ]
    for once in every:
        yield once
        if len(raw) <= _LONG:
            yield once.replace("\\", "\\\\")
