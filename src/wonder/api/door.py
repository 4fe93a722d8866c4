"""The server as one ASGI application: every request goes the same way from its first line to its answer.

Path, origin, caller, limits, role, tenant; only then is anything of a body read.
"""

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Final

from wonder.api.asgi import (
    Answer,
    AnyAnswer,
    Endpoint,
    Receive,
    Request,
    Scope,
    Send,
    json_answer,
    send_answer,
    send_stream,
    written,
)
from wonder.api.bodies import Disconnected
from wonder.api.calling import Calls
from wonder.api.figures import CONTENT_TYPE, Figures
from wonder.api.guard import check_local, is_loopback
from wonder.api.limits import Limits, Usage
from wonder.api.matching import Paths
from wonder.api.problems import Problem, answer_problem
from wonder.api.routes import Route, all_routes
from wonder.app.application import Application
from wonder.app.callers import Caller, Reach, Role
from wonder.errors import WonderError
from wonder.operations.declaring import NoInput
from wonder.operations.homes import home_of
from wonder.operations.http_answers import cursor_key
from wonder.operations.keys import authenticate, has_keys
from wonder.operations.metrics import show_prometheus
from wonder.operations.permitting import check_role
from wonder.operations.readiness import readiness

LOCAL_CALLER: Final = Caller("local", "admin", kind="local")
_LOOK_SECONDS: Final = 0.5
"""How soon the first key closes a server that had none."""
_OPERATION: Final = "wonder.operation"
_STOPPING: Final = {"connection": "close", "retry-after": "1"}


@dataclass(frozen=True)
class Mounted:
    """What is found at a path: who may ask for it, and what answers."""

    name: str
    endpoint: Endpoint
    role: Role
    """The least role."""
    reach: Reach = "project"
    for_all: bool = False
    """Whether everybody may know it: that the server lives, and what it offers."""


class Door:
    """Answers all requests to a server."""

    def __init__(self, application: Application, secret: bytes, *, limits: Limits | None, local: bool) -> None:
        self.application = application
        self.local = local
        """Whether only this machine reaches it and there is no key: then whoever asks is its user."""
        self._look_at = 0.0
        self.usage = Usage(limits or Limits())
        self.stopping = asyncio.Event()
        self.calls = Calls(self.usage, self.stopping, secret)
        self.routes = all_routes()
        self.paths: Paths[Mounted] = Paths()
        for route in self.routes:
            self.paths.add(route.method, route.path, self._mounted(route))
        self.paths.add("GET", "/healthz", Mounted("healthz", self._health, "viewer", for_all=True))
        self.paths.add("GET", "/readyz", Mounted("readyz", self._readiness, "viewer", for_all=True))
        self.paths.add("GET", "/openapi.json", Mounted("openapi", self._description, "viewer", for_all=True))
        self.paths.add("GET", "/metrics", Mounted("metrics.prometheus", self._metrics, "viewer"))
        self._described: bytes | None = None
        self._figures = Figures()

    @classmethod
    async def open(cls, application: Application, host: str, *, limits: Limits | None = None) -> "Door":
        """Open the door of a server that listens on an address; raises NoKeys."""
        local = is_loopback(host)
        if not local and not await has_keys(application):
            raise NoKeys(host)
        return cls(application, await cursor_key(application), limits=limits, local=local)

    def _mounted(self, route: Route) -> Mounted:
        return Mounted(route.declared.name, self.calls.endpoint(route), route.declared.role, route.reach)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        begun, status, at = False, 0, time.perf_counter()

        async def sending(message: dict[str, Any]) -> None:
            nonlocal begun, status
            begun, status = True, message.get("status", status)
            await send(message)

        try:
            answer = await self._answer(scope, receive, sending)  # type: ignore[arg-type]
        except Disconnected:
            return
        except Exception as error:  # whatever it is, the client gets an answer
            if begun:
                raise  # an answer that breaks off is closed, so that nobody takes it for a whole one
            answer = answer_problem(error)
        if answer is not None:
            status = answer.status
            await send_answer(answer, send)
        self._figures.count(scope.get(_OPERATION, "none"), status, time.perf_counter() - at)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> Answer | None:
        headers = _headers(scope)
        request = Request(scope, receive, headers, scope["query_string"].decode("latin-1"))
        mounted, request.parameters = self.paths.find(request.method, scope["raw_path"])
        scope[_OPERATION] = mounted.name
        if mounted.for_all:
            return await _whole(mounted.endpoint(request), send)
        if self.stopping.is_set():
            raise Problem(503, "STOPPING", "the server stops; ask again soon", headers=_STOPPING)
        request.caller = await self._caller(headers)
        with self.usage.request(request.caller.key_id or request.caller.name, time.monotonic()):
            check_role(request.caller, mounted)
            home = await home_of(
                self.application,
                request.caller,
                headers.get("wonder-workspace"),
                request.parameters.pop("project", None),
            )
            request.application = self.application.acting_for(request.caller, home)
            return await _whole(mounted.endpoint(request), send)

    async def _caller(self, headers: dict[str, str]) -> Caller:
        """Find out who asks; raises Problem. A key is read each time, so that one that was revoked ends at once."""
        given = headers.get("authorization")
        if given is not None:
            scheme, _, token = given.partition(" ")
            caller = await authenticate(self.application, token.strip()) if scheme.lower() == "bearer" else None
            if caller is None:
                raise _unknown_caller()
            return caller
        if await self._needs_key():
            raise _unknown_caller()
        check_local(headers)
        return LOCAL_CALLER

    async def _needs_key(self) -> bool:
        """Say whether a key is needed; from the first one on, it is until the end of the process."""
        now = time.monotonic()
        if self.local and now > self._look_at:
            self.local = not await has_keys(self.application)
            self._look_at = now + _LOOK_SECONDS
        return not self.local

    async def _health(self, request: Request) -> Answer:
        """Say that the process lives and its loop turns."""
        return json_answer({"status": "ok"})

    async def _readiness(self, request: Request) -> Answer:
        """Say whether requests can be carried out."""
        if self.stopping.is_set():
            raise Problem(503, "STOPPING", "the server stops", headers=_STOPPING)
        found = await readiness(self.application)
        return json_answer(found, 200 if found.ready else 503)

    async def _metrics(self, request: Request) -> Answer:
        """Give what the project has counted, and to who may see the whole server what that has."""
        text = (await show_prometheus(request.application, NoInput())).text
        if request.caller.reach == "server":
            text = self._figures.text(self.usage) + text
        return Answer(text.encode(), media_type=CONTENT_TYPE)

    async def _description(self, request: Request) -> Answer:
        """Describe the server."""
        if self._described is None:
            from importlib.metadata import version  # takes time, and most servers are never asked

            from wonder.api.openapi import describe  # likewise

            self._described = written(await asyncio.to_thread(describe, self.routes, version("wonder-workflows")))
        return Answer(self._described)


class NoKeys(WonderError):
    """A server was to be reached by others, and nobody could prove who asks."""

    code = "NO_KEYS"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"the server can't listen on {host}: without API keys everybody who reaches it could do everything; "
            "listen on 127.0.0.1, or make a key first: `wonder keys create --role admin`"
        )


def _headers(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        if key in found and key in ("host", "authorization", "content-length", "content-type", "idempotency-key"):
            raise Problem(400, "BAD_HEADERS", f"the header {key} is given twice; keep one of them")
        found[key] = value.decode("latin-1")
    return found


async def _whole(answering: Awaitable[AnyAnswer], send: Send) -> Answer | None:
    """Give a whole answer back; send one that comes part by part while its request still counts."""
    answer = await answering
    if isinstance(answer, Answer):
        return answer
    await send_stream(answer, send)
    return None


def _unknown_caller() -> Problem:
    text = "no key that can be used; send one: Authorization: Bearer wonder_…"
    return Problem(401, "UNAUTHENTICATED", text, headers={"www-authenticate": "Bearer"})
