"""Stores a checked bundle: everything that it holds in one transaction, or nothing (RES-2, FIL-6)."""

from collections.abc import Collection, Sequence

from msgspec import Struct, field

from wonder.definitions.binding import Binder, Bound
from wonder.definitions.catalog import Catalog
from wonder.definitions.content import fields_of
from wonder.definitions.drafts import Bundle, Definitions
from wonder.definitions.records.graph import WorkflowDef
from wonder.definitions.records.resources import (
    McpServer,
    ModelProfile,
    ModelProfileBody,
    VectorIndex,
    VectorIndexBody,
)
from wonder.definitions.records.schedules import Schedule, ScheduleBody
from wonder.definitions.records.tenancy import Library
from wonder.definitions.records.workflows import Workflow
from wonder.definitions.references import Reference, ResourceKind
from wonder.storage.bound_workflows import Meant, bind_workflow, require_own_definition
from wonder.storage.context_tables import make_context_tables
from wonder.storage.definitions import (
    Definition,
    Owner,
    StoredVersion,
    add_triggers,
    create_versions,
    lock_owners,
    newest_version,
)
from wonder.storage.named_resources import ensure_resource, find_resource, put_resource
from wonder.storage.names import ids_of_names
from wonder.storage.phase_forms import put_phase_form
from wonder.storage.public_libraries import check_public
from wonder.storage.resource_errors import NotFound, ServerFixed
from wonder.storage.schedules import put_schedule
from wonder.storage.store import Dialect, NewId, Store, Transaction, UtcNow
from wonder.storage.tenancy import Home, create_library, find_library, load_workspace

_Key = tuple[str | None, ResourceKind, str]
"""A library's name (None: the project's own), a kind and a name."""


class Deployed(Struct):
    """What a bundle has become."""

    main: StoredVersion | None = None
    workflows: list[StoredVersion] = field(default_factory=list)
    bindings: dict[str, Workflow] = field(default_factory=dict)
    """What the project calls by the names of these workflows."""
    others: list[tuple[ResourceKind, StoredVersion]] = field(default_factory=list)
    schedules: list[tuple[str, bool]] = field(default_factory=list)
    """The names of its schedules, and whether each was new or changed."""


async def deploy_bundle(
    store: Store,
    bundle: Bundle,
    catalog: Catalog,
    home: Home,
    *,
    clock: UtcNow,
    new_id: NewId,
    allow_mcp: Collection[str] = (),
    public: bool = False,
) -> Deployed:
    """Store a bundle in a project, and its libraries in the project's workspace, or as public ones.

    The MCP servers in `allow_mcp` may be changed although the workspace allows them by name; raises ServerFixed.
    """
    async with store.transaction() as transaction:
        deployment = _Deployment(transaction, store.dialect, catalog, home, clock(), new_id)
        deployment.may_change = frozenset(allow_mcp)
        if public:
            await check_public(transaction, bundle, catalog)
            deployment.library_workspace_id = None
        return await deployment.run(bundle)


class _Part(Struct, frozen=True):
    """The definitions of a bundle that go to one owner: one of its libraries, or the project itself."""

    owner: Owner
    library: str | None
    definitions: Definitions


class _Deployment:
    """One deployment under way in one transaction."""

    def __init__(
        self, transaction: Transaction, dialect: Dialect, catalog: Catalog, home: Home, now: str, new_id: NewId
    ) -> None:
        self._transaction, self._dialect, self._catalog = transaction, dialect, catalog
        self._home, self._now, self._new_id = home, now, new_id
        self._bound: dict[_Key, Bound] = {}
        self._bound_by_id: dict[str, Bound] = {}
        self._deployed = Deployed()
        self.may_change: frozenset[str] = frozenset()
        self.library_workspace_id: str | None = home.workspace_id
        """The workspace whose libraries are meant; None for the public ones."""

    async def run(self, bundle: Bundle) -> Deployed:
        project = Owner("project", self._home.project_id)
        # The project first: all who deploy into it then wait here, in one line, and lock their libraries after it.
        await lock_owners(self._transaction, [project])
        parts = [
            _Part(await self._library(name, library.description), name, library.definitions)
            for name, library in bundle.libraries.items()
        ]
        await lock_owners(self._transaction, [part.owner for part in parts])
        parts.append(_Part(project, None, bundle.definitions))
        await self._connections(bundle)
        # Kind by kind, not owner by owner: two libraries of a file may each name something of the other.
        for part in parts:
            await self._artifact_types_and_prompts(part)
        await self._vector_indexes(bundle)
        for part in parts:
            await self._choose_workflow_ids(part)
        await self._bind_names(bundle)
        for part in parts:
            actions = [self._binder(part).action(draft) for draft in part.definitions.actions.values()]
            await self._store(actions, "action", part.library)
        for part in parts:
            tasks = [self._binder(part).task(draft) for draft in part.definitions.tasks.values()]
            await self._store(tasks, "task", part.library)
        for part in parts:
            await self._workflows(part, bundle)
        await self._bound_workflows(bundle)
        await self._schedules(bundle)
        return self._deployed

    async def _library(self, name: str, description: str | None) -> Owner:
        library = await find_library(self._transaction, self.library_workspace_id, name)
        if library is None or library.workspace_id != self.library_workspace_id:
            library = Library(
                id=self._new_id(),
                workspace_id=self.library_workspace_id,
                name=name,
                description=description,
                created_at=self._now,
                updated_at=self._now,
            )
            await create_library(self._transaction, library)
        return Owner("library", library.id)

    async def _connections(self, bundle: Bundle) -> None:
        for name, model in bundle.models.items():
            profile = ModelProfile.model_validate(self._named(name) | fields_of(ModelProfileBody, model))
            self._bind(None, "model", name, (await put_resource(self._transaction, profile)).record.id)
        if bundle.mcp_servers:
            await self._mcp_servers(bundle)

    async def _mcp_servers(self, bundle: Bundle) -> None:
        workspace = await load_workspace(self._transaction, self._home.workspace_id)
        allowed = workspace.settings.allowed_mcp_servers or ()
        for name, connection in bundle.mcp_servers.items():
            chosen = {"id": bundle.server_ids[name]} if name in bundle.server_ids else {}
            server = McpServer.model_validate(self._named(name) | chosen | {"connection": connection})
            put = await put_resource(self._transaction, server)
            # Allowed was what an admin has seen; a file that could change it would be allowed to run anything.
            is_fixed = name in allowed and name not in self.may_change
            if put.is_changed and not put.is_new and is_fixed:
                raise ServerFixed(name)
            self._bind(None, "mcp_server", name, put.record.id)

    async def _artifact_types_and_prompts(self, part: _Part) -> None:
        binder = self._binder(part)
        types = [binder.artifact_type(name, body) for name, body in part.definitions.artifact_types.items()]
        await self._store(types, "artifact_type", part.library)
        prompts = [binder.prompt(name, body) for name, body in part.definitions.prompts.items()]
        await self._store(prompts, "prompt", part.library)

    async def _vector_indexes(self, bundle: Bundle) -> None:
        for name, draft in bundle.vector_indexes.items():
            types = [self._resolver(None)(reference).id for reference in draft.artifact_types]
            fields = fields_of(VectorIndexBody, draft.body) | {"artifact_type_ids": types}
            index = VectorIndex.model_validate(self._named(name) | fields)
            self._bind(None, "vector_index", name, (await put_resource(self._transaction, index)).record.id)

    async def _choose_workflow_ids(self, part: _Part) -> None:
        """A workflow may call itself, or another of this bundle, before any version of it is there: ids come first."""
        names = list(part.definitions.workflows)
        ids = await ids_of_names(self._transaction, WorkflowDef, part.owner, names)
        for name in names:
            self._bind(part.library, "workflow", name, ids.get(name) or self._new_id())

    async def _workflows(self, part: _Part, bundle: Bundle) -> None:
        binder, drafts = self._binder(part), part.definitions.workflows
        records = [
            binder.workflow(draft).model_copy(update={"id": self._bound[part.library, "workflow", draft.name].id})
            for draft in drafts.values()
        ]
        stored = await create_versions(self._transaction, records)
        for record, version in zip(records, stored, strict=True):
            if version.is_new:
                triggers = binder.triggers(drafts[version.name], version.id, version.version)
                await add_triggers(self._transaction, triggers)
                of = (version.id, version.version)
                await make_context_tables(self._transaction, self._dialect, record, version.name, of, at=self._now)
            if part.library is not None:
                self._deployed.others.append(("workflow", version))
                continue
            await self._workflow(version, drafts[version.name].body.description)
            if phases := bundle.phases.get(version.name):
                # Also with a version that was there: its text may be another, and its tools may be newer.
                await put_phase_form(self._transaction, version.id, version.version, phases)
            self._deployed.workflows.append(version)
            if version.name == bundle.main:
                self._deployed.main = version

    async def _store(self, records: Sequence[Definition], kind: ResourceKind, library: str | None) -> None:
        for stored in await create_versions(self._transaction, records):
            self._bind(library, kind, stored.name, stored.id, stored.version)
            self._deployed.others.append((kind, stored))

    async def _workflow(self, version: StoredVersion, description: str) -> None:
        """Bind a definition to the project under its name; what a person has set there stays (FIL-6)."""
        record = Workflow.model_validate(
            self._named(version.name) | {"workflow_def_id": version.id, "description": description}
        )
        put = await ensure_resource(self._transaction, record)
        await require_own_definition(self._transaction, put.record, version.id)
        self._deployed.bindings[version.name] = put.record

    async def _bind_names(self, bundle: Bundle) -> None:
        """Let the names of workflows that run other definitions mean these, for all that is bound after them."""
        for bound in bundle.bound_workflows.values():
            assert bound.definition is not None
            self._bound[None, "workflow", bound.name] = Bound(self._resolver(None)(bound.definition).id, None)

    async def _bound_workflows(self, bundle: Bundle) -> None:
        for bound in bundle.bound_workflows.values():
            assert bound.definition is not None
            meant = Meant(self._bound[None, "workflow", bound.name].id, bound.definition.version)
            fields = {"workflow_def_id": meant.id, "description": bound.description}
            workflow = Workflow.model_validate(self._named(bound.name) | fields)
            put = await bind_workflow(self._transaction, workflow, meant)
            version = put.record.pinned_version or await newest_version(self._transaction, meant.id)
            stored = StoredVersion(bound.name, meant.id, version, put.is_changed)
            self._deployed.bindings[bound.name] = put.record
            self._deployed.workflows.append(stored)
            if bound.name == bundle.main:
                self._deployed.main = stored

    async def _schedules(self, bundle: Bundle) -> None:
        for name, draft in bundle.schedules.items():
            assert draft.workflow is not None
            target = draft.workflow.name
            workflow = await find_resource(self._transaction, Workflow, self._home.project_id, target)
            if workflow is None:
                raise NotFound("workflow of the project", target)
            fields = fields_of(ScheduleBody, draft.body) | {"workflow_id": workflow.id}
            schedule = Schedule.model_validate(self._named(name) | fields)
            _, is_changed = await put_schedule(self._transaction, schedule, paused=draft.paused, now=self._now)
            self._deployed.schedules.append((name, is_changed))

    def _binder(self, part: _Part) -> Binder:
        return Binder(*part.owner.keys, self._resolver(part.library), self._new_id, self._now)

    def _resolver(self, library: str | None) -> "_Resolver":
        return _Resolver(self._bound, self._bound_by_id, self._catalog, library)

    def _bind(self, library: str | None, kind: ResourceKind, name: str, id: str, version: int | None = None) -> None:
        self._bound[library, kind, name] = self._bound_by_id[id] = Bound(id, version)

    def _named(self, name: str) -> dict[str, str]:
        now = self._now
        return {
            "id": self._new_id(),
            "project_id": self._home.project_id,
            "name": name,
            "created_at": now,
            "updated_at": now,
        }


class _Resolver:
    """Says what a reference in one set of definitions means, which the checks have shown to be one thing."""

    def __init__(
        self, bound: dict[_Key, Bound], by_id: dict[str, Bound], catalog: Catalog, library: str | None
    ) -> None:
        self._bound, self._by_id, self._catalog, self._library = bound, by_id, catalog, library

    def __call__(self, reference: Reference) -> Bound:
        if reference.version is None:
            own = self._bound.get((reference.library or self._library, reference.kind, reference.name))
            if own:
                return own
        if reference.kind == "artifact_type" and reference.name == "blob":
            return Bound("blob", None)
        (found,) = self._catalog.find(reference)
        # A name without its library can mean something that this bundle has just made a new version of.
        if reference.version is None and found.id in self._by_id:
            return self._by_id[found.id]
        return Bound(found.id, found.version)
