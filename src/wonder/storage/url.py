"""Where the database is: reading addresses such as sqlite:///file.db and postgresql://host/name."""

import re
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from wonder.storage.errors import BadDatabaseUrl

SECRET_OPTIONS = frozenset({"password", "sslpassword"})
_OPTIONS: Final = re.compile("[?#]")


class SqliteAddress(Struct, frozen=True):
    """A database that is a file on this machine."""

    path: Path

    @property
    def shown(self) -> str:
        """The address as a person may see it."""
        return str(self.path)


class PostgresAddress(Struct, frozen=True):
    """A database on a PostgreSQL server."""

    url: str
    shown: str


def parse_url(url: str) -> SqliteAddress | PostgresAddress:
    """Read a database address; raises BadDatabaseUrl, which never shows a password."""
    if "\x00" in url:
        raise BadDatabaseUrl(hidden(url).replace("\x00", "\\0"), "holds the character U+0000")
    if any("\ud800" <= sign <= "\udfff" for sign in url):
        raise BadDatabaseUrl(hidden(url).encode("utf-8", "backslashreplace").decode(), "is not UTF-8")
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise BadDatabaseUrl(hidden(url), "has no scheme")
    if scheme == "sqlite":
        return _sqlite(url, rest)
    if scheme in ("postgresql", "postgres"):
        return _postgres(url, scheme)
    raise BadDatabaseUrl(hidden(url), f"has the unknown scheme {hidden(scheme)!r}")


def hidden(url: str) -> str:
    """Show as much of an address that can't be read as surely holds no password: one may hold any sign, even / ? #."""
    scheme, separator, _ = url.partition("://")
    if "@" in url:
        return f"{scheme}://…" if separator and "@" not in scheme else "…"
    path = _OPTIONS.split(url, maxsplit=1)[0]
    return path if path == url else f"{path}…"


def _sqlite(url: str, rest: str) -> SqliteAddress:
    if not rest.startswith("/"):
        raise BadDatabaseUrl(hidden(url), "names a host, and an SQLite database is a file: write three slashes")
    path = rest[1:]
    if not path or path.endswith("/"):
        raise BadDatabaseUrl(hidden(url), "names no file")
    if path == ":memory:":
        raise BadDatabaseUrl(url, "asks for memory, and Wonder keeps its promises on disk")
    if "?" in path or "#" in path:
        raise BadDatabaseUrl(hidden(url), "has options, and an SQLite address takes none")
    return SqliteAddress(Path(path))


def _postgres(url: str, scheme: str) -> PostgresAddress:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        # Without the reason of Python's: that quotes the part which it takes for a port, often one of a password.
        reason = (
            "can't be read: its host or port is invalid; in a password write / ? # @ [ ] as %2F %3F %23 %40 %5B %5D"
        )
        raise BadDatabaseUrl(f"{scheme}://…", reason) from None
    return PostgresAddress(url, _masked(parts))


def _masked(parts: SplitResult) -> str:
    user, separator, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}{':***' if colon else ''}{separator}{host}"
    # Behind the host there is an @ only where a password has / ? or # in it, and what seems to be the host is its user.
    path = "/…" if "@" in parts.path else parts.path
    options = [
        (key, "***" if key in SECRET_OPTIONS or "@" in key + value else value) for key, value in parse_qsl(parts.query)
    ]
    return urlunsplit(parts._replace(netloc=netloc, path=path, query=urlencode(options, safe="/*"), fragment=""))
