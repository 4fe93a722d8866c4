"""One project of an open database: what everything that reads or changes it is given."""

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Self

from wonder.storage.store import NewId, Store, UtcNow

if TYPE_CHECKING:
    from wonder.app.callers import Caller
    from wonder.app.remote import Remote
    from wonder.app.transforms import Transforms
    from wonder.definitions.records.graph import WorkflowDef
    from wonder.storage.secret_keys import KeySource
    from wonder.storage.tenancy import Home

_DEFINITIONS_KEPT = 200


class OpenProject:
    """A database that is open, and the project in it that is used."""

    caller: "Caller | None" = None
    """Who asks, where a door knows it; None for a program that has opened the database itself (KEY-3)."""
    remote: "Remote | None" = None
    """The server that carries out operations, where the database is not open in this process."""

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
        self._of = self
        """The one that was opened; another than this one where this one acts for a caller."""
        self._transforms: Transforms | None = None
        self._definitions: dict[tuple[str, int], WorkflowDef] = {}

    def acting_for(self, caller: "Caller", home: "Home | None" = None) -> Self:
        """Give what a caller uses of the same open database: as long as this one is open, in this or another project.

        Whether the caller may use that project is for the door to have checked (`Caller.covers`).
        """
        other = copy(self)
        other.caller, other.home = caller, self.home if home is None else home
        return other

    @property
    def transforms(self) -> "Transforms":
        """What compiles transforms, made when it is first asked for."""
        if self._of is not self:
            return self._of.transforms
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
        if self._of is self and self._transforms is not None:
            await self._transforms.close()
