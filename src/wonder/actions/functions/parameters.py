"""The arguments that a function takes when it is called with keywords, as the schema of an object."""

import ast
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from wonder.definitions.catalog import KnownFunction

_KINDS = inspect.Parameter


class _Parameter(NamedTuple):
    name: str
    kind: Any
    is_required: bool


def known_live(name: str, call: Callable[..., Any]) -> KnownFunction | None:
    """Say what a function that is there takes; None where that is not certain, as of objects that can be called."""
    # What a wrapper passes on is its own affair: it is the wrapper that is called.
    if not isinstance(call, FunctionType | MethodType) or hasattr(call, "__signature__"):
        return None
    signature = inspect.signature(call, follow_wrapped=False)
    return _known(
        name,
        [
            _Parameter(one.name, one.kind, one.default is one.empty and one.kind is not one.VAR_KEYWORD)
            for one in signature.parameters.values()
            if one.kind is not one.VAR_POSITIONAL
        ],
    )


def known_written(name: str, arguments: ast.arguments) -> KnownFunction:
    """Say what a function takes whose parameters were read and not run."""
    return _known(name, list(_written(arguments)))


def _written(given: ast.arguments) -> Iterator[_Parameter]:
    by_position = [
        *((one.arg, _KINDS.POSITIONAL_ONLY) for one in given.posonlyargs),
        *((one.arg, _KINDS.POSITIONAL_OR_KEYWORD) for one in given.args),
    ]
    first_default = len(by_position) - len(given.defaults)
    for i, (name, kind) in enumerate(by_position):
        yield _Parameter(name, kind, i < first_default)
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _Parameter(one.arg, _KINDS.KEYWORD_ONLY, default is None)
    if given.kwarg:
        yield _Parameter(given.kwarg.arg, _KINDS.VAR_KEYWORD, is_required=False)


def _known(name: str, parameters: list[_Parameter]) -> KnownFunction:
    for one in parameters:
        if one.kind is _KINDS.POSITIONAL_ONLY and one.is_required:
            refusal = f"{name} takes '{one.name}' by position only, and actions call functions with keyword arguments"
            return KnownFunction(refusal=refusal, hint="take the '/' out of its parameters")
    named = [one for one in parameters if one.kind in (_KINDS.POSITIONAL_OR_KEYWORD, _KINDS.KEYWORD_ONLY)]
    return KnownFunction(
        takes={
            "type": "object",
            "properties": {one.name: {} for one in named},
            "required": [one.name for one in named if one.is_required],
            "additionalProperties": any(one.kind is _KINDS.VAR_KEYWORD for one in parameters),
        }
    )
