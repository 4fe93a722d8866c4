"""Layout: which columns and child tables a JSON Schema gets, within what both databases can hold (CTX-2)."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from wonder.context.columns import REST, RUN_ID, Column, ColumnKind
from wonder.context.fields import ListField, ObjectField, OpenField, ScalarField
from wonder.context.forms import ArrayForm, ObjectForm, ScalarForm, form_of
from wonder.context.names import Names
from wonder.context.rows import Field
from wonder.context.scalars import SCALARS
from wonder.context.shared import all_columns, shared_columns, shared_name
from wonder.context.tables import Table, position_names
from wonder.language.values import JsonValue

# PostgreSQL keeps a row within a page of 8 kB, where even a text moved out of line takes up to 24 bytes; its limit of
# 1,600 columns and SQLite's of 2,000 are further away. What has no column is kept in the row's rest.
MAX_COLUMNS: Final = 250
MAX_TABLES: Final = 50
MAX_LISTS_DEEP: Final = 5
MAX_OBJECTS_DEEP: Final = 20


def lay_out(
    prefix: str, roots: Mapping[str, JsonValue], *, lists_as_json: frozenset[str], shared: bool = False
) -> Table:
    """Lay out one row for the named roots together, with child tables for the lists in them.

    The roots named first get columns first. Whatever the order of an object's properties, equal schemas give equal
    tables. Where they are shared, only what they and their columns are called is different.
    """
    names = Names()
    draft = _Draft(names.give(prefix), (), (), 0, Names() if shared else None)
    members: dict[str, Field] = {}
    for name, schema in roots.items():
        layout = _Layout(schema, prefix, names, lists=name not in lists_as_json)
        root = layout.field(schema, (name,), draft, frozenset({"#"}), always=True)
        if root is not None:
            members[name] = root
    return draft.finish(ObjectField(members, always=True))


class _Draft:
    """A table in the making."""

    def __init__(
        self, name: str, words: tuple[str, ...], path: tuple[str, ...], depth: int, shared: Names | None
    ) -> None:
        self.name, self.words, self.path, self.depth = name, words, path, depth
        # The names of the shared tables that the definition has so far; None where its tables are its own.
        self.shared = shared
        self.columns: list[Column] = []
        self.lists: list[Table] = []
        self._names = Names([RUN_ID, REST, *position_names(depth)])

    @property
    def is_full(self) -> bool:
        return len(self.columns) >= MAX_COLUMNS

    def add(self, path: tuple[str, ...], kind: ColumnKind) -> int:
        name = self._names.give(*(path or ("value",)))
        self.columns.append(Column(name, kind, path, name))
        return len(self.columns) - 1

    def finish(self, root: Field) -> Table:
        if self.shared is None:
            return Table(self.name, self.path, self.depth, self.columns, root, self.lists)
        name, columns = shared_name(self.shared, self.depth, self.columns), shared_columns(self.columns)
        return Table(name, self.path, self.depth, columns, root, self.lists, made_of=all_columns(columns))


class _Layout(Struct):
    """The way through one root's schema."""

    document: JsonValue
    prefix: str
    tables: Names
    lists: bool

    def field(
        self, schema: JsonValue, path: tuple[str, ...], draft: _Draft, refs: frozenset[str], *, always: bool
    ) -> Field | None:
        """Lay out one spot of a row; None when the row is full, and the spot is left to its rest."""
        # Stop here for lists and objects too: this bounds the work on a schema that doubles at every ref.
        if draft.is_full:
            return None
        form, refs = form_of(schema, self.document, refs)
        match form:
            case ScalarForm(kind):
                return ScalarField(draft.add(path, kind), SCALARS[kind], always=always)
            case ObjectForm(properties) if len(path) < MAX_OBJECTS_DEEP:
                return self._object(properties, path, draft, refs, always=always)
            case ArrayForm(items) if self.lists and draft.depth < MAX_LISTS_DEEP and len(self.tables) < MAX_TABLES:
                return ListField(self._table(items, path, draft, refs), always=always)
            case _:
                return OpenField(draft.add(path, "json"))

    def _object(
        self,
        properties: Mapping[str, JsonValue],
        path: tuple[str, ...],
        draft: _Draft,
        refs: frozenset[str],
        *,
        always: bool,
    ) -> Field | None:
        members: dict[str, Field] = {}
        # Sorted, because the order of properties may change between writing and storing a definition.
        for name in sorted(properties):
            member = self.field(properties[name], (*path, name), draft, refs, always=False)
            if member is None:
                break
            members[name] = member
        # Read back in the order in which the author wrote them.
        ordered = {name: members[name] for name in properties if name in members}
        return ObjectField(ordered, always=always) if members or always else None

    def _table(self, items: JsonValue, path: tuple[str, ...], around: _Draft, refs: frozenset[str]) -> Table:
        words = (*around.words, *(path or ("items",)))
        draft = _Draft(self.tables.give(self.prefix, *words), words, path, around.depth + 1, around.shared)
        root = self.field(items, (), draft, refs, always=True)
        assert root is not None, "an empty table has room for its first column"
        table = draft.finish(root)
        around.lists.append(table)
        return table
