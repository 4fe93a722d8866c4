"""Schemas taken apart: several that hold together become branches, each of one kind of value, without alternatives."""

from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from wonder.language.schemas.equality import key_of, type_of
from wonder.language.schemas.explain import fits
from wonder.language.schemas.limits import listed, named, number
from wonder.language.schemas.positions import Schema, as_schema
from wonder.language.schemas.references import References
from wonder.language.schemas.regexes import pattern_matches
from wonder.language.values import JsonValue

# Beyond this many branches the alternatives that are left stay together, and less can be said about them.
BRANCHES = 64
# A number with a fraction and one without are different kinds; JSON Schema's `number` is both.
KINDS = frozenset({"array", "boolean", "fraction", "integer", "null", "object", "string"})


class Node(NamedTuple):
    """A schema, the references that it may use, and whether it is taken as a declaration (see `assignable`).

    `chosen` tells that one of its alternatives stands beside it, so that they need not be tried again.
    """

    schema: Schema
    references: References
    declared: bool = False
    chosen: bool = False

    def below(self, schema: JsonValue) -> "Node":
        return Node(self.references.meant(as_schema(schema)), self.references, self.declared)

    def may_admit(self, value: JsonValue) -> bool:
        return fits(self.references, self.schema, value) is not False

    def admits(self, value: JsonValue) -> bool:
        return fits(self.references, self.schema, value) is True


# Nodes that all hold for the same value.
Bundle: TypeAlias = tuple[Node, ...]
BundleKey: TypeAlias = frozenset[tuple[int, bool, bool]]


class Branch(Struct, frozen=True):
    """Values of one kind that fit all parts; a part's references and chosen alternatives are parts themselves."""

    kind: str
    parts: Bundle
    # All values there are, when that is known.
    values: tuple[JsonValue, ...] | None

    def bundle(self) -> Bundle:
        """Give the parts together with what they do not say: of which kind the values are."""
        return (*self.parts, _OF_KIND[self.kind])

    def schemas(self) -> Iterator[dict[str, JsonValue]]:
        return (part.schema for part in self.parts if isinstance(part.schema, dict))

    def least(self, keyword: str) -> float:
        return max((number(schema[keyword]) for schema in self.schemas() if keyword in schema), default=-inf)

    def most(self, keyword: str) -> float:
        return min((number(schema[keyword]) for schema in self.schemas() if keyword in schema), default=inf)

    def required(self) -> list[str]:
        return list(dict.fromkeys(str(name) for schema in self.schemas() for name in listed(schema, "required")))

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for schema in self.schemas() for name in named(schema, "properties")))

    def property(self, name: str) -> Bundle:
        """Give the nodes that hold for a property."""
        found = [part.below(schema) for part in self.parts for schema in _for_property(part.schema, name)]
        return (*found, Node(False, self.parts[0].references)) if self._is_unlisted(name) else tuple(found)

    def other_properties(self, *, matches_none: bool = False) -> Bundle:
        """Give the nodes that hold for a property with a name that no schema lists, and matches no pattern if told."""
        found = [
            part.below(part.schema["additionalProperties"])
            for part in self.parts
            if isinstance(part.schema, dict)
            and "additionalProperties" in part.schema
            and (matches_none or not named(part.schema, "patternProperties"))
        ]
        return (*found, Node(False, self.parts[0].references)) if self._is_unlisted(None) else tuple(found)

    def by_pattern(self) -> Iterator[tuple[str, Bundle]]:
        """Give the patterns of names, each with what holds for the properties that match it."""
        for part in self.parts:
            if isinstance(part.schema, dict):
                for pattern, schema in named(part.schema, "patternProperties").items():
                    yield pattern, (part.below(schema),)

    def by_values_of(self, name: str, most: int) -> list["Branch"]:
        """Take the branch apart by the values of a property that has some, at most so many; empty if it has not."""
        if len(inner := branches(self.property(name))) > most or any(one.values is None for one in inner):
            return []
        values = [value for one in inner for value in one.values or ()]
        if not 1 < len(values) <= most:
            return []
        nodes = [Node({"properties": {name: {"const": value}}}, References(True)) for value in values]
        return [replace(self, parts=(*self.parts, node)) for node in nodes]

    def says_nothing(self) -> bool:
        """Say whether nothing is told of any property, not even of those with other names."""
        return not self.names() and all(node.schema is True or node.schema == {} for node in self.other_properties())

    def element(self, index: int) -> Bundle:
        """Give the nodes that hold for an element of a list."""
        return tuple(part.below(schema) for part in self.parts for schema in _for_element(part.schema, index))

    def elements_told_apart(self) -> int:
        """Give the number of first elements that have schemas of their own."""
        return max((len(listed(schema, "prefixItems")) for schema in self.schemas()), default=0)

    def items_max(self) -> float:
        """Give how many elements a list has at most; a tuple that allows no others has as many as it lists."""
        closed = [len(listed(schema, "prefixItems")) for schema in self.schemas() if schema.get("items") is False]
        return min([self.most("maxItems"), *closed])

    def _is_unlisted(self, name: str | None) -> bool:
        """Say whether a name is missing from a source that lists names, which then counts as not being there."""
        told = [part.schema for part in self.parts if part.declared and isinstance(part.schema, dict)]
        if not any(schema.get("properties") for schema in told):
            return False
        if any(keyword in schema for schema in told for keyword in _MAY_TELL_MORE):
            return False
        return not any(name in named(schema, "properties") or name in listed(schema, "required") for schema in told)


_MAY_TELL_MORE = (
    "additionalProperties",
    "anyOf",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "oneOf",
    "patternProperties",
    "unevaluatedProperties",
)


def bundle_key(bundle: Bundle) -> BundleKey:
    """Give what two bundles share that say the same, as long as their schemas live."""
    return frozenset((id(node.schema), node.declared, node.chosen) for node in bundle)


def branches(bundle: Bundle) -> list[Branch]:
    """Take nodes that hold together apart; no branch means that no value fits them all."""
    found: list[Branch] = []
    for parts, kinds in _expand(list(bundle), (), KINDS, [BRANCHES]):
        values = _listed_values(parts)
        if values is not None:
            fitting = [value for value in values if all(node.may_admit(value) for node in bundle)]
            found.extend(_by_kind(fitting, parts))
            continue
        for kind in sorted(kinds):
            known = _VALUES_OF.get(kind)
            if known is not None:
                known = tuple(value for value in known if all(node.may_admit(value) for node in bundle))
            if known != ():
                found.append(Branch(kind, parts, known))
    return found


def kind_of(value: JsonValue) -> str:
    """Name the kind of a value."""
    own = type_of(value)
    return "fraction" if own == "number" else own


def kinds_of(schema: dict[str, JsonValue]) -> frozenset[str]:
    """Give the kinds of value that `type` lets through, in this schema or in its `not`."""
    kinds = _named_kinds(schema.get("type"))
    refused = schema.get("not")
    if isinstance(refused, dict) and refused.keys() == {"type"}:
        kinds -= _named_kinds(refused["type"])
    return kinds


def _named_kinds(held: JsonValue) -> frozenset[str]:
    if held is None:
        return KINDS
    types = held if isinstance(held, list) else [held]
    return frozenset(
        kind for kind in KINDS if any(kind == name or (name == "number" and kind in _NUMBERS) for name in types)
    )


_NUMBERS = ("fraction", "integer")
_OF_KIND = {kind: Node({"type": kind}, References(True)) for kind in KINDS - {"fraction"}} | {
    "fraction": Node({"type": "number", "not": {"type": "integer"}}, References(True))
}
_VALUES_OF: dict[str, tuple[JsonValue, ...]] = {"null": (None,), "boolean": (False, True)}


def _by_kind(values: Iterable[JsonValue], parts: Bundle) -> Iterator[Branch]:
    grouped: dict[str, dict[object, JsonValue]] = {}
    for value in values:
        grouped.setdefault(kind_of(value), {})[key_of(value)] = value
    for kind, different in grouped.items():
        yield Branch(kind, parts, tuple(different.values()))


def _listed_values(parts: Bundle) -> list[JsonValue] | None:
    for part in parts:
        if isinstance(part.schema, dict) and "const" in part.schema:
            return [part.schema["const"]]
    for part in parts:
        if isinstance(part.schema, dict) and "enum" in part.schema:
            return listed(part.schema, "enum")
    return None


def _expand(
    waiting: list[Node], parts: Bundle, kinds: frozenset[str], left: list[int]
) -> Iterator[tuple[Bundle, frozenset[str]]]:
    """Follow references and `allOf`, then choose among alternatives; `left` counts the branches still allowed."""
    choices: list[tuple[Node, list[Node]]] = []
    seen = {id(part.schema) for part in parts}
    added: list[Node] = []
    while waiting:
        node = waiting.pop()
        if node.schema is False:
            return
        if not isinstance(node.schema, dict) or id(node.schema) in seen:
            continue
        seen.add(id(node.schema))
        kinds &= kinds_of(node.schema)
        added.append(node)
        waiting.extend(map(node.below, [*listed(node.schema, "allOf"), *node.references.targets(node.schema)]))
        if not node.chosen:
            alternatives = [listed(node.schema, keyword) for keyword in ("anyOf", "oneOf") if keyword in node.schema]
            choices.extend((node, [node.below(schema) for schema in schemas]) for schemas in alternatives)
    if kinds:
        yield from _choose(choices, (*parts, *added), kinds, left)


def _choose(
    choices: list[tuple[Node, list[Node]]], parts: Bundle, kinds: frozenset[str], left: list[int]
) -> Iterator[tuple[Bundle, frozenset[str]]]:
    if not choices or left[0] < len(choices[0][1]):
        left[0] -= 1
        yield parts, kinds
        return
    (chooser, alternatives), *others = choices
    # One that has `anyOf` and `oneOf` is done with only after both.
    done = all(node is not chooser for node, _ in others)
    settled = tuple(part._replace(chosen=True) if part is chooser and done else part for part in parts)
    for alternative in alternatives:
        for more_parts, fewer_kinds in _expand([alternative], settled, kinds, left):
            yield from _choose(others, more_parts, fewer_kinds, left)


def _for_property(schema: Schema, name: str) -> list[JsonValue]:
    if not isinstance(schema, dict):
        return []
    properties = named(schema, "properties")
    found = [properties[name]] if name in properties else []
    found += [part for pattern, part in named(schema, "patternProperties").items() if pattern_matches(pattern, name)]
    return found or ([schema["additionalProperties"]] if "additionalProperties" in schema else [])


def _for_element(schema: Schema, index: int) -> list[JsonValue]:
    if not isinstance(schema, dict):
        return []
    first = listed(schema, "prefixItems")
    if index < len(first):
        return [first[index]]
    return [schema["items"]] if "items" in schema else []
