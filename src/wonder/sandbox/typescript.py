"""TypeScript made into JavaScript and schemas by the real compiler, in a process that can be killed (PHS-5)."""

import asyncio
import os
from contextlib import suppress
from typing import Any, Final

import msgspec

from wonder.errors import WonderError
from wonder.language.schemas import Schema, schema_faults
from wonder.sandbox.typescript_process import CompileBudget, CompilerLimits, CompilerProcess

SOURCE_BYTES_MAX: Final = 128 * 1024
_IDLE_SECONDS: Final = 60.0
# With fewer waiting, loading the compiler once more takes longer than waiting.
_LONG_QUEUE: Final = 4
_LANES_MAX: Final = min(2, os.cpu_count() or 1)


class CompiledTransform(msgspec.Struct, frozen=True):
    """A transform that can be run: `javascript` sets the function `globalThis.__transform` when it is evaluated."""

    javascript: str
    input_schema: Schema
    output_schema: Schema


class TypeScriptFault(msgspec.Struct, frozen=True):
    """What is wrong in a source, and where: line and column count from 1."""

    message: str
    line: int
    column: int


class InvalidTypeScript(WonderError):
    """A source is not a transform; `faults` are all that is wrong with it."""

    code = "INVALID_TYPESCRIPT"

    def __init__(self, faults: tuple[TypeScriptFault, ...]) -> None:
        told = "\n".join(f"line {fault.line}, column {fault.column}: {fault.message}" for fault in faults)
        super().__init__(f"the TypeScript of a transform has errors\n{told}")
        self.faults = faults


class CompileBudgetSpent(InvalidTypeScript):
    """A source was not compiled, because others of the same deployment have taken all the time there was for them."""

    code = "COMPILE_BUDGET_SPENT"


class _Order:
    """A source to be compiled, who pays for it, and the answer that somebody waits for."""

    def __init__(self, source: str, budget: CompileBudget) -> None:
        self.source, self.budget = source, budget
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()


class TypeScriptCompiler:
    """The compiler: started when it is first needed, ended when nobody has needed it for a while.

    It runs in a lane, a process with a task that feeds it; when many sources wait, a second lane helps.
    """

    def __init__(
        self, limits: CompilerLimits | None = None, *, idle_seconds: float = _IDLE_SECONDS, lanes_max: int = _LANES_MAX
    ) -> None:
        self._limits, self._idle_seconds, self._lanes_max = limits or CompilerLimits(), idle_seconds, lanes_max
        self._waiting: asyncio.Queue[_Order] = asyncio.Queue()
        self._lanes: dict[asyncio.Task[None], CompilerProcess | None] = {}

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes in which the compiler is loaded now."""
        return [process.pid for process in self._lanes.values() if process]

    async def compile(self, source: str, budget: CompileBudget | None = None) -> CompiledTransform:
        """Compile a transform; raises InvalidTypeScript with all that is wrong with it, or CompilerNotStarted.

        What it takes is paid from the budget; when that is spent already, CompileBudgetSpent is raised.
        """
        _check_text(source)
        order = _Order(source, budget or CompileBudget())
        self._waiting.put_nowait(order)
        is_long = self._waiting.qsize() > _LONG_QUEUE and len(self._lanes) < self._lanes_max
        if not self._lanes or is_long:
            self._lanes[asyncio.create_task(self._run_lane())] = None
        return _taken(await order.answer, order, self._limits)

    async def close(self) -> None:
        """End the compiler's processes, and what they compile; they are started again when they are needed."""
        lanes = list(self._lanes)
        for lane in lanes:
            lane.cancel()
        if lanes:
            await asyncio.wait(lanes)
        # A lane that never ran has not left the list by itself.
        self._lanes.clear()
        while not self._waiting.empty():
            self._waiting.get_nowait().answer.cancel()

    async def _run_lane(self) -> None:
        lane = asyncio.current_task()
        assert lane
        try:
            while order := await self._next():
                # A caller that was cancelled wants no answer any more.
                if not order.answer.done():
                    await self._serve(lane, order)
        finally:
            # Out of the list before anything is waited for: an order that comes meanwhile needs a lane that lives.
            process = self._lanes.pop(lane)
            if process:
                await process.end()

    async def _next(self) -> _Order | None:
        """Wait for something to compile; gives nothing when that has taken too long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._idle_seconds):
                return await self._waiting.get()
        # One may have come in this very moment.
        return None if self._waiting.empty() else self._waiting.get_nowait()

    async def _serve(self, lane: asyncio.Task[None], order: _Order) -> None:
        try:
            answer = await self._ask(lane, order)
            if answer.get("stopped") == "death":
                # Somebody may have ended it who did not mean this source.
                answer = await self._ask(lane, order)
        except asyncio.CancelledError:
            order.answer.cancel()
            raise
        except Exception as error:
            if not order.answer.done():
                order.answer.set_exception(error)
            return
        if not order.answer.done():
            order.answer.set_result(answer)

    async def _ask(self, lane: asyncio.Task[None], order: _Order) -> dict[str, Any]:
        if order.budget.is_spent:
            return {"stopped": "budget"}
        process = self._lanes[lane]
        if process is None or process.has_ended:
            process = self._lanes[lane] = await CompilerProcess.start(self._limits)
        answer, cpu_seconds = await process.ask(order.source)
        order.budget.spend(cpu_seconds)
        if "stopped" in answer:
            # What it was at may have been left half done.
            self._lanes[lane] = None
            await process.end()
        return answer


def _check_text(source: str) -> None:
    """Refuse what no compiler need look at."""
    if len(source) > SOURCE_BYTES_MAX or len(source.encode("utf-8", "surrogatepass")) > SOURCE_BYTES_MAX:
        message = f"the source is too long: a transform has at most {SOURCE_BYTES_MAX:,} bytes; do less in one step"
        raise InvalidTypeScript((TypeScriptFault(message, 1, 1),))
    for index, character in enumerate(source):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            before = source[:index]
            code = ord(character)
            message = f"the character U+{code:04X} can't stand in a source, only in a text, written as \\u{code:04x}"
            column = index - before.rfind("\n")
            raise InvalidTypeScript((TypeScriptFault(message, before.count("\n") + 1, column),))


def _taken(answer: dict[str, Any], order: _Order, limits: CompilerLimits) -> CompiledTransform:
    if "stopped" in answer:
        stopped = answer["stopped"]
        line, column = _deepest(order.source) if stopped == "stack" else (1, 1)
        message = _STOPPED[stopped].format(
            why=answer.get("message", "").partition("\n")[0],
            seconds=limits.cpu_seconds,
            megabytes=limits.memory_bytes >> 20,
            budget=order.budget.cpu_seconds,
        )
        raise (CompileBudgetSpent if stopped == "budget" else InvalidTypeScript)(
            (TypeScriptFault(message, line, column),)
        )
    if "faults" in answer:
        raise InvalidTypeScript(msgspec.convert(answer["faults"], tuple[TypeScriptFault, ...]))
    faults = tuple(
        TypeScriptFault(
            f"'{name.capitalize()}' can't be written as a schema: {fault.message}", **answer["places"][name]
        )
        for name in ("input", "output")
        for fault in schema_faults(answer[name])
    )
    if faults:
        raise InvalidTypeScript(faults)
    return CompiledTransform(answer["javascript"], answer["input"], answer["output"])


def _deepest(source: str) -> tuple[int, int]:
    """Give the place where most brackets are open; what stands in texts is not told apart."""
    depth, deepest, place = 0, 0, 0
    for index, character in enumerate(source):
        if character in "([{<":
            depth += 1
            if depth > deepest:
                deepest, place = depth, index
        elif character in ")]}>":
            depth = max(depth - 1, 0)
    before = source[:place]
    return before.count("\n") + 1, place - before.rfind("\n")


_STOPPED: Final = {
    "time": "the source takes too long to be compiled: more than {seconds:g} seconds of computing, the budget of one "
    "transform; some type may grow without end, write it more simply",
    "memory": "the source takes too much memory to be compiled: more than {megabytes} MB, the budget of one transform; "
    "some type may grow without end, write it more simply",
    "budget": "the source was not compiled: the other transforms have taken {budget:g} seconds of computing, the "
    "budget of one deployment; write their types more simply, or deploy in several files",
    "stack": "the source is nested too deeply to be compiled; give the inner parts names of their own",
    "death": "the compiler has ended while it compiled this source; write it more simply",
    "fault": "the compiler fails at this source; write it more simply ({why})",
}
