"""Tending: what clients and people do while an engine runs: start, wait, answer, tell, cancel, pause and resume."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final, TypeVar

from proof.outside_log import OutsideLog, true_ms
from proof.workload import EVENT, NAMES, input_of, name_of
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.definitions.records.workflows import Workflow
from wonder.errors import WonderError

LOOK_SECONDS: Final = 0.03
AFTER_ERROR_SECONDS: Final = 0.05
# How many runs of the process before are asked for again: whoever did not hear that it was accepted would do that.
ASKED_AGAIN: Final = 4
Result = TypeVar("Result")


class Tender:
    """The clients of one process."""

    def __init__(self, wonder: Application, log: OutsideLog, number: int, under_way: int) -> None:
        self._wonder, self._log, self._number = wonder, log, number
        self._places = asyncio.Semaphore(under_way)
        self._workflows: dict[str, Workflow] = {}

    async def load(self) -> None:
        """Keep runs under way, for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tend())
            await self._find_workflows()
            again = [f"{self._number - 1}-{number}" for number in random.sample(range(20), ASKED_AGAIN)]
            for key in again:
                await self._places.acquire()
                group.create_task(self._client(key))
            for number in count():
                await self._places.acquire()
                group.create_task(self._client(f"{self._number}-{number}"))

    async def finish(self, seconds: float) -> None:
        """Bring all runs to their end, in so many seconds at the most, and say that all is at rest."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await self._try(self._look)
            live = await self._try(self._live)
            if live == 0:
                break
            await asyncio.sleep(LOOK_SECONDS)
        self._log.note("at_rest", live=[])

    async def _live(self) -> int:
        ((live,),) = await self._wonder.store.query("SELECT count(*) FROM runs WHERE completed_ms IS NULL")
        return int(str(live))

    async def _find_workflows(self) -> None:
        for name in NAMES:
            while name not in self._workflows:
                if found := await self._try(lambda name=name: self._wonder.workflow(name)):  # type: ignore[misc]
                    self._workflows[name] = found

    async def _client(self, key: str) -> None:
        """Start a run, as often as it takes, perhaps disturb it, and hear of its end."""
        try:
            run: Run | None = None
            while run is None:
                run = await self._try(lambda: self._start(key))
            if random.random() < 0.5:
                await self._try(lambda: self._send(key))
            if random.random() < 0.1:
                await self._try(lambda: self._disturb(run))
            while (result := await self._try(run.wait)) is None:
                pass
            self._log.note("told_end", run=run.id, status=result.status, output=result.output)
        finally:
            self._places.release()

    async def _start(self, key: str) -> Run:
        run = await self._wonder.start(self._workflows[name_of(key)], input_of(key), idempotency_key=key)
        # The time is told after it was accepted, and so is never too early.
        self._log.note("accepted", run=run.id, key=f"{name_of(key)} {key}")
        return run

    async def _disturb(self, run: Run) -> None:
        await asyncio.sleep(random.random() * 0.2)
        if random.random() < 0.4:
            await self._wonder.cancel(run.id, "enough")
            self._log.note("cancel_confirmed", run=run.id)
        else:
            await self._wonder.pause(run.id)

    async def _send(self, key: str) -> None:
        asked_ms = true_ms()
        await self._wonder.send_event(EVENT, key, {"key": key}, id=key)
        project_id = self._wonder.home.project_id
        self._log.note_all(
            [{"kind": "event_accepted", "project": project_id, "event": EVENT, "key": key, "at": asked_ms}]
        )

    async def _tend(self) -> None:
        while True:
            if self._wonder.engine is not None:
                await self._try(self._look)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        """Do what runs of all processes wait for: answers, events, and that a pause is over."""
        store = self._wonder.store
        for (item_id,) in await store.query("SELECT id FROM inbox_items WHERE status = 'open'"):
            if await self._try(lambda id=str(item_id): self._answer(id)):  # type: ignore[misc]
                self._log.note("answer_accepted", item=item_id)
        for (key,) in await store.query("SELECT DISTINCT key FROM event_waits"):
            await self._try(lambda key=str(key): self._send(key))  # type: ignore[misc]
        for (run_id,) in await store.query("SELECT id FROM runs WHERE status = 'paused'"):
            await self._try(lambda id=str(run_id): self._wonder.resume(id))  # type: ignore[misc]

    async def _answer(self, item_id: str) -> bool:
        await self._wonder.answer(item_id, {"yes": True})
        return True

    async def _try(self, work: Callable[[], Awaitable[Result]]) -> Result | None:
        """Do something that may be refused, or fail while the database or the engine is away; None if it did."""
        try:
            return await work()
        except WonderError as error:
            print(f"refused: {error}", flush=True)
            await asyncio.sleep(AFTER_ERROR_SECONDS)
            return None
