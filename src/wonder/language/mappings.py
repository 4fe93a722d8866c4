"""Mappings: JSON templates whose `$` texts are queries (CTX-5), compiled once to functions."""

from collections.abc import Callable
from typing import TypeAlias

from wonder.language.mapping_faults import MappingFault, MappingSyntax
from wonder.language.paths import MISSING, Missing, Path, PathSyntax, Query, compile_query
from wonder.language.steps import LARGE, spend
from wonder.language.values import MAX_DEPTH, JsonValue

LITERAL = "$literal"

_Build: TypeAlias = Callable[[JsonValue], JsonValue | Missing]
_Apply: TypeAlias = Callable[[JsonValue], JsonValue]


class Mapping:
    """A compiled mapping, immutable; `queries` holds each of its queries with its place in the template."""

    __slots__ = ("apply", "queries", "template")

    def __init__(self, template: JsonValue, build: _Build, queries: tuple[tuple[Path, Query], ...]) -> None:
        self.template, self.queries = template, queries
        self.apply: _Apply = _or_null(build) if isinstance(template, str) else build  # type: ignore[assignment]  # see _or_null
        """Returns the template with each query replaced by what it finds in a root.

        Nothing found leaves a key out, is null in a list, and null where the template is a single query. What is found,
        and the template's literals, are passed on without a copy: nobody may change them in place. `targets.write`
        keeps to that.
        """


def compile_mapping(template: JsonValue) -> Mapping:
    """Compile a template; null is `{}`. Raises MappingSyntax with all faults at once."""
    compiler = _Compiler()
    build = compiler.build({} if template is None else template, ())
    if compiler.faults:
        raise MappingSyntax(tuple(compiler.faults))
    return Mapping(template, _counted(build, len(compiler.queries)), tuple(compiler.queries))


def _or_null(build: _Build) -> _Apply:
    """Give null where nothing is found; of a template that is no query itself, something is always built."""

    def apply(root: JsonValue) -> JsonValue:
        value = build(root)
        return None if value is MISSING else value

    return apply


def _counted(build: _Build, queries: int) -> _Build:
    """Count one step for each query of a large mapping; those of a small one take less time than to count them."""
    if queries <= LARGE:
        return build

    def counted(root: JsonValue) -> JsonValue | Missing:
        spend(queries)
        return build(root)

    return counted


class _Literal:
    """The function of a part of a template that holds no query."""

    __slots__ = ("value",)

    def __init__(self, value: JsonValue) -> None:
        self.value = value

    def __call__(self, root: JsonValue) -> JsonValue:
        return self.value


class _Compiler:
    def __init__(self) -> None:
        self.queries: list[tuple[Path, Query]] = []
        self.faults: list[MappingFault] = []

    def build(self, template: JsonValue, path: Path) -> _Build:
        if isinstance(template, str) and template.startswith("$"):
            return self.query(template, path)
        if len(path) >= MAX_DEPTH and isinstance(template, dict | list):
            self.faults.append(MappingFault(path[:8], f"nested deeper than {MAX_DEPTH} levels", "flatten the mapping"))
            return _Literal(None)
        if isinstance(template, dict):
            return self.object(template, path)
        if isinstance(template, list):
            return self.array(template, path)
        return _Literal(template)

    def query(self, text: str, path: Path) -> _Build:
        try:
            query = compile_query(text)
        except PathSyntax as refusal:
            message = f"{text[:200]!r} is not a query: {refusal.reason} at character {refusal.position + 1}"
            self.faults.append(MappingFault(path, message, refusal.hint))
            return _Literal(None)
        self.queries.append((path, query))
        return query.find

    def object(self, template: dict[str, JsonValue], path: Path) -> _Build:
        if LITERAL in template:
            if len(template) > 1:
                message = f"{LITERAL} stands beside other keys"
                self.faults.append(MappingFault(path, message, f'write {{"{LITERAL}": …}} alone in its object'))
            return _Literal(template[LITERAL])
        members = [(key, self.build(value, (*path, key))) for key, value in template.items()]
        literals = {key: member.value for key, member in members if isinstance(member, _Literal)}
        if len(literals) == len(members):
            return _Literal(literals)

        def build(root: JsonValue) -> JsonValue:
            built: dict[str, JsonValue] = {}
            for key, member in members:
                value = member(root)
                if value is not MISSING:
                    built[key] = value
            return built

        return build

    def array(self, template: list[JsonValue], path: Path) -> _Build:
        elements = [self.build(value, (*path, index)) for index, value in enumerate(template)]
        literals = [element.value for element in elements if isinstance(element, _Literal)]
        if len(literals) == len(elements):
            return _Literal(literals)

        def build(root: JsonValue) -> JsonValue:
            values = [element(root) for element in elements]
            return [None if value is MISSING else value for value in values]

        return build
