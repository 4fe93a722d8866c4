"""The pattern samples, played: one of them deployed and started, answered and looked at by the names of its nodes."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.systems import status_of, until, verify_all
from wonder.app.api import Run, RunResult, Wonder, open_wonder
from wonder.language.values import JsonValue
from wonder.storage.runs.headers import RunHeader, children_of_run
from wonder.storage.runs.looking import InboxItem, events_of_run, open_inbox, tokens_of_run

FOLDER = Path(__file__).parents[2] / "samples" / "patterns"
FILES = {int(path.name[:2]): path for path in sorted(FOLDER.glob("*.yaml"))}
"""The file of each pattern, by its number."""


class Play:
    """One sample, deployed, and the run that was started last."""

    def __init__(self, wonder: Wonder, workflow: str, refs: dict[str, str]) -> None:
        self.wonder, self._workflow, self._refs = wonder, workflow, refs
        self.run = Run("", wonder)

    async def start(self, **given: JsonValue) -> None:
        """Start a run."""
        self.run = await self.wonder.start(self._workflow, given)

    async def output(self) -> JsonValue:
        """Wait until the run has completed, and give its output."""
        result = await self.end()
        assert result.status == "completed", result
        return result.output

    async def end(self) -> RunResult:
        """Wait until the run has ended."""
        return await self.run.wait()

    async def status(self, *wanted: str) -> None:
        """Wait until the run has one of these statuses."""
        await status_of(self.wonder, self.run, *wanted)

    async def answer(self, prompt: str, value: JsonValue) -> InboxItem:
        """Answer the oldest open question, of whichever run, with this text in its prompt, once it is there."""

        async def look() -> InboxItem | None:
            return next((item for item in await self.questions() if prompt in item.prompt), None)

        item: InboxItem = await until(look)
        await self.wonder.answer(item.id, value)
        return item

    async def asked(self, *prompts: str) -> None:
        """Wait until exactly these questions, each told by a part of it, are open."""

        async def look() -> bool:
            found = sorted(item.prompt for item in await self.questions())
            return len(found) == len(prompts) and all(any(part in text for text in found) for part in prompts)

        await until(look)

    async def questions(self) -> list[InboxItem]:
        """List the open questions, oldest first."""
        return list((await open_inbox(self.wonder.app.store, self.wonder.app.home.project_id)).items)

    async def send(self, event: str, payload: JsonValue = None, **how: int) -> None:
        """Send an event."""
        await self.wonder.send_event(event, None, payload, **how)  # type: ignore[arg-type]  # only ttl_seconds

    async def ran(self, run_id: str | None = None) -> list[str]:
        """List the nodes that were executed, in the order in which they completed."""
        events = await events_of_run(self.wonder.app.store, run_id or self.run.id, limit=100_000)
        return [self._refs[event.node_id] for event in events if event.type == "node_completed" and event.node_id]

    async def until_ran(self, ref: str, times: int = 1, run_id: str | None = None) -> None:
        """Wait until a node has been executed so often."""

        async def look() -> bool:
            return (await self.ran(run_id)).count(ref) >= times

        await until(look)

    async def ends(self, *refs: str) -> list[str]:
        """Give the statuses of all tokens at these nodes, in the order in which they were made."""
        tokens = await tokens_of_run(self.wonder.app.store, self.run.id, limit=100_000)
        return [token.status for token in tokens if self._refs[token.node_id] in refs]

    async def counts(self) -> Counter[str]:
        """Count the tokens at each node."""
        tokens = await tokens_of_run(self.wonder.app.store, self.run.id, limit=100_000)
        return Counter(self._refs[token.node_id] for token in tokens)

    async def parents(self, *refs: str) -> set[str]:
        """Give the nodes from which the tokens at these nodes came."""
        tokens = await tokens_of_run(self.wonder.app.store, self.run.id, limit=100_000)
        of_token = {token.id: self._refs[token.node_id] for token in tokens}
        return {of_token[token.parent_token_id or ""] for token in tokens if self._refs[token.node_id] in refs}

    async def children(self, count: int) -> list[RunHeader]:
        """Wait until the run has called so many sub-workflows, and give them, oldest first."""

        async def look() -> list[RunHeader] | None:
            found = await children_of_run(self.wonder.app.store, self.run.id)
            return found if len(found) >= count else None

        found: list[RunHeader] = await until(look)
        return found


@asynccontextmanager
async def playing(url: str, number: int) -> AsyncIterator[Play]:
    """Open a database, and deploy the sample of a pattern to it; at last each run is what its events say (EVT-2)."""
    async with open_wonder(url, import_roots=[FOLDER]) as wonder:
        workflow = await wonder.deploy(FILES[number])
        refs = {str(id): str(ref) for id, ref in await wonder.app.store.query("SELECT id, ref FROM nodes")}
        yield Play(wonder, workflow.name, refs)
        await verify_all(wonder.app.store)
