"""References inside one schema: finding what `#/$defs/name` or `#anchor` points at, and cutting a part out whole."""

from functools import cached_property
from urllib.parse import quote, unquote

from wonder.language.schemas.equality import Key, key_of
from wonder.language.schemas.names import closest
from wonder.language.schemas.positions import REFERENCES, Path, Schema, all_positions, as_schema, with_subschemas
from wonder.language.values import JsonValue

_ANCHORS = ("$anchor", "$dynamicAnchor")
_NOTHING_BUT_A_REFERENCE = frozenset({"$comment", "$defs", "$ref", "default", "definitions", "description", "title"})
# A part that is cut out leaves these behind: they name places of the whole.
_OF_THE_WHOLE = frozenset({"$anchor", "$defs", "$dynamicAnchor", "$id", "$schema", "definitions"})


class References:
    """Finds the targets of the references in one schema; nothing outside it is ever looked at."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self._choices: dict[int, frozenset[Key]] = {}

    @cached_property
    def positions(self) -> dict[Path, JsonValue]:
        """Every subschema by its path."""
        return all_positions(self.root)

    @cached_property
    def anchors(self) -> dict[str, Path]:
        """The path of every named place."""
        return {
            anchor: path
            for path, schema in self.positions.items()
            if isinstance(schema, dict)
            for keyword in _ANCHORS
            if isinstance(anchor := schema.get(keyword), str)
        }

    @cached_property
    def looks_at_leftovers(self) -> bool:
        """Whether `unevaluatedProperties` or `unevaluatedItems` stands anywhere."""
        return any(
            isinstance(schema, dict) and ("unevaluatedProperties" in schema or "unevaluatedItems" in schema)
            for schema in self.positions.values()
        )

    def choices(self, schema: dict[str, JsonValue]) -> frozenset[Key]:
        """Give the keys of the values under `enum`, of which there may be very many."""
        if id(schema) not in self._choices:
            held = schema["enum"]
            self._choices[id(schema)] = frozenset(map(key_of, held if isinstance(held, list) else []))
        return self._choices[id(schema)]

    def locate(self, reference: str) -> Path | None:
        """Give the path that a local reference points at, or None when no subschema is there."""
        fragment = unquote(reference[1:])
        if not fragment:
            return ()
        if not fragment.startswith("/"):
            return self.anchors.get(fragment)
        return self._follow([_unescape(part) for part in fragment[1:].split("/")])

    def target(self, reference: str) -> Schema | None:
        """Give the subschema that a local reference points at, or None when there is none."""
        path = self.locate(reference)
        if path is None:
            return None
        return as_schema(self.positions[path])

    def targets(self, schema: dict[str, JsonValue]) -> list[Schema]:
        """Give what the references standing in a schema point at, leaving out those that point at nothing."""
        if "$ref" not in schema and "$dynamicRef" not in schema:
            return []
        found = [self.target(str(held)) for keyword in REFERENCES if is_local(held := schema.get(keyword))]
        return [target for target in found if target is not None]

    def meant(self, schema: Schema) -> Schema:
        """Follow a schema that is nothing but a reference to what it means."""
        seen: set[int] = set()
        while isinstance(schema, dict) and id(schema) not in seen and not schema.keys() - _NOTHING_BUT_A_REFERENCE:
            seen.add(id(schema))
            targets = self.targets(schema)
            if len(targets) != 1:
                break
            schema = targets[0]
        return schema

    def _follow(self, parts: list[str]) -> Path | None:
        path: list[str | int] = []
        here: JsonValue = self.root
        for part in parts:
            if isinstance(here, dict) and part in here:
                path.append(part)
                here = here[part]
            elif isinstance(here, list) and (index := _index(part, len(here))) is not None:
                path.append(index)
                here = here[index]
            else:
                return None
        # What stands in `enum` or `const` is a value: nobody has checked it as a schema.
        return tuple(path) if tuple(path) in self.positions else None


def is_local(reference: object) -> bool:
    """Say whether a reference points into the schema that it stands in."""
    return isinstance(reference, str) and reference.startswith("#")


def pointer(path: Path) -> str:
    """Write a path as a reference: `#/properties/a~1b`."""
    return "#" + "".join("/" + quote(str(part).replace("~", "~0").replace("/", "~1"), safe="~$") for part in path)


def closest_place(references: References, reference: str) -> str | None:
    """Give the reference that was probably meant, for one that points at nothing."""
    named = [path for path in references.positions if path[:-1] in (("$defs",), ("definitions",))]
    places = [pointer(path) for path in named] + ["#" + anchor for anchor in references.anchors]
    return closest(reference, places)


def cut_out(references: References, schema: Schema) -> Schema:
    """Copy a part of a schema so that it stands alone: what it refers to comes along under `$defs`."""
    if isinstance(schema, bool) or not refers(schema):
        return schema
    names: dict[Path, str] = {}
    whole = _renamed(schema, references, names)
    assert isinstance(whole, dict)
    definitions: dict[str, JsonValue] = {}
    while len(definitions) < len(names):
        path, name = list(names.items())[len(definitions)]
        definitions[name] = _renamed(references.positions[path], references, names)
    whole["$defs"] = definitions
    return whole


def refers(schema: Schema) -> bool:
    """Say whether a reference stands anywhere in a schema."""
    return any(
        keyword in part for part in all_positions(schema).values() if isinstance(part, dict) for keyword in REFERENCES
    )


def _renamed(schema: JsonValue, references: References, names: dict[Path, str]) -> JsonValue:
    """Copy a subschema with its references rewritten, noting in `names` every target that is to come along."""
    if not isinstance(schema, dict):
        return schema
    kept = {keyword: held for keyword, held in schema.items() if keyword not in _OF_THE_WHOLE}
    copy = with_subschemas(kept, lambda part: _renamed(part, references, names))
    for keyword in REFERENCES:
        if is_local(held := copy.pop(keyword, None)) and (path := references.locate(str(held))) is not None:
            copy[keyword] = pointer(("$defs", names.setdefault(path, _free_name(path, names))))
    return copy


def _free_name(path: Path, names: dict[Path, str]) -> str:
    wanted = str(path[-1]) if path else "root"
    taken = set(names.values())
    return wanted if wanted not in taken else f"{wanted}_{len(taken)}"


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def _index(part: str, length: int) -> int | None:
    """Read an array index as JSON Pointer writes it, without leading zeros."""
    if len(part) < 9 and part.isascii() and part.isdecimal() and str(int(part)) == part and int(part) < length:
        return int(part)
    return None
