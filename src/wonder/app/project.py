"""One project of an open database: what everything that reads or changes it is given."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from wonder.storage.store import NewId, Store, UtcNow

if TYPE_CHECKING:
    from wonder.app.transforms import Transforms
    from wonder.definitions.records.graph import WorkflowDef
    from wonder.storage.secret_keys import KeySource
    from wonder.storage.tenancy import Home

_DEFINITIONS_KEPT = 200


class OpenProject:
    """A database that is open, and the project in it that is used."""

    def __init__(
        self,
        store: Store,
        home: "Home",
        clock: UtcNow,
        new_id: NewId,
        keys: "Callable[[], KeySource] | None" = None,
        *,
        local: bool = False,
        url: str = "",
        objects_url: str | None = None,
    ) -> None:
        self.store, self.home, self.clock, self.new_id = store, home, clock, new_id
        self.url, self.objects_url = url, objects_url
        """Where the database is, and the content of artifacts; that is beside the database where it is not said."""
        self.keys = keys
        """Where the keys are that open the secrets of MCP servers; None where none can be used."""
        self.local = local
        """Whether a person uses it from a shell, as in `Resources`."""
        self._transforms: Transforms | None = None
        self._definitions: dict[tuple[str, int], WorkflowDef] = {}

    @property
    def transforms(self) -> "Transforms":
        """What compiles transforms, made when it is first asked for."""
        if self._transforms is None:
            from wonder.app.transforms import Transforms  # starts a compiler, which most processes do without

            self._transforms = Transforms(self.store)
        return self._transforms

    async def definition(self, id: str, version: int) -> "WorkflowDef":
        """Load a version of a workflow's definition, which never changes; the last ones are kept. Raises NotFound."""
        # They load pydantic, which most commands do without.
        from wonder.definitions.records.graph import WorkflowDef
        from wonder.storage.definitions import load_definition

        found = self._definitions.get((id, version)) or await load_definition(self.store, WorkflowDef, id, version)
        if len(self._definitions) >= _DEFINITIONS_KEPT:
            self._definitions.clear()
        self._definitions[id, version] = found
        return found

    async def close(self) -> None:
        """End what was started to compile."""
        if self._transforms is not None:
            await self._transforms.close()
