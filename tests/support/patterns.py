"""The pattern samples on a real database: one of them deployed, to be played."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from simulation.plays import FILES
from simulation.plays.play import Play

from support.systems import assert_sound, verify_all
from wonder.app.opening import open_wonder


@asynccontextmanager
async def playing(url: str, number: int) -> AsyncIterator[Play]:
    """Open a database, and deploy the sample of a pattern to it; at last each run is what its events say (EVT-2)."""
    async with open_wonder(url, modules=["functions"], module_folders=[FILES[number].parent]) as wonder:
        workflow = await wonder.deploy(FILES[number])
        store = wonder.store
        refs = {str(id): str(ref) for id, ref in await store.query("SELECT id, ref FROM nodes")}
        yield Play(wonder, store, workflow.name, refs)
        await verify_all(store)
    await assert_sound(url)
