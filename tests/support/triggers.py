"""Workflows that trigger others, and a look at what came of it."""

from typing import Any

from support.definitions import update
from support.systems import bundle, calls, until
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.storage.runs.headers import RunHeader, load_headers
from wonder.storage.runs.triggering import StoredFiring, firings_of_run, runs_triggered_by, trigger_status


def target(name: str = "target", **fields: Any) -> dict[str, Any]:
    """Make a workflow that gives its input back."""
    made = bundle(name, {"only": update(**{"output.got": "input"})}, **fields)["workflow"]
    del made["name"]
    return {name: made}


def source(*triggers: dict[str, Any], name: str = "source", **others: Any) -> dict[str, Any]:
    """Make a bundle whose workflow gives its input as its output, and then triggers others."""
    whole = {"action": {"kind": "python", "implementation": {"function": "tests:give"}}, "input_mapping": "$.input"}
    main = bundle(name, {"only": whole | {"output_mapping": {"output": "$"}}}, triggers=list(triggers))
    return {**main, "workflows": {**target(), **others}}


def trigger(workflow: str = "target", inputs: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Make a trigger."""
    return {"workflowId": workflow, "inputs": inputs or {}, **fields}


def give(**given: Any) -> dict[str, Any]:
    """Give back what was given."""
    return given


async def fired(wonder: Application, run: Run | str) -> list[StoredFiring]:
    """Wait until no trigger of a run is pending, and give them."""
    run_id = run if isinstance(run, str) else run.id

    async def look() -> list[StoredFiring]:
        firings = await firings_of_run(wonder.store, run_id)
        return firings if trigger_status(firings) != "pending" else []

    found: list[StoredFiring] = await until(look)
    return found


async def triggered(wonder: Application, run: Run | str) -> list[RunHeader]:
    """Wait until all that a run has triggered has ended, and give it in the order of triggers and items."""
    run_id = run if isinstance(run, str) else run.id
    await fired(wonder, run_id)
    ids = [id async for id in runs_triggered_by(wonder.store, run_id)]
    for id in ids:
        await wonder.wait(id)
    headers = {header.id: header for header in await load_headers(wonder.store, ids)}
    return [headers[id] for id in ids]


__all__ = ["calls", "fired", "give", "source", "target", "trigger", "triggered"]
