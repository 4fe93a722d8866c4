"""DDL: the statements that make the generated tables, and a view of them for people."""
# ruff: noqa: S608  # this room writes SQL: every identifier in it is quoted, every value a parameter

from typing import Final

from wonder.context.columns import REST, RUN_ID, Column, ColumnKind, Dialect
from wonder.context.names import Names, quote, quote_text, whole_name
from wonder.context.tables import Table

_TYPES: Final[dict[Dialect, dict[ColumnKind, str]]] = {
    "sqlite": {"integer": "INTEGER", "number": "REAL", "boolean": "INTEGER", "string": "TEXT", "json": "TEXT"},
    # json keeps the text as it is, where jsonb would turn 1.0 into another number and put keys in another order.
    "postgresql": {
        "integer": "bigint",
        "number": "double precision",
        "boolean": "boolean",
        "string": "text",
        "json": "json",
    },
}
# SQLite before 3.48 takes at most 127 arguments of a function.
_MEMBERS_AT_ONCE: Final = 50


def create_table(table: Table, dialect: Dialect) -> str:
    """Write the statement that makes a table if it is not there yet."""
    types = _TYPES[dialect]
    # Compared by bytes: ids need no language's order, and it costs several times as much.
    collation = ' COLLATE "C"' if dialect == "postgresql" else ""
    run_id = f"{quote(RUN_ID)} {types['string']}{collation} NOT NULL"
    positions = [f"{quote(name)} INTEGER NOT NULL" for name in table.key[1:]]
    columns = [f"{quote(column.stored)} {types[column.kind]}" for column in table.made_of]
    rest = f"{quote(REST)} {types['json']}"
    primary_key = f"PRIMARY KEY ({', '.join(map(quote, table.key))})"
    parts = ",\n  ".join([run_id, *positions, *columns, rest, primary_key])
    # SQLite: STRICT, so that a column holds its type and no other; WITHOUT ROWID, one tree to write to instead of two.
    options = " STRICT, WITHOUT ROWID" if dialect == "sqlite" else ""
    return f"CREATE TABLE IF NOT EXISTS {quote(table.name)} (\n  {parts}\n){options}"


def create_view(table: Table, dialect: Dialect, name: str, of: tuple[str, int], *, temporary: bool = False) -> str:
    """Write the statement that makes a view with a row for each run of a definition version, and its lists as JSON.

    It is for reading by people: it does not tell null from absent, and shows leftovers apart, in `_rest`.
    """
    columns = [f"t0.{quote(column.stored)} AS {quote(column.name)}" for column in table.columns]
    lists = [f"{_list(child, table, dialect, 1)} AS {quote(title)}" for child, title in _titled_lists(table)]
    chosen = ",\n  ".join([f"t0.{quote(RUN_ID)}", *columns, *lists, f"t0.{quote(REST)}"])
    made = "CREATE TEMP VIEW" if temporary else "CREATE VIEW"
    return f"{made} {quote(whole_name(name))} AS SELECT\n  {chosen}\nFROM {_runs_of(table, of)}"


def drop_view(name: str) -> str:
    """Write the statement that removes a view if it is there."""
    return f"DROP VIEW IF EXISTS {quote(whole_name(name))}"


def view_columns(table: Table) -> list[str]:
    """Name the columns of the view."""
    lists = [title for _, title in _titled_lists(table)]
    return [RUN_ID, *[column.name for column in table.columns], *lists, REST]


def _runs_of(table: Table, of: tuple[str, int]) -> str:
    """The rows of one definition version: all of a table of its own, and in a shared one those of its runs."""
    if not table.is_shared:
        return f"{quote(table.name)} AS t0"
    id, version = of
    return (
        f"runs AS r JOIN {quote(table.name)} AS t0 ON t0.{quote(RUN_ID)} = r.id\n"
        f"WHERE r.workflow_def_id = {quote_text(id)} AND r.workflow_version = {version}"
    )


def _titled_lists(table: Table) -> list[tuple[Table, str]]:
    """The lists in a table's rows, each with a name that none of its columns has."""
    names = Names([*table.key, *[column.name for column in table.columns], REST])
    return [(child, names.give(*child.path)) for child in table.lists]


def _list(table: Table, around: Table, dialect: Dialect, level: int) -> str:
    """A subquery that gives, as JSON, the list whose elements are a table's rows; NULL when it has none."""
    joined = zip(table.key, around.key, strict=False)
    wheres = " AND ".join(f"t{level}.{quote(inner)} = t{level - 1}.{quote(outer)}" for inner, outer in joined)
    element = _element(table, dialect, level)
    order = f"ORDER BY t{level}.{quote(table.key[-1])}"
    source = f"FROM {quote(table.name)} AS t{level} WHERE {wheres}"
    if dialect == "sqlite":
        # Ordered in a subquery: SQLite before 3.44 can't read a database with an ORDER BY inside of group_concat.
        elements = f"SELECT {element} AS element {source} {order}"
        return f"(SELECT json('[' || group_concat(element, ',') || ']') FROM ({elements}))"
    return f"(SELECT ('[' || string_agg({element}, ',' {order}) || ']')::json {source})"


def _element(table: Table, dialect: Dialect, level: int) -> str:
    """An expression that gives one row of a list as the text of its JSON."""
    rest = f"t{level}.{quote(REST)}"
    match table:
        case Table(columns=[Column(path=()) as column]) if dialect == "sqlite":
            return f"coalesce({rest}, json_quote({_json(column, f't{level}', dialect)}))"
        case Table(columns=[Column(path=()) as column]):
            return f"coalesce({rest}::text, to_json(t{level}.{quote(column.stored)})::text, 'null')"
        case Table(lists=[Table(path=()) as inner]):
            as_text = "" if dialect == "sqlite" else "::text"
            return f"coalesce({rest}{as_text}, {_list(inner, table, dialect, level + 1)}{as_text}, '[]')"
        case _:
            return _object(table, dialect, level)


def _object(table: Table, dialect: Dialect, level: int) -> str:
    alias = f"t{level}"
    columns = [(column.name, _json(column, alias, dialect)) for column in table.columns]
    lists = [(title, _list(child, table, dialect, level + 1)) for child, title in _titled_lists(table)]
    rest = Column(REST, "json", (), REST)
    if dialect == "sqlite":
        # A subquery's JSON arrives as plain text, hence json() again. Patching an empty object leaves the nulls out.
        parts = [*columns, *[(title, f"json({value})") for title, value in lists], (REST, _json(rest, alias, dialect))]
        found = "'{}'"
        for first in range(0, len(parts), _MEMBERS_AT_ONCE):
            some = parts[first : first + _MEMBERS_AT_ONCE]
            pairs = ", ".join(f"{quote_text(title)}, {value}" for title, value in some)
            found = f"json_patch({found}, json_object({pairs}))"
        return found
    parts = [*columns, *lists, (REST, _json(rest, alias, dialect))]
    chosen = ", ".join(f"{value} AS {quote(title)}" for title, value in parts)
    return f"json_strip_nulls((SELECT row_to_json(r{level}) FROM (SELECT {chosen}) AS r{level}))::text"


def _json(column: Column, alias: str, dialect: Dialect) -> str:
    """A column as a value that the database's JSON functions write as the JSON it stands for."""
    value = f"{alias}.{quote(column.stored)}"
    if dialect == "sqlite" and column.kind == "boolean":
        return f"json(CASE {value} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END)"
    if dialect == "sqlite" and column.kind == "json":
        return f"json({value})"
    return value
