"""A play: one pattern sample, deployed; started, answered and looked at by the names of its nodes."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from wonder.app.application import Application
from wonder.app.results import RunResult
from wonder.coordinator.errors import ItemClosed
from wonder.language.values import JsonValue
from wonder.storage.runs.headers import RunHeader, children_of_run, load_header
from wonder.storage.runs.reading import InboxItem, events_of_run, load_inbox_item, open_inbox, tokens_of_run
from wonder.storage.store import Store

_SECONDS: Final = 20.0
_LOOK_SECONDS: Final = 0.005
_ALL: Final = 100_000


class Play:
    """What can be done with a sample, and with the run of it that was started last."""

    def __init__(self, wonder: Application, store: Store, workflow: str, refs: Mapping[str, str]) -> None:
        self.wonder, self.store, self.workflow, self._refs = wonder, store, workflow, refs
        self.run_id = ""

    async def start(self, **given: JsonValue) -> None:
        """Start a run."""
        self.run_id = (await self.wonder.start(self.workflow, given)).id

    async def output(self) -> JsonValue:
        """Wait until the run has completed, and give its output."""
        result = await self.end()
        assert result.status == "completed", result
        return result.output

    async def end(self, run_id: str | None = None) -> RunResult:
        """Wait until the run, or another one, has ended."""
        return await self.wonder.wait(run_id or self.run_id)

    async def cancel(self) -> None:
        """Cancel the run."""
        await self.wonder.cancel(self.run_id)

    async def status(self, *wanted: str) -> None:
        """Wait until the run has one of these statuses."""

        async def look() -> bool:
            return (await load_header(self.store, self.run_id)).status in wanted

        await self.until(look)

    async def answer(self, prompt: str, value: JsonValue) -> None:
        """Answer the oldest open question, of whichever run, with this text in its prompt, once it is there."""

        async def look() -> InboxItem | None:
            return next((item for item in await self.questions() if prompt in item.prompt), None)

        await self.give(await self.until(look), value)

    async def give(self, item: InboxItem, value: JsonValue) -> None:
        """Give the answer to a question."""
        await self.wonder.answer(item.id, value)

    async def refused(self, item: InboxItem, value: JsonValue) -> None:
        """Answer a question that is none any more, and be told so."""
        with suppress(ItemClosed):
            await self.wonder.answer(item.id, value)
            raise AssertionError(f"the question {item.prompt!r} was still open")

    async def asked(self, *prompts: str) -> None:
        """Wait until exactly these questions, each told by a part of it, are open."""

        async def look() -> bool:
            found = sorted(item.prompt for item in await self.questions())
            return len(found) == len(prompts) and all(any(part in text for text in found) for part in prompts)

        await self.until(look)

    async def questions(self) -> list[InboxItem]:
        """List the open questions, oldest first."""
        return list((await open_inbox(self.store, self.wonder.home.project_id)).items)

    async def status_of_item(self, item: InboxItem) -> str:
        """Say what has become of a question."""
        return (await load_inbox_item(self.store, item.id)).status

    async def send(self, event: str, payload: JsonValue = None, **how: Any) -> None:
        """Send an event."""
        await self.wonder.send_event(event, None, payload, **how)

    async def ran(self, run_id: str | None = None) -> list[str]:
        """List the nodes that were executed, in the order in which they completed."""
        events = await events_of_run(self.store, run_id or self.run_id, limit=_ALL)
        return [self._refs[event.node_id] for event in events if event.type == "node_completed" and event.node_id]

    async def until_ran(self, ref: str, times: int = 1, run_id: str | None = None) -> None:
        """Wait until a node has been executed so often."""

        async def look() -> bool:
            return (await self.ran(run_id)).count(ref) >= times

        await self.until(look)

    async def ends(self, *refs: str) -> list[str]:
        """Give the statuses of all tokens at these nodes, in the order in which they were made."""
        tokens = await tokens_of_run(self.store, self.run_id, limit=_ALL)
        return [token.status for token in tokens if self._refs[token.node_id] in refs]

    async def counts(self) -> Counter[str]:
        """Count the tokens at each node."""
        tokens = await tokens_of_run(self.store, self.run_id, limit=_ALL)
        return Counter(self._refs[token.node_id] for token in tokens)

    async def parents(self, *refs: str) -> set[str]:
        """Give the nodes from which the tokens at these nodes came."""
        tokens = await tokens_of_run(self.store, self.run_id, limit=_ALL)
        of_token = {token.id: self._refs[token.node_id] for token in tokens}
        return {of_token[token.parent_token_id or ""] for token in tokens if self._refs[token.node_id] in refs}

    async def children(self, count: int) -> list[RunHeader]:
        """Wait until the run has called so many sub-workflows, and give them, oldest first."""

        async def look() -> list[RunHeader] | None:
            found = await children_of_run(self.store, self.run_id)
            return found if len(found) >= count else None

        found: list[RunHeader] = await self.until(look)
        return found

    async def depths(self) -> list[int]:
        """Give how deep all runs are nested, the outermost first."""
        return [int(str(depth)) for (depth,) in await self.store.query("SELECT depth FROM runs ORDER BY depth")]

    async def until(self, look: Callable[[], Awaitable[Any]]) -> Any:
        """Wait until something is there or true, and give it."""
        async with asyncio.timeout(_SECONDS):
            while True:
                if found := await look():
                    return found
                await asyncio.sleep(_LOOK_SECONDS)
