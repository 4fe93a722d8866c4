"""Addresses of HTTP, and headers that go with them: what is wrong with one, before anything is sent."""

import re
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import urlsplit

# As RFC 9110 has it: no blanks, no colon, nothing beyond ASCII.
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_IN_AN_ADDRESS: Final = re.compile(r"[\x00-\x20\x7f\\]")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]*")
_IN_BRACKETS: Final = re.compile(r"\[([^\[\]]+)\](?::[0-9]*)?")
_PORT_MAX: Final = 65_535


def why_no_address(text: str) -> str | None:
    """Say why a text is no address of HTTP; None for one that is."""
    if not text.lower().startswith(("http://", "https://")):
        return "is no address of HTTP; begin it with https:// or http://"
    if _NOT_IN_AN_ADDRESS.search(text):
        return "holds a blank, a backslash or a control character; leave it out"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
        _check_host(host or "")
        _check_brackets(parts.netloc.rpartition("@")[2])
    except ValueError:
        return "has an invalid host or port; write it as in http://localhost:8080/v1 or http://[::1]:8080/v1"
    if not host:
        return "is no address of HTTP, it has no host; write it as in http://localhost:8080/v1"
    if port is not None and not 0 < port <= _PORT_MAX:
        return f"has {port} for a port; write one from 1 to {_PORT_MAX}"
    return None


def base_url_of(text: str) -> str:
    """Return an address of HTTP in the one form in which two of them are compared."""
    parts = urlsplit(text)
    host = (parts.hostname or "").removesuffix(".")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    named = f"[{host}]" if ":" in host else host
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{named}:{port}{parts.path.rstrip('/')}{query}"


def _check_host(host: str) -> None:
    """Raise ValueError for a name that no name can be."""
    if host.isascii() and ":" not in host and not _NAME.fullmatch(host):
        raise ValueError(host)
    for label in host.split("."):
        if "xn--" in label:
            if not label.startswith("xn--"):
                raise ValueError(label)
            label.encode("ascii").decode("idna")


def _check_brackets(host_and_port: str) -> None:
    """Raise ValueError unless brackets hold an address of IPv6, and nothing but a port follows them.

    Of `[::1]64` urllib takes the port to be the usual one, and the client connects to 64.
    """
    if "[" in host_and_port or "]" in host_and_port:
        found = _IN_BRACKETS.fullmatch(host_and_port)
        IPv6Address(found[1] if found else host_and_port)


def why_no_header(name: str, value: str) -> str | None:
    """Say why a header can't be sent; None for one that can."""
    if not _HEADER_NAME.fullmatch(name):
        return f"{name[:80]!r} can't be the name of a header; use letters, digits and '-'"
    if not value.isascii() or any(sign < " " and sign != "\t" for sign in value) or "\x7f" in value:
        # Without the value: it may be a secret.
        return f"the header '{name}' holds a line break, a control character or no ASCII; write it on one line"
    return None
