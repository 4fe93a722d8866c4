"""Carries out a request for an operation: its input from the request, its output as the answer."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable
from typing import Any, Final

from msgspec.structs import replace

from wonder.api.asgi import JSON, Answer, AnyAnswer, Endpoint, Request, StreamedAnswer, json_answer, written
from wonder.api.bodies import Disconnected, parse_body, read_body
from wonder.api.cursors import Cursors
from wonder.api.definitions import deploy_written, media_types
from wonder.api.idempotency import key_of, once
from wonder.api.inputs import WAIT_SECONDS_MAX, input_of, read_query, take_wait
from wonder.api.limits import Usage
from wonder.api.problems import Problem
from wonder.api.routes import Route
from wonder.language.values import JsonValue
from wonder.operations.artifacts import OneArtifact, show_artifact
from wonder.operations.declaring import DatabaseOperation, Operation, Stream, place_of
from wonder.operations.following import run_outcome
from wonder.operations.runs import OneRun

EVENTS_MAX: Final = 1_000
_PART_BYTES: Final = 32_000
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,60}")


class Calls:
    """Answers requests for operations; all share what the server allows and whether it stops."""

    def __init__(self, usage: Usage, stopping: asyncio.Event, secret: bytes) -> None:
        self._usage, self._stopping, self._secret = usage, stopping, secret
        self._cursors = Cursors(secret)

    def endpoint(self, route: Route) -> Endpoint:
        """Give what answers the requests of a route."""
        if route.form != "fields":
            return self._written_endpoint(route)
        if not route.has_body:
            return self._reading_endpoint(route)

        async def answer(request: Request) -> AnyAnswer:
            query = read_query(request.query)
            wait = take_wait(query) if route.waits else 0
            async with read_body(request, self._usage, (JSON,)) as raw:
                fields = await parse_body(raw)
                given = input_of(route, request.parameters, query, _with_key(route, request, fields))
                if route.declared.name == "settings.set":
                    given = replace(given, only_if=_if_match(request))

                async def carry_out() -> Answer:
                    return await self._call(route, request, given, wait)

                return await once(route, request, raw, self._secret, carry_out)

        return answer

    def _reading_endpoint(self, route: Route) -> Endpoint:
        async def answer(request: Request) -> AnyAnswer:
            if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
                text = f"a {request.method} has no body; write parameters into the query"
                raise Problem(400, "BAD_BODY", text, headers={"connection": "close"})
            query = read_query(request.query)
            wait = take_wait(query) if route.waits else 0
            given = self._take_cursor(route, request, input_of(route, request.parameters, query, None))
            if isinstance(route.declared, Stream):
                return await _streamed(route.declared, request, given)
            return await self._call(route, request, given, wait)

        return answer

    def _written_endpoint(self, route: Route) -> Endpoint:
        async def answer(request: Request) -> AnyAnswer:
            if query := read_query(request.query):
                raise Problem(400, "UNKNOWN_PARAMETER", f"there is no parameter {next(iter(query))[:80]!r} here")
            async with read_body(request, self._usage, media_types(route)) as raw:

                async def carry_out() -> Answer:
                    return await deploy_written(route, request, raw)

                return await once(route, request, raw, self._secret, carry_out)

        return answer

    async def _call(self, route: Route, request: Request, given: Any, wait: int) -> Answer:
        application = request.application
        match route.declared:
            case Operation() as one if wait:
                return await self._call_waiting(route, one, request, given, wait)
            case Operation(changes=True) as one:
                return json_answer(await one(application, given), route.status)
            case Operation() as one:
                output = await self.while_connected(request, one(application, given))
                tag = {"etag": f'"{output.mark}"'} if one.name == "settings.show" else {}
                return json_answer(self._give_cursor(route, request, output), route.status, **tag)
            case DatabaseOperation() as one:
                output = await one(place_of(application), given)
                return json_answer(self._give_cursor(route, request, output), route.status)
        raise AssertionError(route.declared.name)

    def _take_cursor(self, route: Route, request: Request, given: Any) -> Any:
        cursor = getattr(given, "cursor", None)
        if cursor is None:
            return given
        return replace(given, cursor=self._cursors.take(cursor, route.declared.name, _whose(request)))

    def _give_cursor(self, route: Route, request: Request, output: Any) -> Any:
        cursor = getattr(output, "cursor", None)
        if cursor is None:
            return output
        return replace(output, cursor=self._cursors.give(cursor, route.declared.name, _whose(request)))

    async def _call_waiting(
        self, route: Route, one: Operation[Any, Any], request: Request, given: Any, wait: int
    ) -> Answer:
        """Start a run, or show one, and answer with its end if that comes in time."""
        application = request.application
        if one.changes:
            run_id = (await one(application, given)).run_id
            await self.wait_for_end(request, run_id, wait)
            return json_answer(await run_outcome(application, OneRun(run_id=run_id)), route.status)
        await self.wait_for_end(request, given.run_id, wait)
        return json_answer(await self.while_connected(request, one(application, given)), route.status)

    async def wait_for_end(self, request: Request, run_id: str, seconds: float) -> None:
        """Wait until a run has ended, at most for so long; raises NotFound or Disconnected."""
        try:
            async with asyncio.timeout(seconds):
                await self.while_connected(request, request.application.wait(run_id), until_stop=True)
        except (TimeoutError, _Stops):
            return

    async def while_connected(self, request: Request, work: Awaitable[Any], *, until_stop: bool = False) -> Any:
        """Await something that only reads; give it up as soon as nobody waits for its result any more."""
        doing = asyncio.ensure_future(work)
        # Most are done at once, and need no second task that listens.
        await asyncio.sleep(0)
        if doing.done():
            return doing.result()
        gone = asyncio.create_task(_disconnect(request))
        stops = asyncio.create_task(self._stopping.wait()) if until_stop else None
        others = {gone, stops} - {None}
        try:
            async with asyncio.timeout(None if until_stop else WAIT_SECONDS_MAX):
                await asyncio.wait({doing, *others}, return_when=asyncio.FIRST_COMPLETED)  # type: ignore[type-var]
        except TimeoutError:
            if until_stop:
                raise
            text = f"it takes longer than {WAIT_SECONDS_MAX} s; ask again"
            raise Problem(503, "TOO_SLOW", text, headers={"retry-after": "1"}) from None
        finally:
            for task in others:
                task.cancel()  # type: ignore[union-attr]
            if not doing.done():
                doing.cancel()
        if doing.done() and not doing.cancelled():
            return doing.result()
        raise Disconnected if gone.done() and not gone.cancelled() else _Stops


class _Stops(Exception):
    """The server stops, so that nothing is waited for any more."""


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _with_key(route: Route, request: Request, fields: JsonValue) -> JsonValue:
    """Give a run that is started the key of its request: it is its own for as long as there is the run."""
    key = key_of(request) if route.declared.name == "runs.start" else None
    if key is None or not isinstance(fields, dict | None):
        return fields
    fields = fields or {}
    if fields.get("idempotency_key") not in (None, key):
        raise Problem(400, "BAD_HEADERS", "Idempotency-Key and `idempotency_key` of the body differ; send one of them")
    return {**fields, "idempotency_key": key}


def _if_match(request: Request) -> str | None:
    """Give the mark that the settings must still have, from the ETag that a client has read."""
    given = request.headers.get("if-match")
    if given is None or given.strip() == "*":
        return None
    tag = given.strip()
    if len(tag) < 2 or tag[0] != '"' or tag[-1] != '"' or '"' in tag[1:-1]:
        raise Problem(400, "BAD_HEADERS", "If-Match is not one ETag as it was given, in double quotes")
    return tag[1:-1]


def _whose(request: Request) -> str:
    home = request.application.home
    return f"{home.workspace_id} {home.project_id}"


async def _streamed(one: Stream[Any, Any], request: Request, given: Any) -> StreamedAnswer:
    if one.name == "artifacts.content":
        return await _content(request, one(request.application, given))
    if one.name in ("runs.events", "events.find") and given.limit is None:
        given = replace(given, limit=EVENTS_MAX)
    return StreamedAnswer(_items(one(request.application, given)), JSON)


async def _items(items: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    """Write the items of a stream as one JSON document, some at a time, so that a long list needs no memory."""
    part = bytearray(b'{"items":[')
    is_first = True
    async for item in items:
        if not is_first:
            part += b","
        part += written(item)
        is_first = False
        if len(part) > _PART_BYTES:
            yield bytes(part)
            part.clear()
    yield bytes(part + b"]}")


async def _content(request: Request, parts: AsyncIterator[bytes]) -> StreamedAnswer:
    """Answer with the content of an artifact, as a file: what a workflow has stored must not run in a browser."""
    artifact_id = request.parameters["artifact_id"]
    record = await show_artifact(request.application, OneArtifact(artifact_id=artifact_id))
    media_type = record.content_type if _MEDIA_TYPE.fullmatch(record.content_type) else "application/octet-stream"
    headers = {
        "content-disposition": f'attachment; filename="{record.artifact_id}"',
        "content-security-policy": "default-src 'none'; sandbox",
    }
    return StreamedAnswer(parts, media_type, headers)
