"""The helpers of templates: `if`, `unless`, `each`, `with`, blocks about a plain name, `lookup` and `json`."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from wonder.language.paths import MISSING
from wonder.language.steps import spend_on_text
from wonder.language.templates.rendering import (
    Evaluate,
    Found,
    Output,
    Render,
    Scope,
    is_empty,
    is_false,
    member,
    text_of,
)
from wonder.language.values import encode_json


@dataclass(frozen=True, slots=True)
class BlockParts:
    """A compiled block: its value, its options, its `as |names|`, and what is rendered in which case."""

    value: Evaluate
    options: dict[str, Evaluate]
    names: tuple[str, ...]
    then: Render
    otherwise: Render


def render_plain_block(parts: BlockParts) -> Render:
    """Return the function of `{{#name}}`: repeated for a list, once for anything else that is there."""

    def render(scope: Scope, out: Output) -> None:
        value = parts.value(scope)
        if value is True:
            parts.then(scope, out)
        elif value is False or value is None or value is MISSING or value == []:
            parts.otherwise(scope, out)
        elif isinstance(value, list):
            _repeat(parts, scope, out, enumerate(value), len(value))
        else:
            parts.then(scope.inside(value), out)

    return render


def _if(parts: BlockParts) -> Render:
    include_zero = parts.options.get("includeZero")

    def render(scope: Scope, out: Output) -> None:
        value = parts.value(scope)
        zero_counts = include_zero is not None and not is_false(include_zero(scope))
        chosen = parts.otherwise if (is_empty(value) if zero_counts else is_false(value)) else parts.then
        chosen(scope, out)

    return render


def _unless(parts: BlockParts) -> Render:
    return _if(BlockParts(parts.value, parts.options, parts.names, parts.otherwise, parts.then))


def _with(parts: BlockParts) -> Render:
    def render(scope: Scope, out: Output) -> None:
        value = parts.value(scope)
        if is_empty(value):
            parts.otherwise(scope, out)
        else:
            parts.then(scope.inside(value, dict(zip(parts.names, (value,), strict=False))), out)

    return render


def _each(parts: BlockParts) -> Render:
    def render(scope: Scope, out: Output) -> None:
        value = parts.value(scope)
        if isinstance(value, list) and value:
            _repeat(parts, scope, out, enumerate(value), len(value))
        elif isinstance(value, dict) and value:
            _repeat(parts, scope, out, value.items(), len(value))
        else:
            parts.otherwise(scope, out)

    return render


def _repeat(parts: BlockParts, scope: Scope, out: Output, items: Iterable[tuple[Any, Any]], count: int) -> None:
    for index, (key, value) in enumerate(items):
        out.spend(1)
        variables: dict[str, Found] = {"index": index, "key": key, "first": index == 0, "last": index == count - 1}
        names = dict(zip(parts.names, (value, key), strict=False))
        parts.then(scope.turn(value, variables, names), out)


def _lookup(value: Found, key: Found) -> Found:
    # As in handlebars.js, what is false or 0 comes back itself.
    return value if value is False or value == 0 else member(value, text_of(key))


def _json(value: Found) -> Found:
    if value is MISSING:
        return "null"
    text = encode_json(value)
    # Not only what is written: `{{#if (json x)}}` writes nothing, and may stand there ten thousand times.
    spend_on_text(len(text))
    return text


BLOCKS: Final[dict[str, Callable[[BlockParts], Render]]] = {"if": _if, "unless": _unless, "each": _each, "with": _with}
# Each with the number of values that it takes.
VALUES: Final[dict[str, tuple[int, Callable[..., Found]]]] = {"lookup": (2, _lookup), "json": (1, _json)}
