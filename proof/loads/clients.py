"""The clients of the load: each starts a run and does with it what its kind of client does."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, Final

from proof.loads.functions import Functions
from proof.loads.measured import Latencies
from proof.outside_log import OutsideLog, true_ms
from wonder.app.application import Application
from wonder.app.results import RequestRefused, Run, RunResult
from wonder.definitions.records.workflows import Workflow
from wonder.errors import WonderError

WORKFLOWS: Final = ("chain", "fan", "race", "hear", "ask", "nap", "flaky", "call", "long", "big", "once")
# What a client may hear when it comes too late, or asks for what can't be.
REFUSALS: Final = {"RUN_NOT_LIVE", "ITEM_CLOSED", "INPUT_REFUSED", "FORK_REFUSED", "IDEMPOTENCY_KEY_REUSED"}
_SHARED_KEYS: Final = 50
_BIG: Final = 30_000


class Clients:
    """All clients of one process."""

    def __init__(
        self, wonder: Application, log: OutsideLog, latencies: Latencies, chance: random.Random, name: str
    ) -> None:
        self.workflows: dict[str, Workflow] = {}
        self._wonder, self._log, self._latencies, self._random, self._name = wonder, log, latencies, chance, name
        self._numbers = count()

    async def find_workflows(self) -> None:
        """Find what can be started."""
        self.workflows = {name: await self._wonder.workflow(name) for name in WORKFLOWS}

    def new_key(self) -> str:
        """Give a key that nobody had."""
        return f"{self._name}-{next(self._numbers)}"

    async def attempt(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do something that may be refused; None if it was. Any other error is a fault."""
        try:
            return await work()
        except WonderError as error:
            code = error.reason_code if isinstance(error, RequestRefused) else error.code
            self._latencies.counts[f"refused {code}"] += 1
            if code not in REFUSALS:
                self._latencies.faults.append(f"a client of the {self._name} heard {code}: {error}")
            return None

    async def start(self, name: str, *, keyed: bool = False, **fields: Any) -> Run:
        """Start a run."""
        key = self.new_key()
        given = {"key": key, **fields}
        with self._latencies.of("start accepted"):
            run = await self._wonder.start(self.workflows[name], given, idempotency_key=key if keyed else None)
        self._accept(run, f"{name} {key}" if keyed else None)
        self._latencies.counts[name] += 1
        if keyed:
            again = await self._wonder.start(self.workflows[name], given, idempotency_key=key)
            self._accept(again, f"{name} {key}")
            await self.attempt(
                lambda: self._wonder.start(self.workflows[name], {**given, "other": 1}, idempotency_key=key)
            )
        return run

    async def end(self, run: Run) -> RunResult:
        """Wait for a run's end."""
        result = await run.wait()
        self._log.note("told_end", run=run.id, status=result.status, output=result.output)
        return result

    async def send(self, key: str, sent_at: dict[str, float] | None = None) -> None:
        """Send the event that the run with this key waits for."""
        asked_ms = true_ms()
        if sent_at is not None:
            sent_at[key] = time.perf_counter()
        await self._wonder.send_event("go", key, {"key": key}, id=key)
        fields = {"project": self._wonder.home.project_id, "event": "go", "key": key, "at": asked_ms}
        self._log.note_all([{"kind": "event_accepted", **fields}])
        self._latencies.counts["events"] += 1

    async def answer(self, item_id: str) -> None:
        """Answer a question, perhaps after an answer that is none, perhaps twice."""
        if self._random.random() < 0.2:
            await self.attempt(lambda: self._wonder.answer(item_id, "neither yes nor no"))
        answers = 2 if self._random.random() < 0.5 else 1
        await asyncio.gather(*[self.attempt(lambda: self._answer(item_id)) for _ in range(answers)])

    async def cancel(self, run_id: str) -> None:
        """Cancel a run."""
        await self._wonder.cancel(run_id, "enough")
        self._log.note("cancel_confirmed", run=run_id)
        self._latencies.counts["cancels"] += 1

    async def pause(self, run_id: str, seconds: float) -> None:
        """Pause a run, and let it go on after a while."""
        await self._wonder.pause(run_id)
        await asyncio.sleep(seconds)
        await self._wonder.resume(run_id)
        self._latencies.counts["pauses"] += 1

    def taken(self, run: Run, what: str) -> Run:
        """Note a run that came of another one."""
        self._accept(run, None)
        self._latencies.counts[what] += 1
        return run

    async def _answer(self, item_id: str) -> None:
        await self._wonder.answer(item_id, self._random.random() < 0.5)
        self._log.note("answer_accepted", item=item_id)
        self._latencies.counts["answers"] += 1

    def _accept(self, run: Run, key: str | None) -> None:
        self._log.note("accepted", run=run.id, key=key)


class Mix:
    """What the clients of the engine's own process do, by weight."""

    def __init__(
        self, wonder: Application, clients: Clients, functions: Functions, latencies: Latencies, chance: random.Random
    ) -> None:
        self._wonder, self._clients, self._functions = wonder, clients, functions
        self._latencies, self._random = latencies, chance
        weights: dict[Callable[[], Awaitable[None]], int] = {
            self.chain: 30,
            self.fan: 12,
            self.plain: 20,
            self.hear: 12,
            self.cancelled: 6,
            self.paused: 6,
            self.flaky: 8,
            self.forked: 6,
        }
        self._kinds, self._weights = list(weights), list(weights.values())

    async def one(self) -> None:
        """Be a client of some kind."""
        (kind,) = self._random.choices(self._kinds, self._weights)
        await self._clients.attempt(kind)

    async def chain(self) -> None:
        """Five nodes one after the other; some are asked for twice, with a key."""
        began = time.perf_counter()
        keyed = self._random.random() < 0.2
        await self._clients.end(await self._clients.start("chain", keyed=keyed))
        if not keyed:
            self._latencies.add("chain of 5", time.perf_counter() - began)

    async def fan(self) -> None:
        """A fan-out in threads."""
        await self._clients.end(await self._clients.start("fan", items=list(range(self._random.randrange(9)))))

    async def plain(self) -> None:
        """What only has to be waited for."""
        name = self._random.choice(("ask", "nap", "call", "race", "big", "once"))
        fields: dict[str, Any] = {"text": "x" * self._random.randrange(_BIG)} if name == "big" else {}
        shared = f"shared-{self._random.randrange(_SHARED_KEYS)}"
        await self._clients.end(await self._clients.start(name, shared=shared, **fields))

    async def hear(self) -> None:
        """A run that waits for an event, which comes before it waits or later."""
        key, early = self._clients.new_key(), self._random.random() < 0.2
        if early:
            await self._clients.send(key)
        run = await self._clients.start("hear", key=key)
        if not early:
            await asyncio.sleep(self._random.random() * 0.5)
            await self._clients.send(key, self._functions.sent_at)
        await self._clients.end(run)

    async def cancelled(self) -> None:
        """A run that would take hours, with a sub-workflow that acts, cancelled."""
        run = await self._clients.start("long")
        await asyncio.sleep(self._random.random())
        await self._clients.cancel(run.id)
        await self._clients.end(run)

    async def paused(self) -> None:
        """A run that is paused for a while, with its sub-workflow if it has one."""
        run = await self._clients.start(self._random.choice(("nap", "call", "fan")), items=[1, 2, 3])
        await asyncio.sleep(self._random.random() * 0.3)
        await self._clients.attempt(lambda: self._clients.pause(run.id, self._random.random() * 0.3))
        await self._clients.end(run)

    async def flaky(self) -> None:
        """A run whose task fails now and then; one that has failed is retried, as a new run."""
        result = await self._clients.end(await self._clients.start("flaky"))
        while result.status == "failed":
            result = await self._clients.end(self._clients.taken(await self._wonder.retry(result.run_id), "retries"))

    async def forked(self) -> None:
        """A run that has ended, begun anew in its middle."""
        result = await self._clients.end(await self._clients.start("chain"))
        after = 4 + self._random.randrange(12)
        await self._clients.end(self._clients.taken(await self._wonder.fork(result.run_id, after), "forks"))
