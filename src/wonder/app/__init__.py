"""Wires the parts together: the only module that knows them all."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct, field

from wonder.app.ids import new_ulid
from wonder.storage.clock import utc_now
from wonder.storage.opening import open_store
from wonder.storage.store import Clock, NewId, Store

if TYPE_CHECKING:
    from wonder.actions.mcp_tool import McpToolKind
    from wonder.app.tools import ToolDirectory
    from wonder.app.transforms import Transforms
    from wonder.definitions.catalog import Catalog
    from wonder.definitions.faults import Fault
    from wonder.definitions.loading import Loaded
    from wonder.storage.deploying import Deployed
    from wonder.storage.secret_keys import KeySource
    from wonder.storage.tenancy import Home


class App(Struct, frozen=True):
    """Wonder on one database, in one project.

    What reads, checks and stores definitions is imported when it is used: a process that only runs does without it.
    """

    store: Store
    home: "Home"
    clock: Clock
    new_id: NewId
    keys: "Callable[[], KeySource] | None" = None
    """Where the keys are that open the secrets of MCP servers; None where none can be used."""
    _transforms: "list[Transforms]" = field(default_factory=list)

    @property
    def transforms(self) -> "Transforms":
        """What compiles transforms, made when it is first asked for."""
        if not self._transforms:
            from wonder.app.transforms import Transforms

            self._transforms.append(Transforms(self.store))
        return self._transforms[0]

    async def close(self) -> None:
        """End what was started to compile."""
        for transforms in self._transforms:
            await transforms.close()

    async def catalog(self, loaded: "Loaded") -> "Catalog":
        """Load what a definition names that is stored already."""
        from wonder.storage.catalog import load_catalog

        return await load_catalog(self.store, self.home.project_id, loaded.references)

    def tools(self, kind: "McpToolKind | None" = None) -> "ToolDirectory":
        """Give what knows the tools of the project's MCP servers; an engine's `kind` keeps those that are started."""
        from wonder.app.tools import ToolDirectory

        return ToolDirectory(
            self.store, self.home.project_id, clock=self.clock, new_id=self.new_id, keys=self.keys, kind=kind
        )

    async def compile(
        self, loaded: "Loaded", *, start_servers: bool = False, kind: "McpToolKind | None" = None
    ) -> "Loaded":
        """Give a definition with its phase forms as graphs and its transforms compiled; faults are told by its check.

        MCP servers that are new with it are asked for their tools only with `start_servers`.
        """
        if not loaded.needs_compiling:
            return loaded
        from wonder.app.phases import compile_loaded

        return await compile_loaded(loaded, self.tools(kind), self.transforms, start_servers=start_servers)

    async def deploy(
        self, loaded: "Loaded", *, start_servers: bool = False, kind: "McpToolKind | None" = None
    ) -> "tuple[Deployed, list[Fault]]":
        """Check and store a definition; give what it has become and its warnings, or raise DefinitionRefused."""
        from wonder.storage.deploying import deploy_bundle

        loaded = await self.compile(loaded, start_servers=start_servers, kind=kind)
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
        async with app_on(store, url, clock=clock, new_id=new_id) as app:
            yield app
    finally:
        await store.close()


@asynccontextmanager
async def app_on(store: Store, url: str, *, clock: Clock = utc_now, new_id: NewId = new_ulid) -> AsyncIterator[App]:
    """Use a database that is open, in its default workspace and project."""
    # Imported here, because it takes long, and a database can be opened meanwhile.
    from wonder.storage.tenancy import ensure_default

    home = await ensure_default(store, clock=clock, new_id=new_id)
    app = App(store, home, clock, new_id, lambda: _keys(url))
    try:
        yield app
    finally:
        await app.close()


def _keys(url: str) -> "KeySource":
    # Imported here, because most processes use no secrets.
    from wonder.storage.secret_keys import key_source

    return key_source(url)
