"""Tasks that wait for a function: which tokens, and which functions a run waits for (TSK-8)."""

from typing import NamedTuple

from wonder.language.values import encode_json
from wonder.storage.runs.cells import from_json, text
from wonder.storage.store import Reader


class FunctionWait(NamedTuple):
    """A token that waits for a process that has its function."""

    run_id: str
    token_id: str
    function: str


async def waits_for_functions(reader: Reader) -> list[FunctionWait]:
    """List all tokens that wait for a function."""
    found: list[FunctionWait] = []
    for row in await reader.fetch_named("waits_for_functions"):
        wait = from_json(row["state_data"]) or {}
        if wait.get("kind") == "function":
            found.append(FunctionWait(text(row["run_id"]), text(row["id"]), wait["function"]))
    return found


async def awaited_functions(reader: Reader, run_id: str) -> list[str]:
    """List the functions that a run, and the sub-workflows that it waits for, wait for, each once."""
    found: dict[str, None] = {}
    for row in await reader.fetch_named("live_tokens_of_runs", encode_json([run_id])):
        wait = from_json(row["state_data"]) or {}
        if wait.get("kind") == "function":
            found[wait["function"]] = None
        elif wait.get("kind") == "workflow_call":
            found |= dict.fromkeys(await awaited_functions(reader, wait["child_run_id"]))
    return list(found)
