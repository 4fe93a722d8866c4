"""What a module defines, read from its source: nothing of it is imported or run."""

import ast
import stat
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from wonder.actions.functions.parameters import known_written
from wonder.definitions.catalog import KnownFunction
from wonder.language.schemas import closest

_BYTES_MAX = 500_000
# With these a module can define or mark what its statements do not show.
_DYNAMIC = frozenset({"__dict__", "__getattr__", "eval", "exec", "globals", "locals", "modules", "setattr", "vars"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Outline(Struct):
    """The names that a module binds, if all of them can be seen."""

    bound: frozenset[str]
    functions: dict[str, _Function]
    """The functions that are defined once, outside of any condition, and whose decorators are only marks."""
    marked: frozenset[str]
    listed: frozenset[str] | None
    """What `__all__` lists; None if there is none."""
    is_list_known: bool
    handed_on: frozenset[str]
    """Names that are used other than by calling them: something may mark these functions later."""

    def known(self, module_name: str, name: str, *, needs_mark: bool) -> KnownFunction | None:
        """Say what is known of a function as `function_of` would find it; None where nothing is certain."""
        full = f"{module_name}:{name}"
        if name not in self.bound:
            near = closest(name, sorted(self.functions))
            hint = f"did you mean '{module_name}:{near}'?" if near else "define it there, or correct the name"
            return KnownFunction(refusal=f"the module {module_name} has no function '{name}'", hint=hint)
        function = self.functions.get(name)
        if function is None:
            return None
        if self._is_refused(name, needs_mark=needs_mark):
            refusal = f"{full} is not marked as a function that definitions may call"
            return KnownFunction(
                refusal=refusal, hint="mark it with @wonder.function, or list it in the module's __all__"
            )
        return known_written(full, function.args)

    def _is_refused(self, name: str, *, needs_mark: bool) -> bool:
        if name in self.marked or name in self.handed_on or not self.is_list_known or name in (self.listed or ()):
            return False
        return needs_mark or self.listed is not None or bool(self.marked)


def read_outline(path: str) -> Outline | None:
    """Read the source of a module; None if it can't be read, or does not show all that the module defines."""
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _BYTES_MAX:
            return None
        return _read(path, status.st_mtime_ns, status.st_size)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=32)
def _read(path: str, _changed_ns: int, _size: int) -> Outline | None:
    with Path(path).open("rb") as file:
        source = file.read(_BYTES_MAX + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source, path)
    return _outline(tree) if len(source) <= _BYTES_MAX else None


def _outline(tree: ast.Module) -> Outline | None:
    everywhere = list(ast.walk(tree))
    if any(_is_dynamic(node) for node in everywhere):
        return None
    times = Counter(name for node in _run_on_import(tree) for name in _bound_by(node))
    times.update(name for node in everywhere if isinstance(node, ast.Global) for name in node.names)
    modules, marks = _names_of_wonder(tree)
    defined = [one for one in tree.body if isinstance(one, _Function) and times[one.name] == 1]
    decorated = [one for one in defined if one.decorator_list]
    marked = [one for one in decorated if all(_is_mark(each, modules, marks) for each in one.decorator_list)]
    calls = {id(node.func) for node in everywhere if isinstance(node, ast.Call)}
    read = [node for node in everywhere if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    handed_on = frozenset(node.id for node in read if id(node) not in calls)
    listed = _listed(tree)
    return Outline(
        bound=frozenset(times),
        functions={one.name: one for one in defined if not one.decorator_list or one in marked},
        marked=frozenset(one.name for one in marked),
        listed=listed,
        is_list_known=times["__all__"] == (listed is not None) and "__all__" not in handed_on,
        handed_on=handed_on,
    )


def _is_dynamic(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(names=[ast.alias(name="*")]):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.alias(name=name):
            return name in _DYNAMIC
    return False


def _run_on_import(tree: ast.Module) -> Iterator[ast.AST]:
    """Give all parts of a module but the bodies of its functions."""
    left: list[ast.AST] = list(tree.body)
    while left:
        node = left.pop()
        yield node
        if isinstance(node, _Function):
            left += [*node.decorator_list, node.args]
        elif not isinstance(node, ast.Lambda):
            left += ast.iter_child_nodes(node)


def _bound_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name


def _names_of_wonder(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Give the names by which a module knows `wonder`, and `wonder.function`."""
    modules, marks = set(), set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            modules |= {one.asname or "wonder" for one in node.names if one.name == "wonder"}
        elif isinstance(node, ast.ImportFrom) and node.module == "wonder" and not node.level:
            marks |= {one.asname or one.name for one in node.names if one.name == "function"}
    return modules, marks


def _is_mark(decorator: ast.expr, modules: set[str], marks: set[str]) -> bool:
    match decorator.func if isinstance(decorator, ast.Call) else decorator:
        case ast.Attribute(value=ast.Name(id=module), attr="function"):
            return module in modules
        case ast.Name(id=name):
            return name in marks
    return False


def _listed(tree: ast.Module) -> frozenset[str] | None:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=parts) | ast.Tuple(elts=parts)):
                names = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
                return frozenset(names) if len(names) == len(parts) else None
    return None
