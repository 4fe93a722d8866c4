"""The structure of a database as sorted lines of text, to compare two of them."""

import re

from wonder.storage.store import Dialect, Reader

POSTGRES = """
SELECT 'table ' || relname || ' column ' || attname || ' ' || format_type(atttypid, atttypmod)
    || CASE WHEN attnotnull THEN ' not null' ELSE '' END
    || coalesce(' default ' || pg_get_expr(adbin, adrelid), '') || ' ' || coalesce(collname, '')
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
LEFT JOIN pg_collation ON pg_collation.oid = attcollation
WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped AND relnamespace = current_schema()::regnamespace
UNION ALL
SELECT 'table ' || conrelid::regclass || ' constraint ' || pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
UNION ALL
SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = current_schema()
UNION ALL
SELECT 'view ' || viewname || ' ' || definition FROM pg_views WHERE schemaname = current_schema()
"""


async def describe(reader: Reader, dialect: Dialect) -> list[str]:
    """Describe all tables, columns, constraints, indexes and views."""
    if dialect == "postgresql":
        return sorted(str(line) for (line,) in await reader.query(POSTGRES))
    lines = []
    tables = await reader.query("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    for name, sql in tables:
        lines += await _describe_table(reader, str(name))
        lines += [f"table {name} check {check}" for check in _checks(str(sql))]
        lines += [f"table {name} strict {str(sql).rstrip().endswith('STRICT')}"]
    for name, sql in await reader.query("SELECT name, sql FROM sqlite_schema WHERE type = 'view'"):
        lines.append(f"view {name} {sql}")
    return sorted(lines)


async def _describe_table(reader: Reader, name: str) -> list[str]:
    lines = []
    columns = 'SELECT name, type, "notnull", dflt_value, pk, hidden FROM pragma_table_xinfo($1)'
    lines += [f"table {name} column {row}" for row in await reader.query(columns, name)]
    keys = 'SELECT "table", "from", "to", on_update, on_delete, seq FROM pragma_foreign_key_list($1)'
    lines += [f"table {name} key {row}" for row in await reader.query(keys, name)]
    indexes = 'SELECT name, "unique", origin, partial FROM pragma_index_list($1)'
    for index, *rest in await reader.query(indexes, name):
        parts = await reader.query('SELECT name, "desc", coll, key FROM pragma_index_xinfo($1) ORDER BY seqno', index)
        where = await reader.query("SELECT sql FROM sqlite_schema WHERE name = $1", index)
        condition = re.search(r"WHERE.*", str(where[0][0])) if where else None
        own = "" if str(index).startswith("sqlite_") else index
        lines.append(f"table {name} index {own} {rest} {parts} {condition[0] if condition else ''}")
    return lines


def _checks(sql: str) -> list[str]:
    found = []
    for match in re.finditer(r"CHECK \(", sql):
        depth, end = 1, match.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(sql[end], 0)
            end += 1
        found.append(sql[match.end() : end - 1])
    return found


async def columns_of(reader: Reader, dialect: Dialect, table: str) -> set[str]:
    """Name the columns of one table."""
    if dialect == "sqlite":
        rows = await reader.query("SELECT name FROM pragma_table_xinfo($1)", table)
    else:
        columns = "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()"
        rows = await reader.query(f"{columns} AND table_name = $1", table)
    return {str(name) for (name,) in rows}
