"""Playing: a pattern sample is played by its client while faults happen, and must come to what its play says."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from simulation.databases import Template
from simulation.plays import PLAYS
from simulation.plays.play import Play
from simulation.processes import Machine, Process
from simulation.store import DirectStore
from wonder.app.results import RequestRefused, RunResult
from wonder.errors import WonderError
from wonder.language.values import JsonValue
from wonder.storage.runs.headers import RunHeader, load_header
from wonder.storage.runs.reading import InboxItem

# Long enough for any pause of a process, and shorter than all is given to settle.
_PATIENCE_SECONDS: Final = 240.0
_LOOK_SECONDS: Final = 0.02
_AGAIN_SECONDS: Final = 0.2
# A task that lost too many workers, or could not be read because of a fault, fails: then anything may come of a play.
_FAILED_BY_FAULTS: Final = """
    SELECT 1 FROM events WHERE type = 'node_failed'
        AND (metadata LIKE '%WORKER_LOST%' OR metadata LIKE '%DATABASE_%' OR metadata LIKE '%DISK_FULL%') LIMIT 1
"""
Result = TypeVar("Result")


class Playing:
    """One play, in a process that never dies and runs no engine."""

    def __init__(self, machine: Machine, visitor: Process, template: Template, pattern: int) -> None:
        self._machine, self._pattern = machine, pattern
        self._store = DirectStore(machine.path, machine.reader)
        self._play = SimulatedPlay(machine, visitor, self._store, template)
        self._task = visitor.spawn(self._run())

    @property
    def is_over(self) -> bool:
        """Whether there is nothing left to do."""
        return self._task.done()

    async def _run(self) -> None:
        world = self._machine.world
        try:
            await PLAYS[self._pattern](self._play)
            world.happened["played"] += 1
        except (AssertionError, TimeoutError) as error:
            world.tell(f"the play did not come to its end: {error!r}")
            if not world.clock_jumps and not await self._store.query(_FAILED_BY_FAULTS):
                waited = isinstance(error, TimeoutError)
                told = f"waited in vain for {self._play.doing}" if waited else _told(error)
                self._machine.errors.append(f"pattern {self._pattern}: {told}")
        except Exception as error:
            self._machine.errors.append(f"pattern {self._pattern}: {type(error).__name__}: {error}")


class SimulatedPlay(Play):
    """A play whose client does again what it was not told of, under the same key or sender's id."""

    def __init__(self, machine: Machine, visitor: Process, store: DirectStore, template: Template) -> None:
        super().__init__(visitor.wonder, store, template.workflow.name, template.refs)
        self._world, self._workflow_record = machine.world, template.workflow
        self._count = 0
        self.doing = "nothing"

    async def start(self, **given: JsonValue) -> None:
        """Start a run."""
        key = self._name("start")
        run = await self._insist(lambda: self.wonder.start(self._workflow_record, given, idempotency_key=key))
        self.run_id = run.id
        self._world.note("accepted", run=run.id, key=key)

    async def end(self, run_id: str | None = None) -> RunResult:
        """Wait until the run, or another one, has ended."""
        wanted = run_id or self.run_id
        self.doing = f"the end of {wanted}"

        async def look() -> RunHeader | None:
            header = await load_header(self.store, wanted)
            return header if header.has_ended else None

        header: RunHeader = await self.until(look)
        status: Any = header.status
        self._world.note("told_end", run=wanted, status=status, output=header.output)
        return RunResult(wanted, status, header.output, header.error.as_json() if header.error else None)

    async def cancel(self) -> None:
        """Cancel the run."""
        self.doing = "cancelling"
        await self._insist(lambda: self.wonder.cancel(self.run_id), done="RUN_NOT_LIVE")
        at_ms = {"at": 1 << 60} if self._world.clock_jumps else {}
        self._world.note("cancel_confirmed", run=self.run_id, **at_ms)

    async def give(self, item: InboxItem, value: JsonValue) -> None:
        """Give the answer to a question; it may be closed by an answer of which nothing was heard."""
        self.doing = f"answering {item.prompt!r}"
        await self._insist(lambda: self.wonder.answer(item.id, value), done="ITEM_CLOSED")
        self._world.note("answer_accepted", item=item.id)

    async def refused(self, item: InboxItem, value: JsonValue) -> None:
        """Answer a question that is none any more, and be told so."""
        self.doing = f"being refused an answer to {item.prompt!r}"
        assert await self._insist(lambda: self.wonder.answer(item.id, value), done="ITEM_CLOSED") == "ITEM_CLOSED"

    async def send(self, event: str, payload: JsonValue = None, **how: Any) -> None:
        """Send an event, which counts once."""
        sender = self._name(f"send {event}")
        await self._insist(lambda: self.wonder.send_event(event, None, payload, id=sender, **how))
        if not how:
            self._world.note("event_accepted", project=self.wonder.home.project_id, event=event, key=None)

    async def until(self, look: Callable[[], Awaitable[Any]]) -> Any:
        """Wait until something is there or true, and give it; nothing becomes so without an event."""
        seen = -1
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while True:
                if self._world.events != seen:
                    seen = self._world.events
                    if found := await look():
                        return found
                await asyncio.sleep(_LOOK_SECONDS)

    async def _insist(self, work: Callable[[], Awaitable[Result]], done: str | None = None) -> Any:
        """Do something until it is told to be done, or that it can't be any more, with the code `done`."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while True:
                try:
                    return await work()
                except WonderError as error:
                    code = error.reason_code if isinstance(error, RequestRefused) else error.code
                    self._world.tell(f"client was told: {code}")
                    if code == done:
                        return code
                await asyncio.sleep(_AGAIN_SECONDS)

    def _name(self, doing: str) -> str:
        self._count += 1
        self.doing = f"{doing} {self._count}"
        return self.doing


def _told(error: BaseException) -> str:
    """Say which line of a play does not hold."""
    frame, where = error.__traceback__, ""
    while frame is not None:
        if "/plays/" in frame.tb_frame.f_code.co_filename:
            where = f"{frame.tb_frame.f_code.co_filename.rpartition('/')[2]}:{frame.tb_lineno}"
        frame = frame.tb_next
    return f"{where} does not hold{f': {error}' if str(error) else ''}"
