"""`http_request` actions for tests, run one at a time without a task around them."""

import time
from collections.abc import Collection
from typing import Any, Self

from support.tasks import ORIGIN, NothingStored, action
from wonder.actions.http_request import HttpRequestKind
from wonder.actions.protocol import ActionContext, Use
from wonder.actions.resources import Resources, SecretMissing, Tenancy
from wonder.definitions.records.tenancy import ProjectSettings, WorkspaceSettings


def now_ms() -> int:
    """The time of day."""
    return int(time.time() * 1000)


class Settled(Resources):
    """What a workspace allows, and its secrets, as a test says."""

    def __init__(self, *, allow_private: bool, secrets: dict[str, str] | None = None) -> None:
        super().__init__(NothingStored(), now_ms, Known(secrets or {}))
        self.allow_private = allow_private

    async def tenancy(self, project_id: str) -> Tenancy:
        """Give the settings."""
        settings = WorkspaceSettings(allow_private_addresses=self.allow_private)
        return Tenancy("workspace", settings, project_id, ProjectSettings())


class Known:
    """Secrets; `asked` has the names that were asked for."""

    def __init__(self, secrets: dict[str, str]) -> None:
        self.secrets = secrets
        self.asked: list[str] = []

    async def values(self, project_id: str, names: Collection[str]) -> dict[str, str]:
        """Give them."""
        self.asked += names
        if missing := set(names) - set(self.secrets):
            raise SecretMissing(min(missing))
        return {name: self.secrets[name] for name in names}


class Asking:
    """The kind, with what it keeps, to be closed in the end."""

    def __init__(
        self, *, allow_private: bool = True, secrets: dict[str, str] | None = None, artifacts: Any = None
    ) -> None:
        self.resources = Settled(allow_private=allow_private, secrets=secrets)
        self.kind = HttpRequestKind(self.resources, now_ms, artifacts)

    async def ask(self, url: str, input: Any = None, *, key: str | None = None, **fields: Any) -> Any:
        """Send one request."""
        implementation = {"url_template": url, "method": "GET", **fields}
        compiled = self.kind.compile(action("a", "http_request", implementation), Use())
        return await compiled.run({} if input is None else input, ActionContext(ORIGIN, "a", 1, idempotency_key=key))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kind.close()
