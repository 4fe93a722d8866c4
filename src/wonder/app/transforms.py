"""Transforms compiled once: remembered here, then in the database, so that a restart compiles nothing (PHS-5)."""

import asyncio
from collections import OrderedDict
from functools import cache
from hashlib import sha256
from typing import Final

from wonder.sandbox.typescript import CompileBudgetSpent, CompiledTransform, TypeScriptCompiler
from wonder.sandbox.typescript_process import CompileBudget, compiler_hash
from wonder.storage.compiled_transforms import KeptTransform, find_compiled, keep_compiled
from wonder.storage.store import Store

# A transform is a few KB, compiled; who has more of them reads the others from the database again.
_REMEMBERED_MAX: Final = 1_000


class Transforms:
    """The transforms of one database, by their source."""

    def __init__(self, store: Store, compiler: TypeScriptCompiler | None = None) -> None:
        self._store = store
        self._compiler = compiler or TypeScriptCompiler()
        self._remembered: OrderedDict[str, CompiledTransform] = OrderedDict()
        self._under_way: dict[str, _UnderWay] = {}

    async def compiled(self, source: str, budget: CompileBudget | None = None) -> CompiledTransform:
        """Give what a source is compiled to; raises InvalidTypeScript with all that is wrong with it.

        The budget, that of the deployment that asks, pays for the compiling if the source is new.
        """
        budget = budget or CompileBudget()
        while True:
            try:
                return await self._compiled(source, budget)
            except CompileBudgetSpent:
                # It may have been another deployment's, which asked for the same source before.
                if budget.is_spent:
                    raise

    async def _compiled(self, source: str, budget: CompileBudget) -> CompiledTransform:
        remembered = self._remembered.get(source)
        if remembered:
            self._remembered.move_to_end(source)
            return remembered
        under_way = self._under_way.get(source)
        if under_way is None or not under_way.waiting:
            # A task of its own: others may wait for it when the first caller is cancelled.
            under_way = self._under_way[source] = _UnderWay(asyncio.create_task(self._find_or_compile(source, budget)))
            under_way.task.add_done_callback(lambda done: self._note(source, done))
        under_way.waiting += 1
        try:
            return await asyncio.shield(under_way.task)
        finally:
            under_way.waiting -= 1
            if not under_way.waiting:
                # Else the compiler would go on for nobody, and all others would wait for it.
                under_way.task.cancel()

    async def close(self) -> None:
        """End the compiler, and what is compiled at this moment."""
        tasks = [under_way.task for under_way in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._compiler.close()

    async def _find_or_compile(self, source: str, budget: CompileBudget) -> CompiledTransform:
        hash = transform_hash(source)
        kept = await find_compiled(self._store, hash)
        if kept:
            return CompiledTransform(*kept)
        compiled = await self._compiler.compile(source, budget)
        await keep_compiled(
            self._store, hash, KeptTransform(compiled.javascript, compiled.input_schema, compiled.output_schema)
        )
        return compiled

    def _note(self, source: str, done: asyncio.Task[CompiledTransform]) -> None:
        if (under_way := self._under_way.get(source)) and under_way.task is done:
            del self._under_way[source]
        if not done.cancelled() and done.exception() is None:
            self._remembered[source] = done.result()
            if len(self._remembered) > _REMEMBERED_MAX:
                self._remembered.popitem(last=False)


class _UnderWay:
    """A source that is being compiled, and how many wait for it."""

    def __init__(self, task: "asyncio.Task[CompiledTransform]") -> None:
        self.task, self.waiting = task, 0


def transform_hash(source: str) -> str:
    """Give the hash of a source with all that decides what it is compiled to."""
    return sha256(f"{_compiler_hash()}\n".encode() + source.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _compiler_hash() -> str:
    return compiler_hash()
