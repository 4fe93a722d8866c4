"""Wires the parts together: the only module that knows them all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wonder.app.ids import new_ulid
from wonder.storage.clock import utc_now
from wonder.storage.opening import open_store
from wonder.storage.store import Clock, NewId, Store
from wonder.storage.tenancy import Home, ensure_default

if TYPE_CHECKING:
    from wonder.definitions.catalog import Catalog
    from wonder.definitions.faults import Fault
    from wonder.definitions.loading import Loaded
    from wonder.storage.deploying import Deployed


@dataclass(frozen=True)
class App:
    """Wonder on one database, in one project.

    What reads, checks and stores definitions is imported when it is used: a process that only runs does without it.
    """

    store: Store
    home: Home
    clock: Clock
    new_id: NewId

    async def catalog(self, loaded: "Loaded") -> "Catalog":
        """Load what a definition names that is stored already."""
        from wonder.storage.catalog import load_catalog

        return await load_catalog(self.store, self.home.project_id, loaded.references)

    async def deploy(self, loaded: "Loaded") -> "tuple[Deployed, list[Fault]]":
        """Check and store a definition; give what it has become and its warnings, or raise DefinitionRefused."""
        from wonder.storage.deploying import deploy_bundle

        catalog = await self.catalog(loaded)
        bundle, warnings = loaded.bundle(catalog)
        deployed = await deploy_bundle(self.store, bundle, catalog, self.home, clock=self.clock, new_id=self.new_id)
        return deployed, warnings


@asynccontextmanager
async def open_app(
    url: str, *, create: bool = True, clock: Clock = utc_now, new_id: NewId = new_ulid
) -> AsyncIterator[App]:
    """Open a database, brought up to date, in its default workspace and project."""
    store = await open_store(url, create=create, clock=clock)
    try:
        yield App(store, await ensure_default(store, clock=clock, new_id=new_id), clock, new_id)
    finally:
        await store.close()
