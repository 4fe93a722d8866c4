"""Large outputs: what is too large to be part of an event is kept as an artifact, and the event says where (EVT-1)."""

import asyncio
import logging
from typing import Any, Final, Protocol

from wonder.actions.protocol import Origin
from wonder.engine.limits import CUT_SHOWN, RECORDED_MAX
from wonder.errors import WonderError
from wonder.language.values import JsonValue, encode_json

# Longer than a store that works takes; the result of the task waits for it.
_SECONDS_MAX: Final = 60.0
# A text of fewer characters has no more than an event may have, however they are escaped in JSON.
_SHORT: Final = RECORDED_MAX // 6
_CONTAINERS: Final = (dict, list)

log = logging.getLogger("wonder.executor")


class LargeOutputs(Protocol):
    """Where large outputs are kept."""

    async def keep_output(self, content: bytes, origin: Origin) -> str:
        """Keep the output of a task as JSON; durable when this returns the id of its artifact."""


def is_large(output: JsonValue) -> bool:
    """Say whether an output has more characters as JSON than an event may have."""
    if isinstance(output, str):
        return len(output) > _SHORT and len(encode_json(output)) > RECORDED_MAX
    return isinstance(output, _CONTAINERS) and bool(output) and len(encode_json(output)) > RECORDED_MAX


async def cut(output: JsonValue, origin: Origin, outputs: LargeOutputs | None) -> dict[str, Any]:
    """Keep a large output; returns what the event says in its place. What can't be kept fails no task."""
    written = encode_json(output)
    content = written.encode()
    told: dict[str, Any] = {"bytes": len(content), "start": written[:CUT_SHOWN]}
    if outputs is None:
        return {**told, "lost": "there is no object store"}
    try:
        async with asyncio.timeout(_SECONDS_MAX):
            told["kept_as"] = f"artifact {await outputs.keep_output(content, origin)}"
    except (WonderError, TimeoutError) as error:
        reason = str(error) or f"the object store did not answer within {_SECONDS_MAX:.0f} seconds"
        log.warning("the output of %s in run %s is not kept: %s", origin.node, origin.run_id, reason)
        told["lost"] = reason
    return told
