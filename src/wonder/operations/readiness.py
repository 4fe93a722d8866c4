"""Whether a server can do what it is asked for: its database answers, and some process runs the engine."""

import asyncio
from typing import Literal

from wonder.app.application import Application
from wonder.operations.outputs import Output
from wonder.storage.runs.leases import is_held
from wonder.storage.tenancy import load_project

_SECONDS = 2.0


class Readiness(Output, frozen=True):
    """What a server has of what it needs."""

    ready: bool
    database: bool
    """Whether the database has answered within two seconds."""
    engine: Literal["here", "elsewhere", "none"]
    """Where the engine runs."""


async def readiness(application: Application) -> Readiness:
    """Ask the database, and say whether an engine runs."""
    try:
        async with asyncio.timeout(_SECONDS):
            await load_project(application.store.unsettled, application.home.project_id)
            is_running = application.engine is not None or await is_held(application.store)
    except Exception:  # whatever it is, the database can't be used
        return Readiness(ready=False, database=False, engine="here" if application.engine else "none")
    if application.engine:
        return Readiness(ready=True, database=True, engine="here")
    return Readiness(ready=is_running, database=True, engine="elsewhere" if is_running else "none")
