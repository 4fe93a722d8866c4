"""`http_request` actions for tests, run one at a time without a task around them."""

import time
from typing import Any, Self

from support.settled import SettledResources
from support.tasks import ORIGIN, action
from wonder.actions.http_request.kind import HttpRequestKind
from wonder.actions.protocol import ActionContext, Use


def now_ms() -> int:
    """The time of day."""
    return int(time.time() * 1000)


def settled(*, allow_private: bool, secrets: dict[str, str] | None = None) -> SettledResources:
    """A workspace that allows loopback, or does not."""
    return SettledResources(workspace={"allow_private_addresses": allow_private}, secrets=secrets)


class Asking:
    """The kind, with what it keeps, to be closed in the end."""

    def __init__(
        self, *, allow_private: bool = True, secrets: dict[str, str] | None = None, artifacts: Any = None
    ) -> None:
        self.resources = settled(allow_private=allow_private, secrets=secrets)
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
