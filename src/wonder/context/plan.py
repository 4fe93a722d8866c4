"""The plan: how the contexts of one definition version are kept in SQL, made once and used by all its runs.

It makes SQL text and rows of parameters and runs none of it. Parameters are `$1`, `$2` and so on, in both dialects.
"""
# ruff: noqa: S608  # this room writes SQL: every identifier in it is quoted, every value a parameter

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from wonder.context.columns import RUN_ID, Dialect
from wonder.context.ddl import create_table, create_view, drop_view, view_columns
from wonder.context.layout import lay_out
from wonder.context.names import quote
from wonder.context.reading import read_contexts
from wonder.context.rows import Changed, Sink, Writes
from wonder.context.tables import Table
from wonder.language.values import JsonValue

# Kept with the tables of a version: a change of how schemas are laid out must still read the older layouts.
LAYOUT_FORMAT: Final = 1
SHARED_LAYOUT_FORMAT: Final = 2

Context: TypeAlias = dict[str, JsonValue]
_Tree: TypeAlias = dict[str | int, "_Tree | None"]

_EVERY_RUN: Final[dict[Dialect, str]] = {
    "sqlite": 'IN (SELECT "value" FROM json_each($1))',
    # As a subquery, PostgreSQL takes them for many and reads the whole table.
    "postgresql": "= ANY (ARRAY(SELECT json_array_elements_text($1::json)))",
}


def plan_context(
    prefix: str,
    *,
    input_schema: JsonValue = True,
    context_schema: JsonValue = True,
    output_schema: JsonValue = True,
    shared: bool = False,
) -> "ContextPlan":
    """Plan the tables for contexts of these schemas; the prefix names them and must be this version's alone.

    Where they are shared with other definitions, they are named by how many columns of which type they have.
    """
    # State first: where columns run out, the part that is written most keeps them. The input never changes, so a list
    # in it would gain nothing from rows of its own, and would make every start of a run cost as many rows.
    roots = {"state": context_schema, "output": output_schema, "input": input_schema}
    return ContextPlan(lay_out(prefix, roots, lists_as_json=frozenset({"input"}), shared=shared))


def table_prefix(workflow_def_id: str, version: int) -> str:
    """Name the tables of a definition version."""
    return f"context_{workflow_def_id.lower()}_{version}"


def changed_paths(paths: Iterable[Sequence[str | int]]) -> Changed:
    """Make a tree of the places that may have changed, such as `("state", "lines", 3)`; it can be used again."""
    tree: _Tree = {}
    for path in paths:
        if not path:
            return None
        *steps, last = path
        place = tree
        for step in steps:
            below = place.setdefault(step, {})
            if below is None:
                break  # another path says that all of this may have changed
            place = below
        else:
            place[last] = None
    return tree


class ContextPlan:
    """The tables of one definition version, and all that is done with them."""

    def __init__(self, main: Table) -> None:
        self._main = main
        self.tables = tuple(main.descendants())
        self._deletes = [f"DELETE FROM {quote(table.name)} WHERE {quote(RUN_ID)} = $1" for table in self.tables]

    def ddl(self, dialect: Dialect) -> list[str]:
        """The statements that make the tables; to run them again is harmless."""
        return [create_table(table, dialect) for table in self.tables]

    def view(self, dialect: Dialect, name: str, of: tuple[str, int]) -> list[str]:
        """The statements that make, or replace, a view of the contexts for people: a row per run, lists as JSON."""
        return [drop_view(name), create_view(self._main, dialect, name, of)]

    def drop_view(self, name: str) -> str:
        """The statement that removes the view if it is there."""
        return drop_view(name)

    def temporary_view(self, dialect: Dialect, name: str, of: tuple[str, int]) -> str:
        """The statement that makes the same view for one connection, and changes nothing in the database."""
        return create_view(self._main, dialect, name, of, temporary=True)

    def view_columns(self) -> list[str]:
        """The names of the view's columns."""
        return view_columns(self._main)

    def insert(self, run_id: str, context: Context) -> Writes:
        """The writes that store the context of a new run."""
        sink: Sink = {}
        self._main.insert((run_id,), context, sink)
        return list(sink.items())

    def changes(self, run_id: str, old: Context, new: Context, changed: Changed = None) -> Writes:
        """The fewest writes that turn a run's stored context from the old into the new one.

        All differences lie at or below the changed places; without any given, everything is compared. Parts that both
        contexts share, the same object in memory, are not looked into.
        """
        sink: Sink = {}
        self._main.compare((run_id,), old, new, changed, sink)
        return list(sink.items())

    def delete(self, run_id: str) -> Writes:
        """The writes that remove a run's context."""
        return [(statement, [(run_id,)]) for statement in self._deletes]

    def select(self) -> list[str]:
        """The queries, one per table, that fetch what read needs of one run; $1 is its id."""
        return [self._select(table, "= $1") for table in self.tables]

    def select_many(self, dialect: Dialect) -> list[str]:
        """The queries, one per table, that fetch what read needs of many runs; $1 is a JSON list of their ids."""
        return [self._select(table, _EVERY_RUN[dialect]) for table in self.tables]

    def read(self, answers: Sequence[Sequence[Sequence[Any]]]) -> dict[str, Context]:
        """Put the contexts together, by run id, out of the rows of those queries, taken in one transaction."""
        return read_contexts(self._main, answers)

    def _select(self, table: Table, which: str) -> str:
        order = ", ".join(map(quote, table.key))
        return f"SELECT {table.listed} FROM {quote(table.name)} WHERE {quote(RUN_ID)} {which} ORDER BY {order}"
