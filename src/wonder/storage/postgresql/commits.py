"""How a batch is sent to PostgreSQL: a small one as one statement, long insertions as COPY, long updates as one.

Every statement of its own is a round trip, and so are the beginning and the end of a transaction: for the few rows of
a lone run that takes longer than everything else. Going row by row in turn is what takes long in a batch of many.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from wonder.storage.queries import Queries, replaced, shifted
from wonder.storage.store import Fence, Value

ROWS_MAX = 48
SHAPES_KEPT = 200
COPIED_ROWS_MIN = 64
# Of a long batch, what has no more rows than this is one statement too.
FEW_ROWS_MAX = 4
_INSERTION = re.compile(r"INSERT INTO (\S+)\s+\(([^()]+)\)\s+VALUES\s+\(([^()]+)\)")

_UPDATE = re.compile(r"(UPDATE .+?\sSET\s.+?)(\sWHERE\s.+)", re.DOTALL)

Shape = tuple[tuple[str, int], ...]
# (name or text of a query, its SQL, its rows of parameters)
Resolved = tuple[str, str, Sequence[Sequence[Value]]]


class Combined:
    """Batches as single statements; a statement is only made for a shape that has come before.

    A shape is which statements a batch has, and with how many rows. The server plans each statement once, and most
    steps of a workflow have the shape of an earlier one.
    """

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._statements: OrderedDict[Shape, str | None] = OrderedDict()

    def statement(self, batch: Sequence[Resolved], fence: Fence | None) -> tuple[str, list[Value]] | None:
        """Give one statement that writes the whole batch, with its parameters; None if that does not pay.

        It divides by zero where the fence no longer stands.
        """
        if not 0 < sum(len(rows) for _, _, rows in batch) <= ROWS_MAX:
            return None
        shape = ((fence.query if fence else "", 1), *((query, len(rows)) for query, _, rows in batch))
        known = shape in self._statements
        sql = self._statements.get(shape)
        if sql is None:
            sql = self._statements[shape] = self._write(batch, fence) if known else None
        self._statements.move_to_end(shape)
        if len(self._statements) > SHAPES_KEPT:
            self._statements.popitem(last=False)
        if sql is None:
            return None
        parameters: list[Value] = list(fence.parameters) if fence else []
        for _, _, rows in batch:
            for row in rows:
                parameters += row
        return sql, parameters

    def _write(self, batch: Sequence[Resolved], fence: Fence | None) -> str:
        parts, count, answer = [], 0, "SELECT 1"
        if fence:
            parts.append(f"fence AS MATERIALIZED ({self._queries[fence.query]})")
            count, answer = len(fence.parameters), "SELECT 1 / count(*) FROM fence"
        for _, sql, rows in batch:
            for row in rows:
                parts.append(f"write{len(parts)} AS ({shifted(sql, count)})")
                count += len(row)
        return f"WITH {', '.join(parts)} {answer}"


class Insertion(NamedTuple):
    """A statement that only inserts its parameters, one into each column."""

    table: str
    columns: list[str]


@lru_cache(maxsize=8192)
def insertion(sql: str) -> Insertion | None:
    """Take a statement apart, if it is one that COPY can stand for."""
    found = _INSERTION.fullmatch(sql)
    if not found:
        return None
    columns = re.split(r",\s*", found[2])
    if re.split(r",\s*", found[3]) != [f"${number}" for number in range(1, len(columns) + 1)]:
        return None
    return Insertion(_unquoted(found[1]), [_unquoted(column) for column in columns])


def unnested(sql: str, types: Sequence[str]) -> str | None:
    """Write an UPDATE of one row, with parameters of these types, as one of many, whose parameters are lists.

    No two of the rows that it is given may be the same row of the table.
    """
    found = _UPDATE.fullmatch(sql)
    if not found:
        return None
    lists = ", ".join(f"CAST(${number} AS {name}[])" for number, name in enumerate(types, 1))
    names = ", ".join(f"given_{number}" for number in range(1, len(types) + 1))
    changes, condition = (replaced(part, "given.given_{}") for part in found.groups())
    return f"{changes} FROM unnest({lists}) AS given ({names}){condition}"


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name
