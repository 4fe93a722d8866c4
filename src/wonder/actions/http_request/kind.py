"""`http_request`: a request made from templates, sent where the workspace allows it, with its answer read (ACT-3)."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from wonder.actions.artifacts.storing import Artifacts
from wonder.actions.equipment import Equipment
from wonder.actions.http_request.declaration import Declaration
from wonder.actions.http_request.record import HttpRequest
from wonder.actions.http_request.templates import Rendered, RequestTemplates
from wonder.actions.protocol import ActionContext, ActionFailed, ActionKind, Use
from wonder.actions.resources import Resources
from wonder.actions.threads import Threads
from wonder.definitions.records.actions import ActionDef
from wonder.language.values import JsonValue

if TYPE_CHECKING:
    # Imported when it is first used, because httpx2 takes a fifth of a second to load.
    from wonder.actions.http.client import GuardedTransport
    from wonder.actions.http_request.outgoing import Outgoing
    from wonder.definitions.secret_scopes import Destination

DEFAULT_SECONDS: Final = 60.0
"""How long a request may take where neither its action nor its task has a limit."""

_THREADS_MAX: Final = 16


class HttpRequestKind(Declaration, ActionKind):
    """Sends requests over connections that are kept for all actions of an engine."""

    def __init__(self, resources: Resources, now_ms: Callable[[], int], artifacts: Artifacts | None = None) -> None:
        """Make the kind; without an object store, no response can become an artifact."""
        self.resources, self.now_ms, self.artifacts = resources, now_ms, artifacts
        # Of its own: names must be looked up, and large answers read, however long users' functions keep theirs.
        self.threads = Threads(_THREADS_MAX)
        # Apart, so that nobody goes over a connection that another was allowed.
        self._transports: dict[bool, GuardedTransport] = {}

    @classmethod
    def made_with(cls, equipment: Equipment) -> "HttpRequestKind":
        """Make the kind with what it needs of a process."""
        return cls(equipment.resources, equipment.now_ms, equipment.artifacts)

    def compile(self, action: ActionDef, use: Use) -> "HttpRequestAction":
        """Compile an action's templates."""
        return HttpRequestAction(self.read(action), self)

    async def transport(self, context: ActionContext) -> "GuardedTransport":
        """Return what sends the requests of a project, which may reach what its workspace allows."""
        tenancy = await self.resources.tenancy(context.origin.project_id)
        allow_private = tenancy.workspace.allow_private_addresses
        if allow_private not in self._transports:
            # In a thread, and out of the attempt's time, because that is short.
            context.hold()
            await self.threads.call(_load)
            context.begin()
            self._transports.setdefault(allow_private, self._new_transport(allow_private=allow_private))
        return self._transports[allow_private]

    async def close(self) -> None:
        """Close all connections."""
        while self._transports:
            _, transport = self._transports.popitem()
            await transport.aclose()
        self.threads.close()

    def _new_transport(self, *, allow_private: bool) -> "GuardedTransport":
        # Loaded before, by `_load`.
        from wonder.actions.http.addresses import resolve_blocking
        from wonder.actions.http.client import GuardedTransport

        async def resolve(host: str) -> list[str]:
            # In our threads, of which one that hangs is given up; the loop's own would be waited for at the end.
            found: list[str] = await self.threads.call(lambda: resolve_blocking(host))
            return found

        return GuardedTransport(allow_private=allow_private, resolve=resolve)


class HttpRequestAction:
    """One request, as its author wrote it."""

    __slots__ = ("_accepted", "_kind", "_response", "_templates")

    def __init__(self, request: HttpRequest, kind: HttpRequestKind) -> None:
        self._kind, self._templates = kind, RequestTemplates(request)
        self._accepted, self._response = frozenset(request.accept_status), request.response

    async def run(self, input: JsonValue, context: ActionContext) -> JsonValue:
        """Send the request and follow where it leads; raises ActionFailed."""
        transport = await self._kind.transport(context)
        # Loaded before, by `_load`.
        from wonder.actions.http_request.exchange import Exchange
        from wonder.actions.http_request.outgoing import make_request

        def made(secrets: Mapping[str, str]) -> "tuple[Rendered, Outgoing]":
            rendered = self._templates.render(input, dict(secrets))
            wants_json = self._response == "json"
            return rendered, make_request(rendered, wants_json=wants_json, idempotency_key=context.idempotency_key)

        def goes_to(secrets: Mapping[str, str]) -> "Destination":
            request = made(secrets)[1]
            if any(header.name.lower() == "host" for header in request.headers):
                message = (
                    "the header Host can't be given beside secrets, because who serves several hosts would hand them "
                    "to another one than they are for; leave it out"
                )
                raise ActionFailed("BAD_HEADER", message, details={"header": "Host"})
            return request.destination

        secrets: dict[str, str] = {}
        if names := self._templates.secrets:
            origin = context.origin
            secrets = await self._kind.resources.secrets.values(origin.project_id, names, goes_to, origin.run_id)
        rendered, request = made(secrets)
        kind = self._kind
        exchange = Exchange(
            transport, kind.threads, kind.now_ms, kind.artifacts, rendered.shown, self._response, self._accepted
        )
        if context.deadline_ms is not None:
            return await exchange.run(request, context)
        try:
            async with asyncio.timeout(DEFAULT_SECONDS):
                return await exchange.run(request, context)
        except TimeoutError:
            message = (
                f"{rendered.shown} took longer than {DEFAULT_SECONDS:.0f} s, the limit where the action has no "
                "timeout_ms of its own"
            )
            raise ActionFailed("HTTP_TIMEOUT", message, retryable=True, names=("TimeoutError",)) from None


def _load() -> None:
    # httpx2 takes a fifth of a second to load, so this runs in a thread.
    from wonder.actions.http import client as http_client
    from wonder.actions.http_request import exchange as http_exchange

    del http_exchange
    http_client.prepare()
