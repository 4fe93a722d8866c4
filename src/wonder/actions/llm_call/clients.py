"""The clients of providers: made when first used, in a thread, shared by all calls with the same address and key."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from wonder.actions.llm_call.connection import Connection, Connections
from wonder.actions.llm_call.mock import MockProvider
from wonder.actions.llm_call.question import Provider
from wonder.actions.protocol import ActionContext, ActionFailed
from wonder.actions.resources import Resources, Tenancy
from wonder.actions.threads import Threads
from wonder.definitions.records.providers import Structured
from wonder.definitions.records.resources import ModelProfile
from wonder.language.values import encode_json

if TYPE_CHECKING:
    import httpx2

_CLIENTS_MAX: Final = 200
_CLASSES: Final = {
    "anthropic": ("wonder.actions.llm_call.anthropic", "AnthropicProvider"),
    "openai": ("wonder.actions.llm_call.openai", "OpenAiProvider"),
    "cloudflare": ("wonder.actions.llm_call.openai", "OpenAiProvider"),
    "local": ("wonder.actions.llm_call.openai", "OpenAiProvider"),
    "google": ("wonder.actions.llm_call.google", "GoogleProvider"),
}


class Client(NamedTuple):
    """A provider that can be asked, how long one call may take, and how it is told to answer with JSON.

    `base_url` is None at the provider's own address; what a server elsewhere counts is not just believed.
    """

    provider: Provider
    timeout_ms: int
    structured: Structured
    base_url: str | None = None


class Clients:
    """Keeps the clients of one engine.

    All of a kind share one HTTP client, which keeps the connections: a client of a provider's library is little more
    than a key, so the oldest can be let go without a thought for who uses it.
    """

    def __init__(self, resources: Resources, threads: Threads, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._connections, self._is_local = Connections(resources.secrets), resources.local
        self._threads, self._sleep = threads, sleep
        self._known: dict[Connection | str, Client] = {}
        self._http: dict[bool, httpx2.AsyncClient] = {}
        self._making = asyncio.Lock()

    async def of(self, profile: ModelProfile, tenancy: Tenancy, context: ActionContext) -> Client:
        """Return the client of a profile; raises ActionFailed."""
        if profile.provider == "mock":
            key: Connection | str = f"{profile.id} {encode_json(profile.execution_config)}"
            if key not in self._known:
                mock = MockProvider(profile, self._sleep)
                self._keep(key, Client(mock, mock.timeout_ms, "native"))
            return self._known[key]
        connection = await self._connections.of(
            profile, tenancy.workspace, local=self._is_local, run_id=context.origin.run_id
        )
        return self._known.get(connection) or await self._made(connection, context)

    async def close(self) -> None:
        """Close all connections."""
        self._known.clear()
        while self._http:
            _, http = self._http.popitem()
            await http.aclose()

    async def _made(self, connection: Connection, context: ActionContext) -> Client:
        # What it takes to get ready is not the action's time.
        context.hold()
        async with self._making:
            known = self._known.get(connection)
            if known is None:
                # In a thread: the provider's library takes one to three seconds to load.
                provider = await self._threads.call(lambda: self._make(connection))
                elsewhere = None if connection.is_own else connection.base_url
                known = Client(provider, connection.timeout_ms, connection.structured, elsewhere)
                self._keep(connection, known)
        context.begin()
        return known

    def _make(self, connection: Connection) -> Any:
        module, name = _CLASSES[connection.provider]
        try:
            made = getattr(importlib.import_module(module), name)
        except ImportError as error:
            message = f"models of {connection.provider} need a library; install it: pip install 'wonder-workflows[llm]'"
            details = {"provider": connection.provider, "missing": str(error.name)}
            raise ActionFailed("EXTRA_MISSING", message, details=details) from error
        if connection.allow_private not in self._http:
            from wonder.actions.llm_call.bounded import bounded_client  # loads httpx2

            self._http[connection.allow_private] = bounded_client(allow_private=connection.allow_private)
        return made(connection, self._http[connection.allow_private])

    def _keep(self, key: Connection | str, client: Client) -> None:
        while len(self._known) >= _CLIENTS_MAX:
            del self._known[next(iter(self._known))]
        self._known[key] = client
