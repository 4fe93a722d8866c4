"""Where a secret may go: the hosts, MCP servers, programs and kinds of action, and the workflows, that it is for.

A host is what a client connects to: its name in ASCII and lower case, or an IP address, with its port unless that is
443. So `api.example.com` means HTTPS on the usual port, and everything else is written out, `127.0.0.1:8080`.
"""

import re
from ipaddress import IPv6Address, ip_address
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from wonder.errors import WonderError

Sort: TypeAlias = Literal["host", "server", "program", "kind"]

_HTTPS: Final = 443
_PORT_MAX: Final = 65_535
_ENTRIES_MAX: Final = 100
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_PORT: Final = re.compile(r"(.*?)(?::([0-9]{1,5}))?")


class BadScope(WonderError):
    """A scope can't be what somebody has written for one."""

    code = "SECRET_REFUSED"


class Destination(Struct, frozen=True):
    """What gets to see a secret."""

    sort: Sort
    name: str

    def __str__(self) -> str:
        return f"the {_NOUNS[self.sort]} {self.name!r}"

    @property
    def option(self) -> str:
        """The option of `wonder secrets scope` that allows it."""
        return f"--for-{self.sort} {quoted(self.name)}"


class SecretScope(Struct, frozen=True, omit_defaults=True):
    """What a secret is for; at least one destination. Without workflows, every workflow of its project may use it.

    A workflow is written with the id of its project, as `ID/NAME`: a workflow that has the same name in another
    project gains nothing.
    """

    hosts: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()

    def allows(self, destination: Destination) -> bool:
        """Return whether the secret may go there."""
        name = destination.name
        match destination.sort:
            case "host":
                return any(name == host or (host.startswith("*.") and _is_below(name, host)) for host in self.hosts)
            case "server":
                return name in self.servers
            case "program":
                return name in self.programs
            case "kind":
                return name in self.kinds

    def allows_workflow(self, project_id: str | None, name: str) -> bool:
        """Return whether a workflow may use the secret."""
        return not self.workflows or f"{project_id}/{name}" in self.workflows

    def options(self) -> str:
        """Return the options of `wonder secrets scope` that make it."""
        given = [
            *((("host"), host) for host in self.hosts),
            *(("server", name) for name in self.servers),
            *(("program", path) for path in self.programs),
            *(("kind", name) for name in self.kinds),
            *(("workflow", name.partition("/")[2]) for name in self.workflows),
        ]
        return " ".join(f"--for-{sort} {quoted(name)}" for sort, name in given)


def make_scope(
    hosts: list[str], servers: list[str], programs: list[str], kinds: list[str], workflows: list[str], project_id: str
) -> SecretScope:
    """Return the scope that somebody has written, in its one form; raises BadScope."""
    if not (hosts or servers or programs or kinds):
        raise BadScope("a scope names where a secret may go; add --for-host, --for-server, --for-program or --for-kind")
    for path in programs:
        if not path.startswith("/") or "/../" in f"{path}/" or "/./" in f"{path}/" or "//" in path:
            raise BadScope(f"{path!r} is not the absolute path of a program; write it as in /usr/bin/rsync")
    for name in (*servers, *kinds, *workflows):
        if not name or len(name) > 200:
            raise BadScope(f"{name[:80]!r} can't be a name; write that of the server, kind or workflow")
    scope = SecretScope(
        tuple(sorted({read_host(host) for host in hosts})),
        tuple(sorted(set(servers))),
        tuple(sorted(set(programs))),
        tuple(sorted(set(kinds))),
        tuple(sorted({f"{project_id}/{name}" for name in workflows})),
    )
    if sum(map(len, (hosts, servers, programs, kinds, workflows))) > _ENTRIES_MAX:
        raise BadScope(f"a scope has at most {_ENTRIES_MAX} entries")
    return scope


def read_host(text: str) -> str:
    """Return a host of a scope in its one form: NAME, NAME:PORT, *.NAME, an IP address; raises BadScope."""
    if "/" in text or "@" in text:
        raise BadScope(f"{text[:200]!r} is not a host; leave out the scheme and the path: api.example.com")
    if not text.isascii():
        raise BadScope(f"{text[:200]!r} is not a host in ASCII; write it in Punycode, as in xn--bcher-kva.example")
    found = _PORT.fullmatch(text) if not text.startswith("[") else re.fullmatch(r"(\[.*\])(?::([0-9]{1,5}))?", text)
    host = (found[1] if found else "").lower().removesuffix(".")
    port = int(found[2]) if found and found[2] else _HTTPS
    base = host.removeprefix("*.")
    is_wild = base != host
    if not 0 < port <= _PORT_MAX or (is_wild and ("." not in base or base.rpartition(".")[2].isdigit())):
        raise BadScope(f"{text[:200]!r} is not a host; write api.example.com, api.example.com:8443 or *.example.com")
    if not is_wild and (address := _address(base)) is not None:
        return _with_port(address, port)
    if not _NAME.fullmatch(base) or len(base) > 253:
        raise BadScope(f"{text[:200]!r} is not a host; write api.example.com, api.example.com:8443 or *.example.com")
    return _with_port(host, port)


def host_of(host: str, port: int) -> Destination:
    """Return a host that a client connects to as a destination."""
    plain = host.lower().removesuffix(".")
    return Destination("host", _with_port(_address(plain) or plain, port))


def host_of_url(url: str) -> Destination:
    """Return the host that an address of HTTP leads to, one that was found to be one."""
    parts = urlsplit(url)
    return host_of(parts.hostname or "", parts.port or (_HTTPS if parts.scheme == "https" else 80))


def quoted(text: str) -> str:
    """Return a word as a shell reads it."""
    return text if re.fullmatch(r"[\w@%+:,./-]+", text, re.ASCII) else "'" + text.replace("'", "'\"'\"'") + "'"


def _address(host: str) -> str | None:
    try:
        found = ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    return f"[{found}]" if isinstance(found, IPv6Address) else str(found)


def _with_port(host: str, port: int) -> str:
    return host if port == _HTTPS else f"{host}:{port}"


def _is_below(name: str, wildcard: str) -> bool:
    """Return whether a host is below the domain of `*.NAME`, at the same port; an IP address never is."""
    return name.endswith(wildcard[1:]) and len(name) > len(wildcard) - 1


_NOUNS: Final[dict[Sort, str]] = {
    "host": "host",
    "server": "MCP server",
    "program": "program",
    "kind": "kind of action",
}
