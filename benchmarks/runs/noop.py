"""The functions that no-op nodes call: async, so they run in the loop and never in a thread."""

import asyncio
import os
from typing import Any

__all__ = ["return_input", "return_input_unless_held"]

HOLD = "WONDER_BENCH_HOLD"
_HOLDS = HOLD in os.environ


async def return_input(**given: Any) -> dict[str, Any]:
    """Return the input."""
    return given


async def return_input_unless_held(**given: Any) -> dict[str, Any]:
    """Return the input, or never end in a process that is to be killed."""
    if _HOLDS:
        await asyncio.sleep(3_600)
    return given
