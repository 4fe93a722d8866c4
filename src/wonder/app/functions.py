"""What is known of the Python functions that a definition calls, for its check (ACT-11)."""

import asyncio
from typing import TYPE_CHECKING

from wonder.definitions.checks.functions import called_functions

if TYPE_CHECKING:
    from wonder.actions.functions.functions import FunctionRegistry
    from wonder.definitions.catalog import KnownFunction
    from wonder.definitions.loading import Loaded


async def known_functions(functions: "FunctionRegistry | None", loaded: "Loaded") -> "dict[str, KnownFunction]":
    """Look at the functions that the actions of a definition call; nothing is imported."""
    names = called_functions(loaded.reading.bundle) if functions else set()
    if functions is None or not names:
        return {}
    # In a thread: files are read.
    found = await asyncio.to_thread(lambda: {name: functions.look_at(name) for name in sorted(names)})
    return {name: known for name, known in found.items() if known}
