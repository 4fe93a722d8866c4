"""Whether every value of one schema fits another, and if not, where and why."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from msgspec import Struct

from wonder.language.schemas.branches import Branch, Bundle, BundleKey, Node, branches, bundle_key, kinds_of
from wonder.language.schemas.describe import describe
from wonder.language.schemas.differences import plain_differences
from wonder.language.schemas.disjointness import Emptiness
from wonder.language.schemas.equality import key_of
from wonder.language.schemas.explain import explain
from wonder.language.schemas.limits import listed, named
from wonder.language.schemas.positions import Path, Schema
from wonder.language.schemas.references import References, cut_out, refers
from wonder.language.schemas.regexes import may_overlap
from wonder.language.schemas.samples import Samples
from wonder.language.values import JsonValue

_LEVELS = 80
_MISMATCHES = 50
_STEPS = 5_000
_VALUES = 25
_MISSING = "is always missing"
_MAY_BE_MISSING = "may be missing"


class Mismatch(Struct, frozen=True):
    """One place where values of the source need not fit the target; `"*"` in a path stands for any element.

    `certain` tells that a value of the source was found which the target refuses there. Otherwise it could not be shown
    that all fit, and not that one does not: patterns, `not` and conditions are beyond proof in general.
    """

    path: Path
    expected: Schema
    actual: Schema
    message: str
    certain: bool


def assignable(source: Schema, target: Schema, *, declared: bool = False) -> list[Mismatch]:
    """Say where a value of the source may not fit the target; empty when it is certain that all of them fit.

    With `declared` the source is read as a declaration, as TypeScript would: an object that lists `properties` has no
    others unless it says `additionalProperties` itself (CTX-5b), and what nothing is said about fits anything. Neither
    schema may have faults.
    """
    origin, aim = (_root(source, declared),), _root(target)
    sites = _Comparison(declared).sites(origin, aim, (), _LEVELS)[:_MISMATCHES]
    if not sites:
        return []
    refused: set[Path] = {
        tuple("*" if isinstance(part, int) else part for part in fault.path)
        for value in Samples().of(origin)
        for fault in explain(aim.references, aim.schema, value, faults_max=5, steps=5_000)
    }
    return [_mismatch(site, refused) for site in sites]


def disjoint(source: Schema, target: Schema, *, declared: bool = False) -> Mismatch | None:
    """Say why no value of the source can fit the target, or None when one may; `declared` as in `assignable`."""
    emptiness = Emptiness()
    origin: Bundle = (_root(source, declared),)
    aim: Bundle = (_root(target),)
    if not emptiness.is_empty(origin + aim):
        return None
    path: Path = ()
    while len(path) < _LEVELS and (blamed := _blamed_property(origin, aim, emptiness)):
        name, origin, aim = blamed
        path = (*path, name)
    site = _Site(path, origin, aim, _MISSING if path and _together(origin) is False else "other limits")
    return Mismatch(path, _together(aim), _together(origin), _message(site), True)


def _blamed_property(origin: Bundle, aim: Bundle, emptiness: Emptiness) -> tuple[str, Bundle, Bundle] | None:
    """Find the property whose two schemas already have nothing in common, when there is but one way to read both."""
    match branches(origin), branches(aim):
        case [Branch(kind="object", values=None) as left], [Branch(kind="object", values=None) as right]:
            for name in dict.fromkeys([*right.required(), *left.required()]):
                below = left.property(name), right.property(name)
                if emptiness.is_empty(below[0] + below[1]):
                    return name, *below
    return None


class _Site(Struct, frozen=True):
    """A place where a branch of the source was not shown to fit, with what the target asks for there."""

    path: Path
    origin: Bundle
    aim: Bundle
    detail: str


_Fits: TypeAlias = Callable[[Branch, list[Node], int], bool]


class _Comparison:
    def __init__(self, declared: bool) -> None:
        self.declared = declared
        # Pairs compared, or being compared: what refers back to itself fits if nothing else speaks against it.
        self.known: dict[tuple[BundleKey, int], bool] = {}
        self.steps = _STEPS
        self.emptiness = Emptiness()
        self.made: list[Branch] = []

    def sites(self, origin: Bundle, aim: Node, path: Path, levels: int) -> list[_Site]:
        """Find where values of the origin may not fit; differences of its own level are told as one."""
        if aim.schema is True or aim.schema == {} or any(_is_same(node, aim) for node in origin):
            return []
        if self.declared and all(node.schema in (True, {}) for node in origin):
            return []
        key = (bundle_key(origin), id(aim.schema))
        if self.known.get(key):
            return []
        self.steps -= 1
        if levels <= 0 or self.steps < 0 or key in self.known:
            return [_Site(path, origin, (aim,), "more than can be compared")]
        before = len(self.known)
        self.known[key] = True
        try:
            found = self._sites_of_branches(origin, aim, path, levels)
        except RecursionError:  # How much stack is left is the caller's doing.
            found = [_Site(path, origin, (aim,), "more than can be compared")]
        if found:
            # What was found to fit since then may rest on this pair having been taken to fit.
            for later in [later for later in list(self.known)[before:] if self.known[later]]:
                del self.known[later]
            self.known[key] = False
        return found

    def _sites_of_branches(self, origin: Bundle, aim: Node, path: Path, levels: int) -> list[_Site]:
        own: _Site | None = None
        found: dict[Path, _Site] = {}
        for branch in branches(origin):
            if self.emptiness.contradicts(branch):
                continue
            for site in self.branch_sites(branch, aim, path, levels):
                if site.origin is branch.parts:
                    own = own or _Site(path, origin, (aim,), site.detail)
                else:
                    found.setdefault(site.path, site)
        return [*found.values(), *([own] if own else [])]

    def fits(self, branch: Branch, aim: Node, levels: int) -> bool:
        return next(self.branch_sites(branch, aim, (), levels), None) is None

    def branch_sites(self, branch: Branch, aim: Node, path: Path, levels: int) -> Iterator[_Site]:
        """Find where values of one branch may not fit."""
        schema = aim.schema
        if branch.values is not None:
            if not all(aim.admits(value) for value in branch.values):
                yield _Site(path, branch.parts, (aim,), "")
            return
        if schema is True or any(_is_same(node, aim) for node in branch.parts):
            return
        if schema is False or branch.kind not in kinds_of(schema) or "const" in schema or "enum" in schema:
            yield _Site(path, branch.parts, (aim,), "")
            return
        self.steps -= 1
        if levels <= 0 or self.steps < 0:
            yield _Site(path, branch.parts, (aim,), "more than can be compared")
            return
        for detail in plain_differences(branch, aim, self.emptiness):
            yield _Site(path, branch.parts, (aim,), detail)
        if branch.kind == "object":
            yield from self._property_sites(branch, aim, path, levels)
        elif branch.kind == "array":
            yield from self._element_sites(branch, aim, path, levels)
        for part in [*listed(schema, "allOf"), *aim.references.targets(schema)]:
            yield from self.branch_sites(branch, aim.below(part), path, levels - 1)
        for detail in self._combined_differences(branch, aim, levels - 1):
            yield _Site(path, branch.parts, (aim,), detail)

    def _property_sites(self, branch: Branch, aim: Node, path: Path, levels: int) -> Iterator[_Site]:
        assert isinstance(aim.schema, dict)
        asked = Branch("object", (aim,), None)
        required = branch.required()
        undeclared = self.declared and branch.says_nothing()
        for name in listed(aim.schema, "required"):
            if name not in required and not undeclared:
                never = self.emptiness.is_empty(branch.property(str(name)))
                yield _Site((*path, str(name)), (), asked.property(str(name)), _MISSING if never else _MAY_BE_MISSING)
        for name in dict.fromkeys([*branch.names(), *required, *named(aim.schema, "properties")]):
            if name in required or not self.emptiness.is_empty(branch.property(name)):
                for wanted in asked.property(name):
                    yield from self.sites(branch.property(name), wanted, (*path, name), levels - 1)
        if self._others_differ(branch, aim, levels):
            yield _Site(path, branch.parts, (aim,), "no other properties than these")

    def _others_differ(self, branch: Branch, aim: Node, levels: int) -> bool:
        """Say whether properties whose names are not listed may not fit: those of each pattern, and all others."""
        assert isinstance(aim.schema, dict)
        patterns: list[tuple[str | None, Bundle]] = [*branch.by_pattern()]
        own = {pattern for pattern, _ in patterns}
        asked, rest = named(aim.schema, "patternProperties"), aim.schema.get("additionalProperties", True)
        for pattern, held in [*patterns, (None, branch.other_properties(matches_none=True))]:
            if self.emptiness.is_empty(held):
                continue
            if pattern is None:
                wanted = [part for other, part in asked.items() if other not in own]
            else:
                wanted = [part for other, part in asked.items() if may_overlap(pattern, other)]
            wanted += [] if pattern in asked else [rest]
            if any(self.sites(held, aim.below(part), (), levels - 1) for part in wanted):
                return True
        return False

    def _element_sites(self, branch: Branch, aim: Node, path: Path, levels: int) -> Iterator[_Site]:
        asked = Branch("array", (aim,), None)
        for index in range(max(branch.elements_told_apart(), asked.elements_told_apart()) + 1):
            if index >= branch.items_max() or self.emptiness.is_empty(branch.element(index)):
                break
            for wanted in asked.element(index):
                for site in self.sites(branch.element(index), wanted, (*path, "*"), levels - 1):
                    # What differs in the element itself is told of the list: "Expected string[] but got number[]".
                    yield site if len(site.path) > len(path) + 1 else _Site(path, branch.parts, (aim,), site.detail)

    def _combined_differences(self, branch: Branch, aim: Node, levels: int) -> Iterator[str]:
        schema = aim.schema
        assert isinstance(schema, dict)
        if "anyOf" in schema and not self._fits_apart(branch, _parts(aim, "anyOf"), levels, self._fits_any):
            yield "one of its alternatives"
        if "oneOf" in schema and not self._fits_apart(branch, _parts(aim, "oneOf"), levels, self._fits_exactly_one):
            yield "exactly one of its alternatives"
        if "not" in schema and not self._avoids(branch, aim.below(schema["not"])):
            yield "`not`"
        if "if" in schema and not self._fits_condition(branch, aim, levels):
            yield "`if`"
        for name, part in named(schema, "dependentSchemas").items():
            if not self.emptiness.is_empty(branch.property(name)) and not self.fits(branch, aim.below(part), levels):
                yield "`dependentSchemas`"

    def _avoids(self, branch: Branch, refused: Node) -> bool:
        return _is_about_types(refused.schema) or self.emptiness.is_empty((*branch.bundle(), refused))

    def _fits_apart(self, branch: Branch, alternatives: list[Node], levels: int, fits: _Fits) -> bool:
        """Try the whole branch, then one value after the other of a property that tells alternatives apart."""
        if fits(branch, alternatives, levels):
            return True
        for name in branch.required() if branch.kind == "object" and levels > 0 else ():
            apart = branch.by_values_of(name, _VALUES)
            # What is compared is known by its address, so it must not go away before the comparison does.
            self.made.extend(apart)
            if apart and all(fits(one, alternatives, levels - 1) for one in apart):
                return True
        return False

    def _fits_any(self, branch: Branch, alternatives: list[Node], levels: int) -> bool:
        return any(self.fits(branch, part, levels) for part in alternatives)

    def _fits_exactly_one(self, branch: Branch, alternatives: list[Node], levels: int) -> bool:
        possible = [part for part in alternatives if not self.emptiness.is_empty((*branch.bundle(), part))]
        return len(possible) == 1 and self.fits(branch, possible[0], levels)

    def _fits_condition(self, branch: Branch, aim: Node, levels: int) -> bool:
        assert isinstance(aim.schema, dict)
        condition, then, otherwise = (aim.below(aim.schema.get(keyword, True)) for keyword in ("if", "then", "else"))
        never = self.emptiness.is_empty((*branch.bundle(), condition))
        return (never or self.fits(branch, then, levels)) and (
            self.fits(branch, otherwise, levels) or (not never and self.fits(branch, condition, levels))
        )


def _root(schema: Schema, declared: bool = False) -> Node:
    return Node(schema, References(schema), declared).below(schema)


def _is_same(node: Node, aim: Node) -> bool:
    """Say whether two nodes are written alike; with references in them that means something within one schema only."""
    if node.schema is aim.schema:
        return True
    if node.schema != aim.schema or key_of(node.schema) != key_of(aim.schema):
        return False
    return not refers(node.schema) or node.references.root == aim.references.root


def _is_about_types(schema: JsonValue) -> bool:
    """Say whether a `not` has already been looked at with the kinds of value."""
    return isinstance(schema, dict) and schema.keys() == {"type"}


def _parts(aim: Node, keyword: str) -> list[Node]:
    assert isinstance(aim.schema, dict)
    return [aim.below(part) for part in listed(aim.schema, keyword)]


def _mismatch(site: _Site, refused: set[Path]) -> Mismatch:
    certain = any(path[: len(site.path)] == site.path or site.path[: len(path)] == path for path in refused)
    return Mismatch(site.path, _together(site.aim), _together(site.origin), _message(site), certain)


def _message(site: _Site) -> str:
    expected, actual = describe(_together(site.aim)), describe(_together(site.origin))
    if site.detail in (_MISSING, _MAY_BE_MISSING):
        return f"Expected {expected} but it {site.detail}"
    if actual != expected:
        return f"Expected {expected} but got {actual}"
    return f"Expected {expected} with {site.detail}"


def _together(bundle: Bundle) -> Schema:
    """Write the nodes of a bundle, which belong to the same schema, as one."""
    if any(node.schema is False for node in bundle):
        return False
    said = [node for node in bundle if node.schema not in (True, {})]
    if not said:
        return True
    whole: Schema = said[0].schema if len(said) == 1 else {"allOf": [node.schema for node in said]}
    return cut_out(said[0].references, whole)
