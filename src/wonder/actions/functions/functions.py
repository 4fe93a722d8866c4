"""The functions that `python` actions may call: registered by name, announced by a package, or marked in a module."""

import inspect
import sys
import threading
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wonder.actions.exceptions import message_of
from wonder.actions.files.files_root import is_in_folder
from wonder.actions.functions.marked import function_of, is_private, mark_of
from wonder.actions.functions.modules import Folders
from wonder.actions.protocol import ActionFailed

if TYPE_CHECKING:
    from wonder.definitions.catalog import KnownFunction

ENTRY_POINTS = "wonder.functions"


class Function:
    """A function that was found, and how it is to be called."""

    __slots__ = ("call", "is_async", "is_quick", "name")

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.name, self.call = name, call
        # A callable object is async when its __call__ is.
        self.is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(
            getattr(call, "__call__", None)  # noqa: B004  # asked for its kind, not whether it is there
        )
        mark = mark_of(call)
        self.is_quick = mark is not None and mark.quick and not self.is_async

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

    `modules` are the modules whose marked functions may be called; they are looked for in `module_folders` first.
    `import_roots` are folders all of whose modules may be imported: for a person's own run of a file only, never in a
    long-running process.
    """

    def __init__(
        self, modules: Iterable[str] = (), import_roots: Iterable[Path] = (), module_folders: Iterable[Path] = ()
    ) -> None:
        if isinstance(modules, str):
            raise TypeError(f"modules must be a list of names, such as [{modules!r}]")
        self._registered: dict[str, Function] = {}
        self._importing = threading.Lock()
        self._modules = frozenset(modules)
        self._roots, self._folders = Folders(import_roots), Folders(module_folders)
        self._announced: dict[str, EntryPoint] | None = None

    def register(self, name: str, function: Callable[..., Any]) -> None:
        """Give a function a name, `module:name` by custom, under which actions call it; the last one wins."""
        self._registered[name] = Function(name, function)

    def known(self, name: str) -> Function | None:
        """Return a function that needs no import any more."""
        return self._registered.get(name)

    def find(self, name: str, files_root: str | None = None) -> Function:
        """Find a function, importing its module if need be, which may take long; raises ActionFailed.

        What is in `files_root`, where actions write, is never imported.
        """
        if function := self._registered.get(name):
            return function
        # One at a time: another thread must not see a module that is still being loaded.
        with self._importing:
            if function := self._registered.get(name):
                return function
            try:
                function = Function(name, self._call(name, files_root))
            except ActionFailed:
                raise
            except BaseException as error:
                # The module's own code ran: whatever it raised, SystemExit too, is a failure of this action only.
                reason = f"{type(error).__name__}: {message_of(error)}"
                message = f"the module of {name} can't be imported: {reason}; fix the module"
                raise ActionFailed("FUNCTION_IMPORT_FAILED", message, details={"function": name}) from error
            self._registered[name] = function
            return function

    def may_have(self, name: str) -> bool:
        """Say whether a function may be called here, as far as that is known without importing its module.

        Where its module may be imported, importing it tells whether it has the function.
        """
        module_name, _, attribute = name.partition(":")
        if name in self._registered or is_private(module_name) or is_private(attribute):
            return True
        announced = self._announced_points()
        return (
            name in announced
            or module_name in announced
            or module_name in self._modules
            or self._roots.has(module_name)
        )

    def look_at(self, name: str, files_root: str | None = None) -> "KnownFunction | None":
        """Say what is known of a function without importing its module; None where nothing is certain (ACT-11).

        What is in `files_root` is not looked at: a run may write it before it is called.
        """
        # Only to store definitions: a process that only runs them does not load what reads source.
        from wonder.actions.functions.looking import known_in_module, known_in_source, not_here
        from wonder.actions.functions.parameters import known_live

        if function := self._registered.get(name):
            return known_live(name, function.call)
        module_name, _, attribute = name.partition(":")
        announced = self._announced_points()
        if name in announced or module_name in announced:
            return None
        if "." in attribute or is_private(module_name) or is_private(attribute):
            return None
        is_named = module_name in self._modules
        folders = self._folders if is_named else self._roots
        found = folders.found(module_name, or_elsewhere=is_named)
        if is_named and (module := sys.modules.get(module_name)):
            # Where the file is another one, importing it is refused, or gives what nobody knows here.
            is_same = found.source is None or getattr(module, "__file__", None) == found.source
            return known_in_module(module, module_name, attribute) if is_same else None
        if found.is_absent:
            return not_here(name)
        if found.source is None or (files_root and is_in_folder(found.source, files_root)):
            return None
        return known_in_source(found.source, module_name, attribute, needs_mark=is_named)

    @property
    def sources(self) -> list[str]:
        """Where functions come from, beside those that are registered or announced by packages.

        Two processes with the same sources mean the same function by the same name.
        """
        folders = [f"modules in {path}" for path in self._folders.paths] if self._modules else []
        return [*self._roots.paths, *folders, *(f"module {name}" for name in sorted(self._modules))]

    def _call(self, name: str, files_root: str | None) -> Callable[..., Any]:
        module_name, _, attribute = name.partition(":")
        announced = self._announced_points()
        if point := announced.get(name):
            return _loaded(point, name)
        if is_private(module_name) or is_private(attribute):
            message = f"{name} is private, because a part of its name begins with an underscore; name a public function"
            raise ActionFailed("UNKNOWN_FUNCTION", message, details={"function": name})
        if module_name in self._modules or module_name in announced:
            return function_of(self._folders.load(module_name, files_root), module_name, attribute, needs_mark=True)
        if self._roots.has(module_name):
            # Running a file runs the code of its folder: importing a module runs it, with marks or without.
            return function_of(self._roots.load(module_name, files_root), module_name, attribute, needs_mark=False)
        message = (
            f"there is no function {name} that may be called here; allow its module with `--module {module_name}`, "
            f'`modules = ["{module_name}"]` in wonder.toml, wonder.open(modules=["{module_name}"]), or an entry point '
            f"of {ENTRY_POINTS}, or register it with wonder.open(functions={{...}})"
        )
        raise ActionFailed("UNKNOWN_FUNCTION", message, details={"function": name})

    def _announced_points(self) -> dict[str, EntryPoint]:
        if self._announced is None:
            # A function is announced as module:name, a whole module by its name.
            points = entry_points(group=ENTRY_POINTS)
            self._announced = {
                f"{point.module}:{point.attr}" if point.attr else point.module: point for point in points
            }
        return self._announced


def _loaded(point: EntryPoint, name: str) -> Callable[..., Any]:
    # The package names this very object, so nothing is left for a definition to choose.
    call = point.load()
    if not callable(call):
        message = f"{name}, which a package announces, is {type(call).__name__} and can't be called; fix the package"
        raise ActionFailed("UNKNOWN_FUNCTION", message, details={"function": name})
    return call  # type: ignore[no-any-return]  # callable, as was just seen
