"""Requests of other processes: read from their table, carried out, and answered in the same commit (SPEC 13)."""

import logging
from collections.abc import Sequence
from typing import Any

from wonder.coordinator.coordinator import Coordinator
from wonder.coordinator.errors import EngineStopped
from wonder.coordinator.forking import Forker
from wonder.coordinator.outside import EVENT_TTL_SECONDS, Outside
from wonder.coordinator.scheduling import Scheduler
from wonder.coordinator.starting import Starter
from wonder.definitions.records.workflows import Workflow
from wonder.errors import WonderError
from wonder.language.values import JsonValue
from wonder.storage.named_resources import load_resource
from wonder.storage.runs.recording import Batch
from wonder.storage.runs.requests import Request, pending_requests

log = logging.getLogger("wonder.coordinator")


class RequestDesk:
    """Carries out what other processes ask for."""

    def __init__(
        self,
        coordinator: Coordinator,
        starter: Starter,
        outside: Outside,
        forker: Forker,
        scheduler: Scheduler,
        import_roots: Sequence[str] = (),
    ) -> None:
        self._coordinator, self._starter, self._outside, self._forker = coordinator, starter, outside, forker
        self._scheduler = scheduler
        self._import_roots = list(import_roots)
        self._under_way: set[str] = set()
        # Those that are done since the last look began: what it reads may be from before, and still have them.
        self._done: set[str] = set()

    async def look(self) -> None:
        """Begin with all requests that are new; called again only when it has returned."""
        self._done.clear()
        for request in await pending_requests(self._coordinator.store):
            if request.id not in self._under_way and request.id not in self._done:
                self._under_way.add(request.id)
                self._coordinator.spawn(self._serve(request))

    async def _serve(self, request: Request) -> None:
        try:
            await self._carry_out(request)
        except EngineStopped:
            raise  # The next engine carries it out.
        except WonderError as error:
            await self._refuse(request, error.code, str(error))
        except Exception as error:
            log.exception("the request %s (%s) can't be carried out", request.id, request.kind)
            await self._refuse(request, "BAD_REQUEST", f"{type(error).__name__}: {error}")
        finally:
            self._under_way.discard(request.id)
            self._done.add(request.id)

    async def _refuse(self, request: Request, code: str, message: str) -> None:
        shown: JsonValue = {"code": code, "message": message}
        self._coordinator.commits.batch.answer_request(request.id, self._coordinator.clock.now_ms(), error=shown)
        self._coordinator.commits.touch()
        await self._coordinator.durable()

    async def _carry_out(self, request: Request) -> None:
        payload: Any = request.payload

        def answer(batch: Batch, result: JsonValue = None) -> None:
            batch.answer_request(request.id, self._coordinator.clock.now_ms(), result)

        def started(batch: Batch, run_id: str) -> None:
            answer(batch, {"run_id": run_id})

        match request.kind:
            case "start":
                workflow = await load_resource(self._coordinator.store, Workflow, payload["workflow_id"])
                key = payload.get("idempotency_key")
                # Whoever has other folders may mean another function by the same name.
                is_ours = payload.get("import_roots") in (None, self._import_roots)
                await self._starter.start(
                    workflow, payload["input"], idempotency_key=key, also=started, is_ours=is_ours
                )
            case "cancel":
                await self._outside.cancel(payload["run_id"], payload.get("reason"), also=answer)
            case "pause":
                await self._outside.pause(payload["run_id"], also=answer)
            case "resume":
                await self._outside.resume(payload["run_id"], also=answer)
            case "answer":
                await self._outside.answer(payload["item_id"], payload["answer"], payload.get("by"), also=answer)
            case "retry":
                await self._forker.retry(payload["run_id"], also=started)
            case "fork":
                await self._forker.fork(payload["run_id"], payload["after"], payload.get("state"), also=started)
            case "fire_schedule":
                await self._scheduler.fire(payload["schedule_id"], also=started)
            case "event":
                await self._outside.send_event(
                    payload["project_id"],
                    payload["event"],
                    payload.get("key"),
                    payload.get("payload"),
                    sender_id=payload.get("sender_id"),
                    ttl_seconds=payload.get("ttl_seconds", EVENT_TTL_SECONDS),
                    also=answer,
                )
            case kind:
                raise UnknownRequest(kind)


class UnknownRequest(WonderError):
    """Another process asks for something that this version does not know."""

    code = "UNKNOWN_REQUEST"

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"the process that runs the engine does not know the request {kind!r}; is it an older version?"
        )
        self.kind = kind
