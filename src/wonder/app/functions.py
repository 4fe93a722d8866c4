"""What is known of the Python functions that a definition calls, for its check (ACT-11)."""

import asyncio
from typing import TYPE_CHECKING

from wonder.definitions.checks.functions import called_functions

if TYPE_CHECKING:
    from wonder.actions.functions.functions import FunctionRegistry
    from wonder.definitions.catalog import KnownFunction
    from wonder.definitions.loading import Loaded


async def known_functions(
    functions: "FunctionRegistry | None", loaded: "Loaded", files_root: str | None
) -> "dict[str, KnownFunction]":
    """Look at the functions that the actions of a definition call; nothing is imported.

    Without `functions` nothing is known, as in a process that runs nothing. `files_root` is where runs write.
    """
    names = called_functions(loaded.reading.bundle) if functions else set()
    if functions is None or not names:
        return {}
    # In a thread: files are read.
    found = await asyncio.to_thread(lambda: {name: functions.look_at(name, files_root) for name in sorted(names)})
    return {name: known for name, known in found.items() if known}


def calls_functions(loaded: "Loaded") -> bool:
    """Say whether a definition calls Python functions."""
    return bool(called_functions(loaded.reading.bundle))
