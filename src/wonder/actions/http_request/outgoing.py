"""Requests of `http_request` on their way out: rendered from templates, checked, and changed by redirects.

Imported when first used, because httpx2 takes a fifth of a second to load.
"""

import hashlib
import re
from base64 import b64encode
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

import httpx2
import msgspec

from wonder.actions.http.bodies import ACCEPTED
from wonder.actions.http_request.templates import Rendered
from wonder.actions.protocol import ActionFailed
from wonder.definitions.secret_scopes import Destination, host_of

# What a server may not learn of another: also where a header's value comes from the input, or stands in the definition.
_PRIVATE: Final = re.compile(r"auth|cookie|credential|key|passw|secret|session|signature|token|^host$")
_NOT_PRIVATE: Final = "idempotency-key"
_ABOUT_A_BODY: Final = re.compile(r"content-.*")
# RFC 9110: a field's value is visible characters, blanks and tabs between them, and what is not ASCII.
_LINE_BREAKING: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_NOT_IN_A_URL: Final = re.compile(r"[\x00-\x20\x7f\\]")
_IDEMPOTENCY_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PORT_MAX: Final = 65_535


@dataclass(frozen=True, slots=True)
class Header:
    """A header; a private one is for the host only that the author has written down."""

    name: str
    value: bytes
    is_private: bool = False


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request."""

    method: str
    url: httpx2.URL
    headers: tuple[Header, ...]
    body: bytes | None = None
    has_private_body: bool = False

    @property
    def destination(self) -> Destination:
        """The host that the client connects to, whatever else the address says."""
        return host_of(self.url.raw_host.decode("ascii"), self.url.port or _DEFAULT_PORTS[self.url.scheme])

    def built(self, connect_seconds: float, body_max: int) -> httpx2.Request:
        """Return it as httpx2 wants it; how long the whole may take is for others to watch."""
        waits = {"connect": connect_seconds, "read": None, "write": None, "pool": None}
        return httpx2.Request(
            self.method,
            self.url,
            headers=[(header.name.encode(), header.value) for header in self.headers],
            content=self.body,
            extensions={"timeout": waits, "body_max": body_max},
        )

    def followed(self, status: int, location: str) -> "Outgoing":
        """Return the request that a redirect leads to, as browsers do it; raises ActionFailed."""
        try:
            # A name and a password in it count for nothing: they become a header when the author's own URL is read.
            url = self.url.join(location.strip())
            host = url.host  # decoded now, which fails for some
        except (httpx2.InvalidURL, ValueError):
            raise _bad_redirect("to what is no address", location) from None
        if url.scheme not in _DEFAULT_PORTS or not host:
            raise _bad_redirect(f"to an address of {url.scheme!r}, not of HTTP", location)
        request = self
        if (status in (301, 302) and self.method == "POST") or (status == 303 and self.method != "HEAD"):
            headers = tuple(header for header in self.headers if not _ABOUT_A_BODY.fullmatch(header.name.lower()))
            request = replace(self, method="GET", body=None, headers=headers)
        if not _is_same_host(self.url, url):
            if request.body is not None and request.has_private_body:
                raise _bad_redirect("a body with a secret in it to another host", location)
            request = replace(request, headers=tuple(header for header in request.headers if not header.is_private))
        return replace(request, url=url)


def make_request(rendered: Rendered, *, wants_json: bool, idempotency_key: str | None) -> Outgoing:
    """Return the request that an author's texts are, with what he has left to us; raises ActionFailed."""
    url = _read_url(rendered.url, rendered.shown)
    headers = [_make_header(name, text, has_secret=has_secret) for name, text, has_secret in rendered.headers]
    body = None if rendered.body is None else rendered.body.encode("utf-8", "replace")
    usual = [
        Header("Accept", b"application/json" if wants_json else b"*/*"),
        Header("Accept-Encoding", ACCEPTED.encode()),
        Header("User-Agent", b"wonder"),
    ]
    if body is not None:
        usual.append(Header("Content-Type", b"application/json"))
    if url.userinfo:
        user_and_password = f"{url.username}:{url.password}".encode()
        usual.append(Header("Authorization", b"Basic " + b64encode(user_and_password), is_private=True))
    if idempotency_key is not None:
        usual.append(Header("Idempotency-Key", _fit_for_a_header(idempotency_key)))
    given = {header.name.lower() for header in headers}
    headers += [header for header in usual if header.name.lower() not in given]
    if body:
        _check_body(headers, body)
    return Outgoing(rendered.method, url, tuple(headers), body, rendered.has_secret_body)


def _read_url(text: str, shown: str) -> httpx2.URL:
    """Read an address; raises ActionFailed, which tells `shown` and nothing else of it."""
    if not text:
        raise _bad_url(shown.rstrip(), "has an empty address")
    if _NOT_IN_A_URL.search(text):
        raise _bad_url(shown, "holds a blank, a backslash or a line break")
    try:
        url = httpx2.URL(text)
        host = url.host  # decoded now, which fails for some
    except (httpx2.InvalidURL, ValueError):
        raise _bad_url(shown, "is no address") from None
    if url.scheme not in _DEFAULT_PORTS or not host:
        raise _bad_url(shown, "is no address of HTTP")
    if url.port is not None and not 0 < url.port <= _PORT_MAX:
        raise _bad_url(shown, f"has {url.port} for a port")
    # Not of `url`, where they have had their effect: a value '..' must not lead out of the path that it stands in.
    path = re.split(r"[?#]", text, maxsplit=1)[0]
    if any(unquote(segment) in (".", "..") for segment in path.split("/")[3:]):
        raise _bad_url(shown, "holds a path with '.' or '..' in it")
    return url


def _bad_url(shown: str, reason: str) -> ActionFailed:
    message = f"{shown} {reason}; correct url_template, or what it is filled with"
    return ActionFailed("BAD_URL", message, details={"url": shown})


def _make_header(name: str, text: str, *, has_secret: bool) -> Header:
    """Return a header; raises ActionFailed for a value that would end it and begin another."""
    if _LINE_BREAKING.search(text):
        message = f"the value of the header {name!r} holds a line break or another control character; remove it there"
        raise ActionFailed("BAD_HEADER", message, details={"header": name})
    lower = name.lower()
    is_private = has_secret or (lower != _NOT_PRIVATE and bool(_PRIVATE.search(lower)))
    return Header(name, text.strip(" \t").encode(), is_private)


def _check_body(headers: list[Header], body: bytes) -> None:
    """Reject a body that is declared as JSON and is not: mostly a string that was quoted without escaping."""
    kinds = [header.value.partition(b";")[0].strip() for header in headers if header.name.lower() == "content-type"]
    if kinds and (kinds[0] == b"application/json" or kinds[0].endswith(b"+json")):
        try:
            msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            message = (
                f"the body is no JSON: {error}; in body_template write values as {{{{json name}}}}, without quotes "
                "around them, or say with a Content-Type header what else it is"
            )
            raise ActionFailed("BAD_BODY", message) from None


def _fit_for_a_header(key: str) -> bytes:
    if _IDEMPOTENCY_KEY.fullmatch(key):
        return key.encode()
    return hashlib.sha256(key.encode()).hexdigest().encode()


def _is_same_host(old: httpx2.URL, new: httpx2.URL) -> bool:
    if old.host != new.host:
        return False
    ports = [url.port or _DEFAULT_PORTS[url.scheme] for url in (old, new)]
    # To the same host's usual door, and no less safely, is no other host.
    is_upgrade = (old.scheme, new.scheme) == ("http", "https") and ports == [80, 443]
    return is_upgrade or (old.scheme == new.scheme and ports[0] == ports[1])


def _bad_redirect(reason: str, location: str) -> ActionFailed:
    message = f"the server redirects {reason}; ask for the address that it should lead to"
    return ActionFailed("REDIRECT_REFUSED", message, details={"location": location[:200]})
