"""Layouts: which columns and child tables the context of a definition has, worked out from its schemas (CTX-2).

The layouts as they are on disk: state, output and input share the first table in this order, members of an object come
in the order of their names, each list has a table below, and what has no column is in `_rest`. In the second format
definitions share tables: each is called after its depth and its numbers of columns, which are called after their types.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import unquote

OWN, SHARED = 1, 2
_COLUMNS_MAX: Final = 250
_TABLES_MAX: Final = 50
_LISTS_DEEP: Final = 5
_OBJECTS_DEEP: Final = 20
_REFS_MAX: Final = 64
_CHOICES_MAX: Final = 64
_CHOICES_DEEP: Final = 16
_NAME_BYTES: Final = 63
_SCALARS: Final = ("integer", "number", "boolean", "string")
_SHARED_AS: Final = {"integer": "integer", "boolean": "integer", "number": "real", "string": "text", "open": "text"}

Refs = frozenset[str]


@dataclass(slots=True)
class Spot:
    """One spot of a row's value: a column, an object of further spots, or a list with a table."""

    kind: Literal["integer", "number", "boolean", "string", "open", "object", "list"]
    always: bool
    column: int = 0
    members: dict[str, "Spot"] = field(default_factory=dict)


@dataclass(slots=True)
class Table:
    """A table: a row per run, or per element of the list that stands at `path` in the row around it."""

    name: str
    path: tuple[str, ...]
    words: tuple[str, ...]
    depth: int
    kinds: list[str] = field(default_factory=list)
    """What its columns hold."""
    columns: list[str] = field(default_factory=list)
    """What they are called in a shared table."""
    root: Spot = field(default_factory=lambda: Spot("object", True))
    lists: list["Table"] = field(default_factory=list)

    def all(self) -> list["Table"]:
        """Give this table and all below it."""
        return [self, *[found for inner in self.lists for found in inner.all()]]


def lay_out(definition_id: str, version: int, schemas: dict[str, Any], format: int = OWN) -> Table:
    """Give the tables of a definition."""
    names: set[str] = set()
    prefix = f"context_{definition_id.lower()}_{version}"
    main = Table(_give(names, (prefix,)), (), (), 0)
    for root in ("state", "output", "input"):
        layout = _Layout(schemas[root], prefix, names, root != "input")
        spot = layout.spot(schemas[root], (root,), main, frozenset({"#"}), True)
        if spot is not None:
            main.root.members[root] = spot
    if format == SHARED:
        _share(main)
    return main


def _share(main: Table) -> None:
    """Name tables and columns as they are called where definitions share them."""
    taken: set[str] = set()
    for table in main.all():
        used: Counter[str] = Counter()
        for kind in table.kinds:
            used[_SHARED_AS[kind]] += 1
            table.columns.append(f"{_SHARED_AS[kind]}_{used[_SHARED_AS[kind]]}")
        sizes = [_room(used[word]) for word in ("integer", "real", "text")]
        table.name = _give(taken, ("contexts", str(table.depth), *map(str, sizes)))


def _room(used: int) -> int:
    room = 4
    while room < used:
        room *= 2
    return room if used else 0


def _give(taken: set[str], words: tuple[str, ...]) -> str:
    plain = "_".join(re.sub(r"\W+", "_", word[:_NAME_BYTES].lower()) for word in words) or "_"
    name, number = _cut(plain, _NAME_BYTES), 2
    while name in taken:
        name = _cut(plain, _NAME_BYTES - len(f"_{number}")) + f"_{number}"
        number += 1
    taken.add(name)
    return name


def _cut(name: str, size: int) -> str:
    return name.encode()[:size].decode(errors="ignore")


@dataclass
class _Layout:
    document: Any
    prefix: str
    names: set[str]
    lists: bool

    def spot(self, schema: Any, path: tuple[str, ...], table: Table, refs: Refs, always: bool) -> Spot | None:
        if len(table.kinds) >= _COLUMNS_MAX:
            return None
        kind, inner, refs = self.form(schema, refs, 0)
        if kind in _SCALARS:
            return self._column(kind, table, always)
        if kind == "object" and len(path) < _OBJECTS_DEEP:
            return self._object(inner, path, table, refs, always)
        if kind == "array" and self.lists and table.depth < _LISTS_DEEP and len(self.names) < _TABLES_MAX:
            self._list(inner, path, table, refs)
            return Spot("list", always)
        return self._column("open", table, always)

    def _column(self, kind: Any, table: Table, always: bool) -> Spot:
        table.kinds.append(kind)
        return Spot(kind, always, len(table.kinds) - 1)

    def _object(self, inner: Any, path: tuple[str, ...], table: Table, refs: Refs, always: bool) -> Spot | None:
        members: dict[str, Spot] = {}
        for name in sorted(inner):
            member = self.spot(inner[name], (*path, name), table, refs, False)
            if member is None:
                break
            members[name] = member
        return Spot("object", always, members=members) if members or always else None

    def _list(self, items: Any, path: tuple[str, ...], around: Table, refs: Refs) -> None:
        words = (*around.words, *(path or ("items",)))
        table = Table(_give(self.names, (self.prefix, *words)), path, words, around.depth + 1)
        table.root = self.spot(items, (), table, refs, True) or table.root
        around.lists.append(table)

    def form(self, schema: Any, refs: Refs, deep: int) -> tuple[str, Any, Refs]:
        """Say how a schema's values are stored: a scalar's type, `object` or `array` with what is inside, or `open`."""
        while isinstance(schema, dict) and isinstance(ref := schema.get("$ref"), str):
            if ref in refs or len(refs) == _REFS_MAX:
                return "open", None, refs
            refs |= {ref}
            schema = self._resolve(ref)
        if not isinstance(schema, dict) or deep > _CHOICES_DEEP:
            return "open", None, refs
        types = _types(schema)
        if types is None:
            return self._choice(schema, refs, deep)
        if len(types) != 1:
            return "open", None, refs
        (only,) = types
        properties, items = schema.get("properties"), schema.get("items", True)
        if only == "object" and isinstance(properties, dict) and properties:
            return "object", properties, refs
        if only == "array" and "prefixItems" not in schema and not isinstance(items, list):
            return "array", items, refs
        return (only if only in _SCALARS else "open"), None, refs

    def _choice(self, schema: dict[str, Any], refs: Refs, deep: int) -> tuple[str, Any, Refs]:
        choices = next((schema[word] for word in ("anyOf", "oneOf", "allOf") if word in schema), None)
        if not isinstance(choices, list):
            return "open", None, refs
        choices = [c for c in choices if not (isinstance(c, dict) and c.get("type") == "null")]
        if not choices or len(choices) > (1 if deep else _CHOICES_MAX):
            return "open", None, refs
        forms = [self.form(choice, refs, deep + 1) for choice in choices]
        if len(forms) > 1 and (forms[0][0] not in _SCALARS or any(form[0] != forms[0][0] for form in forms)):
            return "open", None, refs
        return forms[0]

    def _resolve(self, ref: str) -> Any:
        if ref != "#" and not ref.startswith("#/"):
            return True
        found = self.document
        for segment in unquote(ref).split("/")[1:]:
            segment = segment.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and segment in found:
                found = found[segment]
            elif isinstance(found, list) and segment.isdecimal() and len(segment) < 6 and int(segment) < len(found):
                found = found[int(segment)]
            else:
                return True
        return found


def _types(schema: dict[str, Any]) -> set[str] | None:
    """Give the types, apart from null, that a schema says; None where it says none."""
    if isinstance(schema.get("type"), str):
        return {schema["type"]}
    if isinstance(schema.get("type"), list):
        types = {name for name in schema["type"] if isinstance(name, str)} - {"null"}
    elif isinstance(schema.get("properties"), dict):
        return {"object"}
    elif "items" in schema:
        return {"array"}
    elif "const" in schema:
        types = {_type_of(schema["const"])} - {"null"}
    elif isinstance(schema.get("enum"), list):
        types = {_type_of(value) for value in schema["enum"]} - {"null"}
    else:
        return None
    return {"number"} if types == {"integer", "number"} else types


def _type_of(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return names.get(type(value), "object")
