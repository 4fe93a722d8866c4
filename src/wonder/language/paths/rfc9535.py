"""RFC 9535 queries that are not plain paths: segments and selectors, compiled to functions that count their steps.

python-jsonpath reads the text; what was read is carried out here, because a query must stop at a bound, a slice must
not cut texts, and `$` must mean the document inside nested filters too.
"""

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from jsonpath.segments import JSONPathRecursiveDescentSegment, JSONPathSegment
from jsonpath.selectors import (
    Filter,
    IndexSelector,
    JSONPathSelector,
    NameSelector,
    SliceSelector,
    WildcardSelector,
)
from jsonpath.token import TOKEN_NAME

from wonder.language.paths.faults import PathSyntax
from wonder.language.paths.filters import NodesOf, Search, Test, compile_filter
from wonder.language.paths.getters import Getter, Missing, Path, getter
from wonder.language.steps import spend
from wonder.language.values import JsonValue

STEPS_MAX = 1_000_000

Select: TypeAlias = Callable[[JsonValue, Search], list[JsonValue]]

_ENVIRONMENT = JSONPathEnvironment(strict=True)
_HINT = 'see RFC 9535 (JSONPath); write a string that begins with $ as {"$literal": "$…"}'
# The parser's messages name its kinds of token.
_TOKEN_KIND = re.compile(r"'?TOKEN_([A-Z_]+)'?")
_SIGNS = {"RBRACKET": "']'", "LBRACKET": "'['", "RPAREN": "')'", "LPAREN": "'('", "COMMA": "','", "EOF": "the end"}


def compile_rfc9535(text: str, segments_max: int) -> tuple[Getter, Path, bool]:
    """Return the function that finds, the plain path that the query begins with, and whether that is all of it."""
    parsed = _parse(text)
    if len(parsed.segments) > segments_max:
        raise PathSyntax(text, len(text), f"more than {segments_max} segments", "values are not nested that deep")
    prefix = _prefix(parsed)
    if len(prefix) == len(parsed.segments):
        return getter(prefix), prefix, True
    nodes = _compile_nodes(text, parsed)

    def find(root: JsonValue) -> JsonValue | Missing:
        search = Search(root, STEPS_MAX, text)
        try:
            return nodes(root, search)
        finally:
            # Once and not with each step, of which one query may take no more than this.
            spend(STEPS_MAX - max(search.steps_left, 0))

    return find, prefix, False


def _parse(text: str) -> JSONPath:
    try:
        parsed = _ENVIRONMENT.compile(text)
    except RecursionError:  # the parser's own error for it is one, too
        raise PathSyntax(text, len(text), "nested too deep", "write a simpler query") from None
    except JSONPathError as error:
        index = error.token.index if error.token is not None else -1
        reason = _TOKEN_KIND.sub(_kind_in_words, str(error.args[0])) if error.args else "not RFC 9535"
        raise PathSyntax(text, index if index >= 0 else len(text), reason, _HINT) from None
    except ValueError:  # the parser takes 3E2 for an index, and fails to read it as one
        message = "a number stands in brackets that is no index"
        raise PathSyntax(text, len(text), message, "write whole numbers without an exponent, as in [3]") from None
    assert isinstance(parsed, JSONPath), "a strict environment reads no compound queries"
    for token in _ENVIRONMENT.lexer.tokenize(text):
        # The parser takes $.a-b even when strict; RFC 9535 does not, and expressions read it as a subtraction.
        if token.kind == TOKEN_NAME and "-" in token.value:
            position = token.index + token.value.index("-")
            raise PathSyntax(text, position, "unexpected '-'", f"write the name as ['{token.value}']")
    return parsed


def _kind_in_words(kind: re.Match[str]) -> str:
    return _SIGNS.get(kind[1]) or f"a {kind[1].lower().replace('_', ' ')}"


def _prefix(parsed: JSONPath) -> Path:
    path: list[str | int] = []
    for segment in parsed.segments:
        if isinstance(segment, JSONPathRecursiveDescentSegment) or len(segment.selectors) != 1:
            break
        match segment.selectors[0]:
            case NameSelector(name=name):
                path.append(name)
            case IndexSelector(index=index):
                path.append(index)
            case _:
                break
    return tuple(path)


def _compile_nodes(text: str, parsed: JSONPath) -> NodesOf:
    """Return the function that gives the nodes of a query, from `$` or `@`."""
    segments = [_compile_segment(text, segment) for segment in parsed.segments]

    def nodes(start: JsonValue, search: Search) -> list[JsonValue]:
        found = [start]
        for segment in segments:
            found = segment(found, search)
        return found

    return nodes


def _compile_segment(text: str, segment: JSONPathSegment) -> Callable[[list[JsonValue], Search], list[JsonValue]]:
    selects = [_compile_selector(text, selector) for selector in segment.selectors]
    descends = isinstance(segment, JSONPathRecursiveDescentSegment)

    def resolve(nodes: list[JsonValue], search: Search) -> list[JsonValue]:
        found: list[JsonValue] = []
        for node in nodes:
            for visited in _descendants(node, search) if descends else (node,):
                for select in selects:
                    selected = select(visited, search)
                    search.spend(1 + len(selected))
                    found += selected
        return found

    return resolve


def _descendants(node: JsonValue, search: Search) -> Iterator[JsonValue]:
    """Yield a node and all below it, each before its own children."""
    waiting = [node]
    while waiting:
        visited = waiting.pop()
        search.spend(1)
        yield visited
        waiting += reversed(_children(visited))


def _children(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _compile_selector(text: str, selector: JSONPathSelector) -> Select:
    match selector:
        case NameSelector(name=name):
            return lambda value, _: [value[name]] if isinstance(value, dict) and name in value else []
        case IndexSelector(index=index):
            return lambda value, _: (
                [value[index]] if isinstance(value, list) and -len(value) <= index < len(value) else []
            )
        case SliceSelector(slice=cut):
            # RFC 9535: a step of 0 selects nothing, where Python raises.
            return lambda value, _: value[cut] if isinstance(value, list) and cut.step != 0 else []
        case WildcardSelector():
            return lambda value, _: _children(value)
        case Filter(expression=expression):
            test = compile_filter(text, expression, _compile_nodes)
            return _filtered(test)
        case _:
            raise PathSyntax(text, selector.token.index, f"{selector} is no selector", "see RFC 9535")


def _filtered(test: Test) -> Select:
    def select(value: JsonValue, search: Search) -> list[JsonValue]:
        children = _children(value)
        search.spend(len(children))
        return [child for child in children if test(child, search)]

    return select
