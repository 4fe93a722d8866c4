"""What definitions only name, looked up when an action uses it: settings, models, servers, prompts (RES-2, RES-4)."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from wonder.actions.protocol import ActionFailed, Origin
from wonder.definitions.records.resources import ArtifactType, McpServer, ModelProfile, PromptSpec, VectorIndex
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings
from wonder.definitions.secret_scopes import Destination, SecretScope, quoted
from wonder.storage.clock import end_of_millisecond
from wonder.storage.definitions import load_definition
from wonder.storage.mcp_approvals import is_approved
from wonder.storage.named_resources import find_resource, load_resource
from wonder.storage.resource_errors import NotFound
from wonder.storage.runs.headers import load_header
from wonder.storage.store import Reader
from wonder.storage.tenancy import load_project, load_workspace

# A change of settings is heard of within this time; to read them with every call would cost more than many calls.
_FRESH_MS: Final = 1_000
_MODELS_MAX: Final = 1_000
_PROMPTS_MAX: Final = 1_000

Named = TypeVar("Named", ModelProfile, McpServer, VectorIndex)
Versioned = TypeVar("Versioned", PromptSpec, ArtifactType)


class Tenancy(Struct, frozen=True):
    """Whose an action is, and what its workspace and project allow (RES-6)."""

    workspace_id: str
    workspace: WorkspaceSettings
    project_id: str
    project: ProjectSettings
    workspace_name: str = ""
    project_name: str = ""

    @property
    def has_budget(self) -> bool:
        """Whether what calls of models cost counts against a budget."""
        return self.workspace.budget.is_set or self.project.budget.is_set


Where: TypeAlias = Callable[[Mapping[str, str]], Destination]
"""Says where secrets with these values go."""


class Secrets(Protocol):
    """Where the values of secrets come from."""

    async def values(
        self, project_id: str, names: Collection[str], where: Where, run_id: str | None = None
    ) -> dict[str, str]:
        """Give the values of secrets by name, of the project or its workspace; raises SecretMissing, SecretOutOfScope.

        `where` says where they go, once it is given the values: an address may have secrets in it. Without a run, no
        workflow uses them. What was given here is redacted wherever it would be shown from now on (INV-8).
        """


class NoSecrets:
    """There are none."""

    async def values(
        self, project_id: str, names: Collection[str], where: Where, run_id: str | None = None
    ) -> dict[str, str]:
        """Refuse any name."""
        if names:
            raise SecretMissing(min(names))
        return {}


class SecretMissing(ActionFailed):
    """A definition uses a secret that nobody has stored."""

    def __init__(self, name: str) -> None:
        message = f"there is no secret {name!r} here; store it with: wonder secrets set {quoted(name)}"
        super().__init__("SECRET_MISSING", message, details={"secret": name})


class SecretOutOfScope(ActionFailed):
    """A secret would go where its scope does not let it."""

    def __init__(self, name: str, scope: SecretScope | None, destination: Destination, workflow: str | None) -> None:
        command = f"wonder secrets scope {quoted(name)}"
        if scope is None:
            code = "SECRET_UNSCOPED"
            message = (
                f"the secret {name!r} has no scope, and in a long-running process a secret is used only where its "
                f"scope says; if it is for {destination}, allow that: {command} {destination.option}"
            )
        else:
            code = "SECRET_OUT_OF_SCOPE"
            by = f"the workflow {workflow!r}" if workflow is not None else str(destination)
            more = f"--for-workflow {quoted(workflow)}" if workflow is not None else destination.option
            message = (
                f"the secret {name!r} is not for {by}: its scope is {scope.options() or 'damaged'}; use another "
                f"secret, or widen the scope: {command} {scope.options()} {more}"
            )
        details = {"secret": name, "destination": str(destination), "workflow": workflow}
        super().__init__(code, message, details=details)


class Resources:
    """Reads what actions name, for all kinds of action of one engine.

    `local` is true where a person runs their own runs from a shell (`wonder run`), and false in every long-running
    process: there, only what the operator has allowed by name may be used.
    """

    def __init__(
        self, reader: Reader, now_ms: Callable[[], int], secrets: Secrets | None = None, *, local: bool = False
    ) -> None:
        self._reader, self._now_ms = reader, now_ms
        self.local = local
        self.secrets: Secrets = secrets or NoSecrets()
        self._tenancies: dict[str, tuple[int, Tenancy]] = {}
        self._models: dict[tuple[str, str], tuple[int, ModelProfile]] = {}
        self._versions: dict[tuple[str, str, str], int] = {}
        self._definitions: dict[tuple[type, str, int], PromptSpec | ArtifactType] = {}

    async def tenancy(self, project_id: str) -> Tenancy:
        """Give the settings of a project and its workspace, as they were a moment ago at most."""
        now_ms = self._now_ms()
        read_ms, known = self._tenancies.get(project_id, (0, None))
        if known is not None and 0 <= now_ms - read_ms < _FRESH_MS:
            return known
        project = await load_project(self._reader, project_id)
        workspace = await load_workspace(self._reader, project.workspace_id)
        known = Tenancy(workspace.id, workspace.settings, project.id, project.settings, workspace.name, project.name)
        self._tenancies[project_id] = (now_ms, known)
        return known

    def forget_settings(self) -> None:
        """Read settings again when they are next asked for, because this process has changed them."""
        self._tenancies.clear()

    async def named(self, kind: type[Named], project_id: str, id: str) -> Named:
        """Give a project's resource by its id or name, as it is now; raises NotFound."""
        try:
            found: Named | None = await load_resource(self._reader, kind, id)
        except NotFound:
            found = await find_resource(self._reader, kind, project_id, id)
        # That of another project is as good as none (INV-7).
        if found is None or found.project_id != project_id:
            raise NotFound(_NOUNS[kind], id)
        return found

    async def has_approved(self, server: McpServer, folder: str) -> bool:
        """Say whether somebody has approved a server as it is written, in the folder that it would be started in."""
        return await is_approved(self._reader, server.project_id, server.connection, folder)

    async def model_of_run(self, id: str, origin: Origin) -> ModelProfile:
        """Give a model by its id or name, as it was a moment ago at most; raises NotFound.

        It is never older than the run's first use of it: who changes a model and then starts a run sees the change.
        """
        key, now_ms = (origin.run_id, id), self._now_ms()
        read_ms, known = self._models.get(key, (0, None))
        if known is not None and 0 <= now_ms - read_ms < _FRESH_MS:
            return known
        known = await self.named(ModelProfile, origin.project_id, id)
        while len(self._models) >= _MODELS_MAX:
            del self._models[next(iter(self._models))]
        self._models[key] = (now_ms, known)
        return known

    async def at_start(self, kind: type[Versioned], id: str, origin: Origin) -> Versioned:
        """Give a definition at the version that was the newest when the run started (RES-4); raises NotFound."""
        key = (kind.__name__, id, origin.run_id)
        version = self._versions.get(key)
        if version is None:
            run = await load_header(self._reader, origin.run_id)
            started = end_of_millisecond(run.started_ms or run.created_ms)
            rows = await self._reader.fetch(f"version_at_start({_TABLES[kind]})", id, started)
            if not rows:
                raise NotFound(_NOUNS[kind], id)
            version = int(str(rows[0][0]))
            while len(self._versions) >= _PROMPTS_MAX:
                del self._versions[next(iter(self._versions))]
            self._versions[key] = version
        return await self.definition(kind, id, version)

    async def definition(self, kind: type[Versioned], id: str, version: int) -> Versioned:
        """Give one version of a definition, which never changes; raises NotFound."""
        key = (kind, id, version)
        known = self._definitions.get(key)
        if known is None:
            while len(self._definitions) >= _PROMPTS_MAX:
                del self._definitions[next(iter(self._definitions))]
            known = self._definitions[key] = await load_definition(self._reader, kind, id, version)
        assert isinstance(known, kind)
        return known


_NOUNS: Final[dict[type, str]] = {
    ModelProfile: "model",
    McpServer: "MCP server",
    VectorIndex: "vector index",
    PromptSpec: "prompt",
    ArtifactType: "artifact type",
}
_TABLES: Final[dict[type, str]] = {PromptSpec: "prompt_specs", ArtifactType: "artifact_types"}
