"""Resources for tests of actions: a workspace and a project with settings of the test's own, and secrets."""

from collections.abc import Collection
from typing import Any

from support.tasks import NothingStored
from wonder.actions.resources import Resources, SecretMissing, Tenancy, Where
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings


class SettledResources(Resources):
    """What a workspace and a project allow, without a database."""

    def __init__(
        self,
        *,
        workspace: dict[str, Any] | None = None,
        project: dict[str, Any] | None = None,
        secrets: dict[str, str] | None = None,
        local: bool = True,
    ) -> None:
        super().__init__(NothingStored(), lambda: 0, GivenSecrets(secrets or {}), local=local)
        self.workspace = WorkspaceSettings.model_validate(workspace or {})
        self.project = ProjectSettings.model_validate(project or {})

    async def tenancy(self, project_id: str) -> Tenancy:
        """Give the settings."""
        return Tenancy("workspace", self.workspace, project_id, self.project)


class GivenSecrets:
    """Secrets that a test has given."""

    def __init__(self, known: dict[str, str]) -> None:
        self._known = known

    async def values(
        self, project_id: str, names: Collection[str], where: Where, run_id: str | None = None
    ) -> dict[str, str]:
        """Give the values; raises SecretMissing."""
        for name in sorted(names):
            if name not in self._known:
                raise SecretMissing(name)
        return {name: self._known[name] for name in names}
