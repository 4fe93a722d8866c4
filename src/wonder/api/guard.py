"""Checks where a request comes from, where nothing else says who asks: a page in a browser must not ask for its user.

A server without keys takes everybody on this machine for its user. A page of any site can have the user's browser send
requests to it, and with a name of its own that leads to 127.0.0.1 it could even read the answers (DNS rebinding).
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from wonder.api.problems import Problem

_OWN_NAMES: Final = frozenset({"localhost", "localhost."})


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine itself, seen by nobody else."""
    if host.lower() in _OWN_NAMES:
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_local(headers: Mapping[str, str]) -> None:
    """Refuse a request that names another host than this machine, or comes from a page of another site."""
    host = headers.get("host", "")
    if not is_loopback(_host_of(f"//{host}")):
        text = f"Host is {host[:80]!r}, which is not this machine; use localhost or 127.0.0.1, or make a key"
        raise Problem(403, "HOST_REFUSED", text)
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        raise Problem(403, "ORIGIN_REFUSED", f"the request comes from a page of {origin[:80]!r}, not of this server")
    if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        raise Problem(403, "ORIGIN_REFUSED", "the request comes from a page of another site")


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
