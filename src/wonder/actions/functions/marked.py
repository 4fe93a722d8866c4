"""Which functions of a module definitions may call: those marked `@wonder.function`, or listed in its `__all__`."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, TypeVar, overload

from wonder.actions.protocol import ActionFailed

_Function = TypeVar("_Function", bound=Callable[..., Any])
_MARK: Final = "__wonder_function__"
_HOW: Final = "mark it with @wonder.function, or list it in the module's __all__"


@dataclass(frozen=True)
class Mark:
    """What `@wonder.function` says of a function."""

    quick: bool


@overload
def function(function: _Function, *, quick: bool = False) -> _Function: ...


@overload
def function(*, quick: bool = False) -> Callable[[_Function], _Function]: ...


def function(function: Any = None, *, quick: bool = False) -> Any:
    """Mark a function as one that `python` actions may call: `@wonder.function`, or `@wonder.function(quick=True)`.

    A quick function runs in the event loop itself, without a thread. It must never wait for anything: while it runs,
    nothing else in the program does. For an async function `quick` changes nothing.
    """

    def mark(marked: _Function) -> _Function:
        setattr(marked, _MARK, Mark(quick))
        return marked

    return mark if function is None else mark(function)


def mark_of(call: object) -> Mark | None:
    """Return what a function was marked with, if it was."""
    mark = getattr(call, _MARK, None)
    # An object that makes up any attribute that it is asked for is not marked.
    return mark if isinstance(mark, Mark) else None


def is_private(name: str) -> bool:
    """Say whether a dotted name has a part that begins with an underscore."""
    return any(part.startswith("_") for part in name.split("."))


def function_of(module: ModuleType, module_name: str, name: str, *, needs_mark: bool) -> Callable[..., Any]:
    """Return a function of a module that definitions may call; raises ActionFailed.

    It is defined in the module, or inside of it if the module is a package: `import os` in a module must not make
    everything of `os` callable. Without `needs_mark`, all functions of a module that marks none may be called.
    """
    full = f"{module_name}:{name}"
    if "." in name:
        reason = (
            f"{full} is not the name of a function of a module; methods and the contents of objects can't be called"
        )
        raise _refused(full, f"{reason}. Write a function in {module_name} that calls it, or register it by name")
    listed = _listed(module)
    # Only what the module lists may be looked up by its own __getattr__, which is code that a name could make run.
    found = getattr(module, name, None) if name in listed else vars(module).get(name)
    if found is None:
        raise _refused(full, f"the module {module_name} has no {name}; correct the name of the function")
    if not inspect.isroutine(found):
        reason = f"{full} is {_what(found)}, not a function; name a function, or register the object by name"
        raise _refused(full, f"{reason}: wonder.open(functions={{{full!r}: ...}})")
    if not _is_inside(found, module_name):
        home = getattr(found, "__module__", None) or "Python itself"
        reason = f"{full} is defined in {home}, not in {module_name}; allow that module if it may be called"
        raise _refused(full, f"{reason}, or write a function in {module_name} that calls it")
    if name not in listed and mark_of(found) is None and (needs_mark or _has_marks(module, module_name)):
        raise _refused(full, f"{full} is not marked as a function that definitions may call; {_HOW}")
    return found


def _listed(module: ModuleType) -> frozenset[str]:
    names = getattr(module, "__all__", ())
    # A text would contain every part of itself.
    return frozenset(names) if isinstance(names, list | tuple | set | frozenset) else frozenset()


def _has_marks(module: ModuleType, module_name: str) -> bool:
    if hasattr(module, "__all__"):
        return True
    return any(mark_of(one) and _is_inside(one, module_name) for one in vars(module).values())


def _is_inside(found: object, module_name: str) -> bool:
    home = getattr(found, "__module__", None)
    return isinstance(home, str) and (home == module_name or home.startswith(f"{module_name}."))


def _what(found: object) -> str:
    if isinstance(found, ModuleType):
        return "a module"
    return "a class" if isinstance(found, type) else f"an object of the class {type(found).__name__}"


def _refused(name: str, message: str) -> ActionFailed:
    return ActionFailed("UNKNOWN_FUNCTION", message, details={"function": name})
