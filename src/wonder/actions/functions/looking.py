"""What is known of a function before anybody calls it; nothing is imported to know it (ACT-11)."""

from types import ModuleType

from wonder.actions.functions.marked import function_of
from wonder.actions.functions.outline import read_outline
from wonder.actions.functions.parameters import known_live
from wonder.actions.protocol import ActionFailed
from wonder.definitions.catalog import KnownFunction


def not_here(name: str) -> KnownFunction:
    """Say that nothing here has the module of a function: another process may, so that it is no error (TSK-8)."""
    return KnownFunction(
        doubt=f"nothing here has the module of the function '{name}', so its call is not checked",
        hint=f"correct the name, or start the process that is to run it with --module {name.partition(':')[0]}",
    )


def known_in_module(module: ModuleType, module_name: str, name: str) -> KnownFunction | None:
    """Say what is known of a function of a module that is imported already, whose functions need marks."""
    if name not in vars(module) and hasattr(module, "__getattr__"):
        return None
    try:
        call = function_of(module, module_name, name, needs_mark=True)
    except ActionFailed as refused:
        reason, _, hint = str(refused).partition("; ")
        return KnownFunction(refusal=reason, hint=hint)
    return known_live(f"{module_name}:{name}", call)


def known_in_source(path: str, module_name: str, name: str, *, needs_mark: bool) -> KnownFunction | None:
    """Say what is known of a function of a module that is read and not run."""
    outline = read_outline(path)
    return outline.known(module_name, name, needs_mark=needs_mark) if outline else None
