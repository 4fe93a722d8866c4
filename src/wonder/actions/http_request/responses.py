"""What comes back of an `http_request`: headers, a body as JSON, text or an artifact, and failures by status (RET-1).

Imported when first used, because httpx2 takes a fifth of a second to load.
"""

import codecs
import re
from http import HTTPStatus
from typing import Final

import httpx2

from wonder.actions.exceptions import storable
from wonder.actions.http.bodies import BadResponse
from wonder.actions.http.retry_after import retry_after_of
from wonder.actions.protocol import ActionFailed
from wonder.language.values import BadValue, JsonValue, check_value, parse_json

BEGINNING_MAX: Final = 2_000
"""How many characters of a refusal's body are told in the details of its failure."""

_SHOWN_MAX: Final = 200
# RET-1's list.
_RETRYABLE: Final = (408, 425, 429)
# Encodings of texts. Of Python's others some take the square of a text's length, and some are no encodings of text.
_CHARSETS: Final = re.compile(
    r"utf-8|utf-16(-[bl]e)?|ascii|iso8859-\d+|cp(125\d|874|932|949)|koi8-[ru]|shift_jis|euc_(jp|kr)|gb(2312|k|18030)|big5"
)
_BOM: Final = b"\xef\xbb\xbf"


def headers_of(response: httpx2.Response) -> dict[str, JsonValue]:
    """Return headers by their names in lower case; what came several times is joined with a comma, as HTTP says.

    Cookies can't be joined so: those of `set-cookie` have a line each.
    """
    found: dict[str, str] = {}
    for raw_name, raw_value in response.headers.raw:
        name, value = raw_name.decode("latin-1").lower(), _text_of_header(raw_value)
        separator = "\n" if name == "set-cookie" else ", "
        found[name] = f"{found[name]}{separator}{value}" if name in found else value
    return dict(found)


def read_json(body: bytes) -> JsonValue:
    """Return a body as a value, null if there is none; raises BadResponse."""
    if not body.strip():
        return None
    try:
        return parse_json(body.removeprefix(_BOM))
    except BadValue as refusal:
        hint = "say 'response: text' if it should be a string"
        raise BadResponse(f"its body is no JSON that can be kept: {refusal}; {hint}") from None


def read_text(body: bytes, content_type: str) -> str:
    """Return a body as a text; raises BadResponse where its bytes are none."""
    charset = _charset(content_type)
    try:
        text = body.removeprefix(_BOM).decode(charset)
        check_value(text)
    except UnicodeDecodeError as error:
        hint = "say 'response: artifact' to keep it as it is"
        raise BadResponse(f"its body is no text in {charset} at byte {error.start}; {hint}") from None
    except BadValue as refusal:
        raise BadResponse(f"its body can't be kept: {refusal}") from None
    return text


def status_failure(shown: str, response: httpx2.Response, beginning: bytes, now_ms: int) -> ActionFailed:
    """Return the failure that a status of 400 or above is; `shown` is what was asked for."""
    status = response.status_code
    retryable = status in _RETRYABLE or status >= 500
    text = storable(beginning.decode("utf-8", "replace"), BEGINNING_MAX)
    said = f": {' '.join(text.split())[:_SHOWN_MAX]}" if text.strip() else ""
    hint = "" if retryable else f"; correct the request, or name {status} in accept_status if it is an answer"
    details: dict[str, JsonValue] = {"status": status, "headers": headers_of(response), "body": text}
    return ActionFailed(
        f"HTTP_{status}",
        f"{shown} was answered with {status}{_phrase(status)}{said}{hint}",
        retryable=retryable,
        details=details,
        retry_after_ms=retry_after_of(response.headers, now_ms) if retryable else None,
    )


def _charset(content_type: str) -> str:
    found = re.search(r"charset\s*=\s*\"?([\w.:-]{1,40})", content_type, re.IGNORECASE)
    try:
        name = codecs.lookup(found[1]).name if found else "utf-8"
    except LookupError:
        return "utf-8"
    return name if _CHARSETS.fullmatch(name) else "utf-8"


def _text_of_header(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _phrase(status: int) -> str:
    # Not what the server calls it, which may be anything.
    return f" {HTTPStatus(status).phrase}" if status in HTTPStatus._value2member_map_ else ""
