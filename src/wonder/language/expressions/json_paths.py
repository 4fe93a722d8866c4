"""JSON paths of SQLite (`$.a[2]."b c"`): finding a node, and changing one."""

from typing import Literal, NamedTuple, TypeAlias

from wonder.language.expressions.errors import EvaluationError
from wonder.language.expressions.json_text import Members, Node, Text, is_object, label_text, members_of
from wonder.language.expressions.limits import MAX_JSON_DEPTH
from wonder.language.steps import spend_on_elements

Change: TypeAlias = Literal["insert", "replace", "set", "array_insert", "remove"]

# Stands for a node that is not there; null is a node.
MISSING = object()
_REMOVED = object()


class _Step(NamedTuple):
    """One step of a path: a label or the position of an element, and where the rest of the path begins."""

    label: str | Text | None
    position: int
    rest: int


def find(node: Node, path: str) -> Node:
    """Return the node at a path, or MISSING; a fault in the path counts only where it is reached."""
    at = _begin(path)
    while at < len(path):
        if path[at] == ".":
            step = _label_step(path, at)
            node = _member(node, step.label)
        elif path[at] == "[" and type(node) is list:
            step = _index_step(path, at, len(node))
            node = node[step.position] if 0 <= step.position < len(node) else MISSING
        else:
            return _no_step(path, at)
        if node is MISSING:
            return MISSING
        at = step.rest
    return node


def change(node: Node, path: str, how: Change, value: Node) -> Node:
    """Return a node with the change made at a path, or as it was where the path leads nowhere."""
    at = _begin(path)
    if path.count(".") + path.count("[") > MAX_JSON_DEPTH:
        raise EvaluationError(f"the JSON path has more than {MAX_JSON_DEPTH} steps")
    if at == len(path):
        return value if how in ("replace", "set") else node
    changed = _change(node, path, at, how, value)
    return node if changed is MISSING else changed


def _begin(path: str) -> int:
    if not path.startswith("$"):
        raise _bad_path(path)
    return 1


def _bad_path(path: str) -> EvaluationError:
    return EvaluationError(f"{path[:100]!r} is no JSON path; write one like '$.name[0]'")


def _no_step(path: str, at: int) -> Node:
    if path[at] == "[":
        return MISSING
    raise _bad_path(path)


def _label_step(path: str, at: int) -> _Step:
    start = at + 1
    if path[start : start + 1] == '"':
        end = start + 1
        while path[end : end + 1] not in ("", '"'):
            end += 2 if path[end] == "\\" and end + 1 < len(path) else 1
        if path[end : end + 1] != '"':
            raise _bad_path(path)
        raw = path[start + 1 : end]
        return _Step(Text(raw, extended=True) if "\\" in raw else raw, -1, end + 1)
    end = start
    while end < len(path) and path[end] not in ".[":
        end += 1
    if end == start:
        raise _bad_path(path)
    return _Step(path[start:end], -1, end)


def _index_step(path: str, at: int, length: int) -> _Step:
    """Read `[n]`, `[#]` or `[#-n]`; the index is -1 where it would be before the first element."""
    end = path.find("]", at)
    inside = path[at + 1 : end] if end > 0 else ""
    digits = inside.removeprefix("#-") if inside.startswith("#-") else inside
    if inside == "#":
        return _Step(None, length, end + 1)
    if not digits or not digits.isascii() or not digits.isdigit():
        raise _bad_path(path)
    # More digits than any list has elements.
    number = int(digits) if len(digits.lstrip("0")) <= 10 else 10**10
    if digits != inside:
        number = length - number if number <= length else -1
    return _Step(None, number, end + 1)


def _member(node: Node, label: str | Text | None) -> Node:
    if not is_object(node):
        return MISSING
    assert label is not None  # only steps with a label come here
    name = label_text(label)
    if type(node) is dict:
        return node.get(name, MISSING)
    spend_on_elements(len(node.pairs))
    for other, value in node.pairs:
        if label_text(other) == name:
            return value
    return MISSING


def _change(node: Node, path: str, at: int, how: Change, value: Node) -> Node:
    """Return the changed node; MISSING where the path leads nowhere, _REMOVED where the node itself is to go."""
    if at >= len(path):
        return _change_here(node, path, how, value)
    if path[at] == ".":
        return _change_member(node, path, at, how, value)
    if path[at] == "[" and type(node) is list:
        return _change_element(node, path, at, how, value)
    return _no_step(path, at)


def _change_here(node: Node, path: str, how: Change, value: Node) -> Node:
    if how == "remove":
        return _REMOVED
    if how == "array_insert" and not path.endswith("]"):
        raise _no_element(path)
    return node if how == "insert" else value


def _no_element(path: str) -> EvaluationError:
    return EvaluationError(f"{path[:100]!r} names no element of a list; end it with an index")


def _change_member(node: Node, path: str, at: int, how: Change, value: Node) -> Node:
    step = _label_step(path, at)
    if not is_object(node):
        return MISSING
    assert step.label is not None  # it is a step with a label
    name, pairs = label_text(step.label), members_of(node)
    spend_on_elements(len(pairs))
    for index, (label, old) in enumerate(pairs):
        if label_text(label) == name:
            new = _change(old, path, step.rest, how, value)
            if new is MISSING:
                return MISSING
            kept = () if new is _REMOVED else ((label, new),)
            return Members((*pairs[:index], *kept, *pairs[index + 1 :]))
    if how in ("remove", "replace"):
        return MISSING
    if how == "array_insert" and not path.endswith("]"):
        raise _no_element(path)
    new = _substructure(path, step.rest, how, value)
    return MISSING if new is MISSING else Members((*pairs, (step.label, new)))


def _change_element(node: list[Node], path: str, at: int, how: Change, value: Node) -> Node:
    step = _index_step(path, at, len(node))
    spend_on_elements(len(node))
    if 0 <= step.position < len(node):
        if how == "array_insert" and step.rest >= len(path):
            return [*node[: step.position], value, *node[step.position :]]
        new = _change(node[step.position], path, step.rest, how, value)
        if new is MISSING:
            return MISSING
        return [*node[: step.position], *(() if new is _REMOVED else (new,)), *node[step.position + 1 :]]
    if step.position != len(node) or how in ("remove", "replace"):
        return MISSING
    new = _substructure(path, step.rest, how, value)
    return MISSING if new is MISSING else [*node, new]


def _substructure(path: str, at: int, how: Change, value: Node) -> Node:
    """Build what the rest of a path still needs around a value that is inserted."""
    if at >= len(path):
        return value
    return _change(Members(()) if path[at] == "." else [], path, at, how, value)


def abbreviated_path(text: str, *, is_integer: bool) -> str:
    """Spell out the right operand of `->` as a path: a number is an index, a word a label."""
    if text.startswith("$"):
        return text
    if is_integer:
        return f"$[#{text}]" if text.startswith("-") else f"$[{text}]"
    if all(character == "_" or (character.isascii() and character.isalnum()) for character in text):
        return "$." + text
    if text.startswith("[") and len(text.encode()) >= 3 and text.endswith("]"):
        return "$" + text
    return f'$."{text}"'
