"""The named SQL: read once from the .sql files, shared by both dialects unless one has a query of its own."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files

from wonder.storage.store import Dialect

_HEADER = re.compile(r"^-- name: *(?P<name>[a-z0-9_]+(?:\(\w+\))?)[ \t]*$", re.MULTILINE)
_TABLES = re.compile(r"^-- tables: *(?P<tables>[a-z_, ]+)$", re.MULTILINE)
# Quoted text, quoted names and comments are passed over; what is left of $1 is a parameter.
_PARAMETER = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|\$(?P<number>[0-9]+)")


class Queries:
    """All named queries of one dialect, ready to be given to its driver."""

    def __init__(self, dialect: Dialect, named: dict[str, str]) -> None:
        self.dialect = dialect
        self._named = {name: for_dialect(sql, dialect) for name, sql in named.items()}

    def __getitem__(self, name: str) -> str:
        sql = self._named.get(name)
        assert sql is not None, f"no query is named {name!r} for {self.dialect}"
        return sql

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def resolve(self, query: str) -> str:
        """Return the SQL of a batch's entry: a named query, or generated SQL, which always has a space in it."""
        return self._named.get(query) or self._generated(query)

    def _generated(self, query: str) -> str:
        assert " " in query, f"no query is named {query!r} for {self.dialect}"
        return for_dialect(query, self.dialect)


@cache
def load_queries(dialect: Dialect) -> Queries:
    """Read the shared queries, then the dialect's own, which replace shared ones of the same name."""
    room = files("wonder.storage")
    named: dict[str, str] = {}
    for place in (room / "sql", room / dialect / "sql"):
        here: dict[str, str] = {}
        for file in sorted(place.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".sql"):
                for name, sql in _parse(file.read_text("utf-8")):
                    assert name not in here, f"two queries of {dialect} are named {name!r}"
                    here[name] = sql
        named |= here
    return Queries(dialect, named)


@lru_cache(maxsize=8192)
def for_dialect(sql: str, dialect: Dialect) -> str:
    """Write $1 as ?1 where SQLite wants it so."""
    if dialect == "postgresql":
        return sql
    return _PARAMETER.sub(lambda found: f"?{found['number']}" if found["number"] else found[0], sql)


def shifted(sql: str, by: int) -> str:
    """Count a query's parameters from a higher number on, so that it can be part of a bigger one."""
    return _PARAMETER.sub(lambda found: f"${int(found['number']) + by}" if found["number"] else found[0], sql)


def replaced(sql: str, name: str) -> str:
    """Put names in the place of a query's parameters; `{}` in the name is the parameter's number."""
    return _PARAMETER.sub(lambda found: name.format(found["number"]) if found["number"] else found[0], sql)


def _parse(text: str) -> Iterator[tuple[str, str]]:
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    for header, end in zip(headers, ends, strict=True):
        body = text[header.end() : end]
        tables = _TABLES.search(body)
        sql = "\n".join(line for line in body.splitlines() if line and not line.startswith("--")).rstrip(";\n ")
        if tables is None:
            yield header["name"], sql
            continue
        # The same question asked of tables that share these columns: one text, one query per table.
        for table in re.split(r"[ ,]+", tables["tables"].strip()):
            yield f"{header['name']}({table})", sql.replace("{table}", table)
