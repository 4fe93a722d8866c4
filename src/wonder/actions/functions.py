"""The functions that `python` actions may call: registered by name, announced by a package, or in allowed modules."""

import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from wonder.actions.exceptions import message_of
from wonder.actions.protocol import ActionFailed

ENTRY_POINTS = "wonder.functions"

_Function = TypeVar("_Function", bound=Callable[..., Any])
_QUICK = "__wonder_quick__"


def quick(function: _Function) -> _Function:
    """Mark a function that is not async as so short that it may run in the loop itself, without a thread.

    It must never wait for anything: while it runs, nothing else in the program does.
    """
    setattr(function, _QUICK, True)
    return function


class Function:
    """A function that was found, and how it is to be called."""

    __slots__ = ("call", "is_async", "is_quick", "name")

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.name, self.call = name, call
        # A callable object is async when its __call__ is.
        self.is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
            getattr(call, "__call__", None)  # noqa: B004  # asked for its kind, not whether it is there
        )
        self.is_quick = bool(getattr(call, _QUICK, False)) and not self.is_async

    def refusal_of(self, arguments: dict[str, Any]) -> str | None:
        """Say why the function can't be called with these arguments, or None if it can."""
        try:
            signature = inspect.signature(self.call)
        except (TypeError, ValueError):
            return None  # Written in C, without a signature.
        try:
            signature.bind(**arguments)
        except TypeError as error:
            given = ", ".join(arguments) or "none"
            return f"{self.name}{signature} can't be called with the arguments {given}: {error}"
        return None


class FunctionRegistry:
    """Where functions are looked up; what is in none of its sources can't be called.

    `allowed_modules` are modules and packages whose functions all may be called. `import_roots` are folders whose
    modules may be imported: for a local run only, never on a server.
    """

    def __init__(self, allowed_modules: Iterable[str] = (), import_roots: Iterable[Path] = ()) -> None:
        self._registered: dict[str, Function] = {}
        self._importing = threading.Lock()
        self._allowed = frozenset(allowed_modules)
        self._roots = tuple(str(root.resolve()) for root in import_roots)
        self._announced: frozenset[str] | None = None

    def register(self, name: str, function: Callable[..., Any]) -> None:
        """Give a function a name, `module:name` by custom, under which actions call it; the last one wins."""
        self._registered[name] = Function(name, function)

    def known(self, name: str) -> Function | None:
        """Return a function that needs no import any more."""
        return self._registered.get(name)

    def find(self, name: str) -> Function:
        """Find a function, importing its module if need be, which may take long; raises ActionFailed."""
        if function := self._registered.get(name):
            return function
        # One at a time: another thread must not see a module that is still being loaded.
        with self._importing:
            if function := self._registered.get(name):
                return function
            module_name, _, attribute = name.partition(":")
            function = Function(name, _attribute(self._module(name, module_name), attribute, name))
            self._registered[name] = function
            return function

    def _module(self, name: str, module_name: str) -> ModuleType:
        try:
            if self._is_allowed(name, module_name):
                return importlib.import_module(module_name)
            if spec := self._spec_in_roots(module_name):
                return self._import_from_roots(spec, module_name)
        except ActionFailed:
            raise
        except BaseException as error:
            # The module's own code ran: whatever it raised, SystemExit too, is a failure of this action only.
            reason = f"{type(error).__name__}: {message_of(error)}"
            message = f"the module of {name} can't be imported: {reason}; mend the module"
            raise ActionFailed("FUNCTION_IMPORT_FAILED", message, details={"function": name}) from error
        message = (
            f"there is no function {name} that may be called here; register it, announce it as an entry point of "
            f"{ENTRY_POINTS}, or add {module_name.partition('.')[0]} to the allowed modules"
        )
        raise ActionFailed("UNKNOWN_FUNCTION", message, details={"function": name})

    @property
    def import_roots(self) -> tuple[str, ...]:
        """The folders whose modules may be imported, in the order in which they are looked through."""
        return self._roots

    def _is_allowed(self, name: str, module_name: str) -> bool:
        if self._announced is None:
            # A function is announced as module:name, a whole module by its name.
            self._announced = frozenset(point.value for point in entry_points(group=ENTRY_POINTS))
        if name in self._announced or module_name in self._announced:
            return True
        parts = module_name.split(".")
        return any(".".join(parts[:length]) in self._allowed for length in range(1, len(parts) + 1))

    def _spec_in_roots(self, module_name: str) -> ModuleSpec | None:
        if not self._roots:
            return None
        return PathFinder.find_spec(module_name.partition(".")[0], list(self._roots))

    def _import_from_roots(self, spec: ModuleSpec, module_name: str) -> ModuleType:
        # At the end: a file of the user's called json.py must not become everybody's json.
        sys.path.extend(root for root in self._roots if root not in sys.path)
        loaded = sys.modules.get(spec.name)
        if loaded is None:
            _load(spec)
        elif (there := getattr(loaded, "__file__", None)) != spec.origin:
            message = f"{spec.origin} can't be imported, because {spec.name} is already {there}; rename the file"
            raise ActionFailed("FUNCTION_IMPORT_FAILED", message, details={"module": spec.name})
        return importlib.import_module(module_name)


def _load(spec: ModuleSpec) -> None:
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        if spec.loader:
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise


def _attribute(module: ModuleType, attribute: str, name: str) -> Callable[..., Any]:
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
        if found is None:
            message = f"the module {module.__name__} has no {attribute}; correct the name of the function"
            raise ActionFailed("UNKNOWN_FUNCTION", message, details={"function": name})
    if not callable(found):
        message = f"{name} is {type(found).__name__}, which can't be called; name a function"
        raise ActionFailed("UNKNOWN_FUNCTION", message, details={"function": name})
    call: Callable[..., Any] = found
    return call
