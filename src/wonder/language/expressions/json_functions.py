"""The JSON functions of SQLite, and what stands behind the operators -> and ->>."""

from collections.abc import Iterator

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.json_parser import ParsedJson
from wonder.language.expressions.json_paths import MISSING, Change, abbreviated_path, change, find
from wonder.language.expressions.json_text import (
    Members,
    Node,
    Number,
    Text,
    gather,
    is_object,
    label_text,
    members_of,
    render,
    sql_scalar,
    type_name,
)
from wonder.language.expressions.limits import MAX_JSON_DEPTH
from wonder.language.expressions.numbers import real_text
from wonder.language.expressions.sql_values import Document, SqlValue, integer_of, node_of, storable, text_of
from wonder.language.steps import spend
from wonder.language.values import MAX_BYTES


def json(value: SqlValue) -> SqlValue:
    """json(X): check and minify."""
    if value is None or type(value) is Document:
        return value
    return Document(node_of(value))


def json_quote(value: SqlValue) -> Document:
    """json_quote(X): the JSON of an SQL value."""
    return value if type(value) is Document else Document(_node_built(value))


def json_array(*values: SqlValue) -> Document:
    """json_array(X, ...): a list of the arguments."""
    return Document([_node_built(value) for value in values])


def json_object(*arguments: SqlValue) -> Document:
    """json_object(NAME, X, ...): an object of labels and values."""
    if len(arguments) % 2:
        raise EvaluationError("json_object() needs a value for each label")
    labels = arguments[::2]
    if not all(type(label) is str or type(label) is Document for label in labels):
        raise EvaluationError("the labels of json_object() must be texts")
    values = [_node_built(value) for value in arguments[1::2]]
    return Document(Members(tuple(zip(map(text_of, labels), values, strict=True))))


def json_array_length(value: SqlValue, path: SqlValue = "$") -> int | None:
    """json_array_length(X, PATH): the number of elements, 0 if it is no list."""
    if value is None:
        return None
    node = node_of(value)
    if path is None:
        return None
    node = find(node, text_of(path))
    if node is MISSING:
        return None
    return len(node) if type(node) is list else 0


def json_type(value: SqlValue, path: SqlValue = "$") -> str | None:
    """json_type(X, PATH): the name of the type."""
    if value is None:
        return None
    node = node_of(value)
    if path is None:
        return None
    node = find(node, text_of(path))
    return None if node is MISSING else type_name(node)


def json_extract(value: SqlValue = None, *paths: SqlValue) -> SqlValue:
    """json_extract(X, PATH, ...): what is at the path; a list of them for several paths."""
    if value is None or not paths:
        return None
    node = node_of(value)
    found = []
    for path in paths:
        if path is None:
            return None
        found.append(find(node, text_of(path)))
    if len(found) > 1:
        return Document([None if each is MISSING else each for each in found])
    return None if found[0] is MISSING else sql_value(found[0], _is_native(value))


def arrow(value: SqlValue, path: SqlValue) -> SqlValue:
    """X -> PATH: what is there, as JSON."""
    node = _abbreviated(value, path)
    return None if node is MISSING else Document(node, native=_is_native(value))


def double_arrow(value: SqlValue, path: SqlValue) -> SqlValue:
    """X ->> PATH: what is there, as an SQL value."""
    node = _abbreviated(value, path)
    if node is MISSING:
        return None
    found = sql_value(node, _is_native(value))
    return text_of(found) if type(found) is Document else found


def json_insert(value: SqlValue = None, *arguments: SqlValue) -> SqlValue:
    """json_insert(X, PATH, VALUE, ...): add what is not there yet."""
    return _changed("insert", value, arguments)


def json_replace(value: SqlValue = None, *arguments: SqlValue) -> SqlValue:
    """json_replace(X, PATH, VALUE, ...): replace what is there."""
    return _changed("replace", value, arguments)


def json_set(value: SqlValue = None, *arguments: SqlValue) -> SqlValue:
    """json_set(X, PATH, VALUE, ...): add or replace."""
    return _changed("set", value, arguments)


def json_array_insert(value: SqlValue = None, *arguments: SqlValue) -> SqlValue:
    """json_array_insert(X, PATH, VALUE, ...): put an element before the one at the path."""
    return _changed("array_insert", value, arguments)


def json_remove(value: SqlValue = None, *paths: SqlValue) -> SqlValue:
    """json_remove(X, PATH, ...): take out what is at each path."""
    if value is None:
        return None
    node = node_of(value)
    for path in paths:
        if path is None:
            return None
        text = text_of(path)
        if text == "$":
            return None
        node = change(node, text, "remove", None)
    return Document(node)


def json_patch(target: SqlValue, patch: SqlValue) -> SqlValue:
    """json_patch(X, PATCH): merge as RFC 7396 says."""
    if target is None:
        return None
    node = node_of(target)
    if patch is None:
        return None
    return Document(_merge(node, node_of(patch), 0))


def json_valid(value: SqlValue, flags: SqlValue = 1) -> int | None:
    """json_valid(X, FLAGS): whether X is JSON (1), or JSON5 (2)."""
    accepted = integer_of(flags)
    if not 1 <= accepted <= 15:
        raise EvaluationError("the flags of json_valid() must be from 1 to 15")
    if value is None:
        return None
    if not accepted & 3:
        return 0
    parsed = ParsedJson(text_of(value))
    return int(parsed.valid and (bool(accepted & 2) or not parsed.extended))


def json_error_position(value: SqlValue) -> int | None:
    """json_error_position(X): 0 for JSON, otherwise where it is malformed, counted from 1."""
    if value is None:
        return None
    parsed = ParsedJson(text_of(value))
    return 0 if parsed.valid else parsed.error_at + 1


def json_pretty(value: SqlValue, indent: SqlValue = None) -> str | None:
    """json_pretty(X, INDENT): JSON over several lines."""
    if value is None:
        return None
    return gather(_pretty(node_of(value), "    " if indent is None else text_of(indent), 0))


def sql_value(node: Node, native: bool) -> SqlValue:
    """Return a node as json_extract() gives it: a list or an object as JSON, anything else as an SQL value."""
    if type(node) is list or is_object(node):
        return Document(node, native=native)
    scalar = sql_scalar(node)
    return storable(scalar) if type(scalar) is str else scalar


def _abbreviated(value: SqlValue, path: SqlValue) -> Node:
    if value is None:
        return MISSING
    node = node_of(value)
    if path is None:
        return MISSING
    return find(node, abbreviated_path(text_of(path), is_integer=type(path) is int))


def _is_native(value: SqlValue) -> bool:
    return type(value) is Document and value.native


def _node_built(value: SqlValue) -> Node:
    """Return an argument as json_array() and json_object() write it."""
    if type(value) is Document:
        return value.node
    return Number(real_text(value, "9.0e+999"), "real") if type(value) is float else value


def _node_inserted(value: SqlValue) -> Node:
    """Return an argument as json_set() and its like write it."""
    if type(value) is Document:
        return value.node
    return Number(real_text(value, "9e999"), "real") if type(value) is float else value


def _changed(how: Change, value: SqlValue, arguments: tuple[SqlValue, ...]) -> SqlValue:
    if len(arguments) % 2:
        raise EvaluationError(f"json_{how}() needs a value for each path")
    if value is None:
        return None
    node = node_of(value)
    for path, new in zip(arguments[::2], arguments[1::2], strict=True):
        if path is not None:
            node = change(node, text_of(path), how, _node_inserted(new))
    return Document(node)


def _merge(target: Node, patch: Node, depth: int) -> Node:
    if not is_object(patch):
        return patch
    if depth > MAX_JSON_DEPTH:
        raise EvaluationError(f"a JSON patch is nested deeper than {MAX_JSON_DEPTH} levels")
    pairs: list[tuple[str | Text, Node] | None] = list(members_of(target)) if is_object(target) else []
    spend(len(pairs))
    places: dict[str, list[int]] = {}
    for index in reversed(range(len(pairs))):
        places.setdefault(label_text(pairs[index][0]), []).append(index)  # type: ignore[index]  # none is gone yet
    for label, value in members_of(patch):
        place = places.setdefault(label_text(label), [])
        if not place:
            if value is not None:
                place.append(len(pairs))
                pairs.append((label, _merge(None, value, depth + 1)))
        elif value is None:
            pairs[place.pop()] = None
        else:
            old = pairs[place[-1]]
            assert old is not None  # what is gone is not among the places
            pairs[place[-1]] = (old[0], _merge(old[1], value, depth + 1))
    return Members(tuple(pair for pair in pairs if pair is not None))


def _pretty(node: Node, indent: str, depth: int) -> Iterator[str]:
    if len(indent) * (depth + 1) > MAX_BYTES:
        raise EvaluationError(f"a JSON text of more than {MAX_BYTES:,} bytes would be built")
    inner, outer = indent * (depth + 1), indent * depth
    if type(node) is list and node:
        separator = "[\n"
        for element in node:
            yield separator
            yield inner
            yield from _pretty(element, indent, depth + 1)
            separator = ",\n"
        yield f"\n{outer}]"
    elif is_object(node) and members_of(node):
        separator = "{\n"
        for label, value in members_of(node):
            yield separator
            yield inner
            yield render(label)
            yield ": "
            yield from _pretty(value, indent, depth + 1)
            separator = ",\n"
        yield f"\n{outer}}}"
    else:
        yield render(node)
