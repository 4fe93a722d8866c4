"""Which addresses actions may connect to: the one home of the rules that keep them out of private networks (ACT-3).

A request names a host; what counts is where it would lead. So the host is resolved once, every address that it stands
for is checked, and the connection is made to an address that was checked: a name that leads elsewhere a moment later
gains nothing. However a host is spelled (`2130706433`, `0x7f.1`, `127.1`), it is judged by its addresses.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

from wonder.actions.protocol import ActionFailed

Resolve: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""Gives the addresses of a host; raises OSError."""

_HOST: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?", re.IGNORECASE)
_HOST_MAX: Final = 253
_PORT_MAX: Final = 65_535


class AddressRefused(ActionFailed):
    """A host stands for an address that actions of this workspace may not reach."""

    def __init__(self, host: str, address: str, reason: str, allow: str = "") -> None:
        where = f"{host} is {address}, " if host != address else f"{address} is "
        allow = allow or "such ones in the workspace: wonder workspace set allow_private_addresses true"
        message = f"{where}{reason}, which no action may reach; use a public address, or allow {allow}"
        details = {"host": host, "address": address, "reason": reason}
        super().__init__("ADDRESS_REFUSED", message, details=details)
        self.host, self.address, self.reason = host, address, reason


class BadHost(ActionFailed):
    """A host name is invalid."""

    def __init__(self, host: str, port: int) -> None:
        shown = f"{host[:100]!r}" if 0 < port <= _PORT_MAX else f"{host[:100]!r} with the port {port}"
        message = f"{shown} is no host that can be reached; write a name, an IPv4 address or [an IPv6 address]"
        super().__init__("BAD_URL", message, details={"host": host[:100], "port": port})
        self.host, self.port = host, port


async def resolve(host: str) -> list[str]:
    """Ask the operating system for the addresses of a host, in the order in which they should be tried."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return _texts(found)


def resolve_blocking(host: str) -> list[str]:
    """Do the same where it is no harm to wait: in a thread."""
    return _texts(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM))


async def permitted(host: str, port: int, *, allow_private: bool, resolve: Resolve = resolve) -> list[str]:
    """Return the addresses that a host may be reached at; raises AddressRefused if one of them is out of bounds.

    One is enough to refuse them all: a name with private and public addresses may be an attack.
    """
    if not 0 < port <= _PORT_MAX:
        raise BadHost(host, port)
    if (literal := _literal(host)) is not None:
        addresses: Sequence[str] = [literal]
    elif len(host) <= _HOST_MAX and _HOST.fullmatch(host):
        addresses = await resolve(host)
    else:
        raise BadHost(host, port)
    if not allow_private:
        for address in addresses:
            if reason := why_refused(address):
                raise AddressRefused(host, address, reason)
    return list(addresses)


def why_refused(address: str) -> str | None:
    """Say what an address is that keeps actions from it; None for one of the public internet."""
    try:
        found = ip_address(address)
    except ValueError:
        return "no address of the internet"
    return _why_refused_4(found) if isinstance(found, IPv4Address) else _why_refused_6(found)


def _why_refused_4(address: IPv4Address) -> str | None:
    return next((reason for network, reason in _REFUSED_4 if address in network), None)


def _why_refused_6(address: IPv6Address) -> str | None:
    for network, bits_behind in _EMBEDDED_4:
        if address in network:
            # A router of such an address passes the packet on to the IPv4 address in it.
            inner = IPv4Address(int(address) >> bits_behind & 0xFFFF_FFFF)
            reason = _why_refused_4(inner)
            return reason and f"a way to {inner}, {reason}"
    for network, reason in _REFUSED_6:
        if address in network:
            return reason
    return None if address in _PUBLIC_6 else "no public address"


def _literal(host: str) -> str | None:
    try:
        return str(ip_address(host.removesuffix(".")))
    except ValueError:
        return None


def _texts(found: Iterable[tuple[object, object, object, object, tuple[object, ...]]]) -> list[str]:
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


# Written out rather than asked of `is_global`: that calls 6to4, NAT64, multicast, 192.88.99.0/24 and IPv4 in
# translation public, and each version of Python draws the lines elsewhere.
_REFUSED_4: Final = [
    (IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "this machine itself"),
        ("10.0.0.0/8", "a private network"),
        ("100.64.0.0/10", "shared by customers of a provider"),
        ("127.0.0.0/8", "this machine itself"),
        ("168.63.129.16/32", "a cloud's own service"),  # Azure's, on every machine there, though the range is public
        ("169.254.0.0/16", "link-local, as are clouds' metadata services"),
        ("172.16.0.0/12", "a private network"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "reserved for documentation"),
        ("192.88.99.0/24", "a relay between IPv4 and IPv6"),
        ("192.168.0.0/16", "a private network"),
        ("198.18.0.0/15", "reserved for benchmarks"),
        ("198.51.100.0/24", "reserved for documentation"),
        ("203.0.113.0/24", "reserved for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
]
# Each with the number of bits behind the IPv4 address. Of NAT64 only the well-known prefix is public (RFC 6052).
_EMBEDDED_4: Final = [
    (IPv6Network("::ffff:0:0/96"), 0),
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("2002::/16"), 80),
]
_REFUSED_6: Final = [
    (IPv6Network(network), reason)
    for network, reason in (
        ("::1/128", "this machine itself"),
        ("::/128", "this machine itself"),
        ("::/96", "an IPv4 address in the form that was given up"),
        ("::ffff:0:0:0/96", "an IPv4 address in translation"),
        ("64:ff9b:1::/48", "a private translation to IPv4"),
        ("100::/64", "a hole where packets vanish"),
        ("2001::/32", "a Teredo tunnel"),
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "reserved for documentation"),
        ("3fff::/20", "reserved for documentation"),
        ("fc00::/7", "a private network"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "a private network"),
        ("ff00::/8", "multicast"),
    )
]
# What is public is here; all else is refused, whatever it will be given to.
_PUBLIC_6: Final = IPv6Network("2000::/3")
