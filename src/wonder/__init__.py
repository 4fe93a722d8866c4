"""Wonder: a durable workflow engine for AI and business processes.

async with wonder.open("sqlite:///app.db") as app:
    workflow = await app.deploy("greet.yaml")
    run = await app.start(workflow, {"names": ["Ada"]})
    result = await run.wait()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from wonder.garbage import seldom_collected

if TYPE_CHECKING:
    from wonder.actions.functions.marked import function as function
    from wonder.actions.protocol import ActionFailed as ActionFailed
    from wonder.actions.python.kind import current_context as current_context
    from wonder.app.results import Run as Run
    from wonder.app.results import RunResult as RunResult
    from wonder.client.errors import ServerRefused as ServerRefused
    from wonder.client.errors import ServerUnreachable as ServerUnreachable
    from wonder.definitions.faults import DefinitionRefused as DefinitionRefused
    from wonder.errors import WonderError as WonderError
    from wonder.operations.catalogue import call as call
    from wonder.program import App as App
    from wonder.program import OutputMisfit as OutputMisfit
    from wonder.program import TypedResult as TypedResult
    from wonder.program import TypedRun as TypedRun
    from wonder.program import connect as connect
    from wonder.program import open as open

__all__ = [
    "ActionFailed",
    "App",
    "DefinitionRefused",
    "OutputMisfit",
    "Run",
    "RunResult",
    "ServerRefused",
    "ServerUnreachable",
    "TypedResult",
    "TypedRun",
    "WonderError",
    "call",
    "connect",
    "current_context",
    "function",
    "open",
]

# Found when they are asked for: the command line imports this package too, and must not wait for the engine.
_PLACES = {
    "ActionFailed": ("wonder.actions.protocol", "ActionFailed"),
    "App": ("wonder.program", "App"),
    "DefinitionRefused": ("wonder.definitions.faults", "DefinitionRefused"),
    "OutputMisfit": ("wonder.program", "OutputMisfit"),
    "Run": ("wonder.app.results", "Run"),
    "RunResult": ("wonder.app.results", "RunResult"),
    "ServerRefused": ("wonder.client.errors", "ServerRefused"),
    "ServerUnreachable": ("wonder.client.errors", "ServerUnreachable"),
    "TypedResult": ("wonder.program", "TypedResult"),
    "TypedRun": ("wonder.program", "TypedRun"),
    "WonderError": ("wonder.errors", "WonderError"),
    "call": ("wonder.operations.catalogue", "call"),
    "connect": ("wonder.program", "connect"),
    "current_context": ("wonder.actions.python.kind", "current_context"),
    "function": ("wonder.actions.functions.marked", "function"),
    "open": ("wonder.program", "open"),
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'wonder' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    with seldom_collected():
        return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
