"""Where the database is: reading addresses such as sqlite:///file.db and postgresql://host/name."""

from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from wonder.storage.errors import BadDatabaseUrl

SECRET_OPTIONS = frozenset({"password", "sslpassword"})


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
        raise BadDatabaseUrl(url.replace("\x00", "\\0"), "holds the character U+0000")
    if any("\ud800" <= sign <= "\udfff" for sign in url):
        raise BadDatabaseUrl(_masked(url).encode("utf-8", "backslashreplace").decode(), "is not UTF-8")
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise BadDatabaseUrl(_masked(url), "has no scheme")
    if scheme == "sqlite":
        return _sqlite(url, rest)
    if scheme in ("postgresql", "postgres"):
        return _postgres(url)
    raise BadDatabaseUrl(_masked(url), f"has the unknown scheme {scheme!r}")


def _sqlite(url: str, rest: str) -> SqliteAddress:
    if not rest.startswith("/"):
        raise BadDatabaseUrl(url, "names a host, and an SQLite database is a file: write three slashes")
    path = rest[1:]
    if not path or path.endswith("/"):
        raise BadDatabaseUrl(url, "names no file")
    if path == ":memory:":
        raise BadDatabaseUrl(url, "asks for memory, and Wonder keeps its promises on disk")
    if "?" in path or "#" in path:
        raise BadDatabaseUrl(url, "has options, and an SQLite address takes none")
    return SqliteAddress(Path(path))


def _postgres(url: str) -> PostgresAddress:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise BadDatabaseUrl(_masked(url), f"can't be read ({error})") from None
    return PostgresAddress(url, _masked_parts(parts))


def _masked(url: str) -> str:
    try:
        return _masked_parts(urlsplit(url))
    except ValueError:
        # What can't be taken apart may hold a password anywhere.
        return url.partition("://")[0] + "://…"


def _masked_parts(parts: SplitResult) -> str:
    user, separator, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    netloc = f"{name}{':***' if colon else ''}{separator}{host}"
    options = [(key, "***" if key in SECRET_OPTIONS else value) for key, value in parse_qsl(parts.query)]
    return urlunsplit(parts._replace(netloc=netloc, query=urlencode(options, safe="/*")))
