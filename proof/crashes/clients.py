"""Clients that outlive the process they talk to: each step of theirs can be taken again in the next one."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from proof.crashes.outside import Outside
from wonder.app.application import Application
from wonder.app.results import Run
from wonder.coordinator.errors import RunNotLive
from wonder.language.values import JsonValue
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.reading import events_of_run
from wonder.storage.store import Store

_LOOK_SECONDS: Final = 0.003
_EVENTS: Final = 100_000


class Item(NamedTuple):
    """A question in the inbox."""

    id: str
    prompt: str
    status: str


class Clients:
    """All that people and programs outside want of one scenario.

    They know what they were told, which is in the outside log, and see the database through a store that never crashes.
    What they were not told they do again: with the same key, the same sender's id, or after a look whether it was done.
    """

    def __init__(self, wonder: Application, store: Store, outside: Outside) -> None:
        self.wonder, self._store, self._outside = wonder, store, outside
        self._told = outside.lines()
        self._numbers: Counter[str] = Counter()
        self.doing = "nothing"
        """What is waited for, to be told when it does not come."""

    async def start(self, workflow: str, key: str = "one", **given: JsonValue) -> str:
        """Start a run, with an idempotency key."""
        self.doing = f"start {workflow} {key}"
        run = await self.wonder.start(workflow, given, idempotency_key=key)
        self._outside.note("accepted", run=run.id, key=key)
        return run.id

    async def ended(self, run_id: str) -> None:
        """Wait until a run has ended."""
        self.doing = f"the end of {run_id}"
        result = await Run(run_id, self.wonder.wait).wait()
        self._outside.note("told_end", run=run_id, status=result.status, output=result.output)

    async def answer(self, prompt: str, value: JsonValue) -> None:
        """Answer the next question with this text in it; the n-th time that this is asked for, it is the n-th one."""
        number = self._number(f"answer {prompt}")

        async def look() -> Item | None:
            items = [item for item in await self._items() if prompt in item.prompt]
            return items[number - 1] if len(items) >= number else None

        item: Item = await self._until(look)
        if item.status == "answered":
            return
        await self.wonder.answer(item.id, value, by="somebody")
        self._outside.note("answer_accepted", item=item.id)

    async def asked(self, *prompts: str) -> None:
        """Wait until these questions have been asked, be they answered or not."""
        self.doing = f"the questions {prompts}"

        async def look() -> bool:
            found = [item.prompt for item in await self._items()]
            return all(sum(part in text for text in found) >= prompts.count(part) for part in prompts)

        await self._until(look)

    async def send(self, event: str, payload: JsonValue = None, **how: Any) -> None:
        """Send an event under a sender's id, unless it was sent and taken."""
        sender = f"{event} {self._number(f'send {event}')}"
        if any(line["kind"] == "event_accepted" and line["sender"] == sender for line in self._told):
            return
        await self.wonder.send_event(event, None, payload, id=sender, **how)
        project_id = self.wonder.home.project_id
        self._outside.note("event_accepted", project=project_id, event=event, key=None, sender=sender)

    async def ran(self, run_id: str, ref: str, times: int = 1) -> None:
        """Wait until a node has been executed so often."""
        self.doing = f"{ref} of {run_id}, {times} times"
        rows = await self._store.query("SELECT id FROM nodes WHERE ref = $1", ref)
        ids = {str(id) for (id,) in rows}

        async def look() -> bool:
            events = await events_of_run(self._store, run_id, limit=_EVENTS)
            return sum(event.type == "node_completed" and event.node_id in ids for event in events) >= times

        await self._until(look)

    async def status(self, run_id: str, *wanted: str) -> None:
        """Wait until a run has one of these statuses, or has ended."""
        self.doing = f"{run_id} to be {wanted}"

        async def look() -> bool:
            header = await load_header(self._store, run_id)
            return header.status in wanted or header.has_ended

        await self._until(look)

    async def cancel(self, run_id: str) -> None:
        """Cancel a run."""
        self.doing = f"cancel {run_id}"
        if self._was_told("cancel_confirmed", run_id):
            return
        try:
            await self.wonder.cancel(run_id, "enough")
        except RunNotLive:
            if (await load_header(self._store, run_id)).status != "cancelled":
                raise
        self._outside.note("cancel_confirmed", run=run_id)

    async def pause(self, run_id: str) -> None:
        """Pause a run."""
        self.doing = f"pause {run_id}"
        if self._was_told("paused", run_id):
            return
        if (await load_header(self._store, run_id)).status != "paused":
            await self.wonder.pause(run_id)
        self._outside.note("paused", run=run_id)

    async def resume(self, run_id: str) -> None:
        """Let a paused run go on."""
        self.doing = f"resume {run_id}"
        if self._was_told("resumed", run_id):
            return
        if (await load_header(self._store, run_id)).status == "paused":
            await self.wonder.resume(run_id)
        self._outside.note("resumed", run=run_id)

    async def retry(self, run_id: str) -> str:
        """Have a failed run retried, unless there is such a run."""
        self._outside.mend()
        made = "SELECT id FROM runs WHERE retry_of_run_id = $1"
        return await self._begin_again(made, run_id, lambda: self.wonder.retry(run_id))

    async def fork(self, run_id: str) -> str:
        """Have a run forked where it first waited, unless there is such a run."""
        events = await events_of_run(self._store, run_id, limit=_EVENTS)
        after = next(event.sequence for event in events if event.type == "token_suspended")
        made = "SELECT id FROM runs WHERE forked_from_run_id = $1 AND retry_of_run_id IS NULL"
        return await self._begin_again(made, run_id, lambda: self.wonder.fork(run_id, after))

    async def all_ended(self) -> None:
        """Wait until every run has ended, also those that no client waits for."""
        self.doing = "the end of all runs"

        async def look() -> bool:
            return not await self._store.query("SELECT 1 FROM runs WHERE completed_ms IS NULL LIMIT 1")

        await self._until(look)
        self._outside.note("at_rest")

    async def _begin_again(self, made: str, run_id: str, begin: Callable[[], Awaitable[Run]]) -> str:
        self.doing = f"a run that begins where {run_id} was"
        rows = await self._store.query(made, run_id)
        new_id = str(rows[0][0]) if rows else (await begin()).id
        self._outside.note("accepted", run=new_id)
        return new_id

    def _was_told(self, kind: str, run_id: str) -> bool:
        return any(line["kind"] == kind and line["run"] == run_id for line in self._told)

    def _number(self, doing: str) -> int:
        self.doing = doing
        self._numbers[doing] += 1
        return self._numbers[doing]

    async def _items(self) -> list[Item]:
        rows = await self._store.query("SELECT id, prompt, status FROM inbox_items ORDER BY id")
        return [Item(str(id), str(prompt), str(status)) for id, prompt, status in rows]

    async def _until(self, look: Callable[[], Awaitable[Any]]) -> Any:
        while True:
            if found := await look():
                return found
            await asyncio.sleep(_LOOK_SECONDS)
