"""A transform is compiled once: the second time, and after a restart, nothing is compiled (PHS-5)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from wonder.app.transforms import Transforms, transform_hash
from wonder.sandbox.typescript import CompileBudgetSpent, CompiledTransform, InvalidTypeScript, TypeScriptCompiler
from wonder.sandbox.typescript_process import CompileBudget
from wonder.storage.compiled_transforms import find_compiled
from wonder.storage.store import Store

SOURCE = """
interface Input { users: { name: string; active: boolean }[] }
interface Output { names: string[] }
export default (input: Input): Output => ({ names: input.users.filter(u => u.active).map(u => u.name) });
"""


class CountingCompiler(TypeScriptCompiler):
    """The compiler, which notes what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.compiled: list[str] = []

    async def compile(self, source: str, budget: CompileBudget | None = None) -> CompiledTransform:
        """Note it, and compile it."""
        self.compiled.append(source)
        return await super().compile(source, budget)


@asynccontextmanager
async def opened(store: Store) -> AsyncIterator[tuple[Transforms, CountingCompiler]]:
    """Transforms as a process that was just started has them."""
    compiler = CountingCompiler()
    transforms = Transforms(store, compiler)
    try:
        yield transforms, compiler
    finally:
        await transforms.close()


async def test_phs_5_the_second_time_and_after_a_restart_nothing_is_compiled(store: Store) -> None:
    async with opened(store) as (transforms, compiler):
        first = await transforms.compiled(SOURCE)
        assert await transforms.compiled(SOURCE) == first
        assert compiler.compiled == [SOURCE]
    async with opened(store) as (transforms, compiler):
        assert await transforms.compiled(SOURCE) == first
        assert compiler.compiled == []
        assert compiler.pids == [], "no process is started for what is known"
    assert first.output_schema == {
        "type": "object",
        "properties": {"names": {"type": "array", "items": {"type": "string"}}},
        "required": ["names"],
    }


async def test_phs_5_those_who_ask_for_the_same_at_once_have_it_compiled_once(store: Store) -> None:
    async with opened(store) as (transforms, compiler):
        gone, *others = [asyncio.create_task(transforms.compiled(SOURCE)) for _ in range(3)]
        await asyncio.sleep(0)
        gone.cancel()
        both = await asyncio.gather(*others)
        assert both[0] == both[1]
        assert compiler.compiled == [SOURCE], "who asked first has gone, and others still wait for it"


async def test_phs_5_nothing_is_compiled_for_who_has_gone_and_who_comes_then_gets_it(store: Store) -> None:
    """Else a deployment that was broken off would let all others wait for its transforms."""
    async with opened(store) as (transforms, compiler):
        gone = asyncio.create_task(transforms.compiled(SOURCE))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        assert await transforms.compiled(SOURCE)
        assert compiler.compiled == [SOURCE]


async def test_phs_5_what_is_refused_is_not_kept_and_another_source_is_another_transform(store: Store) -> None:
    async with opened(store) as (transforms, compiler):
        for _ in range(2):
            with pytest.raises(InvalidTypeScript, match="line 4, column 45"):
                await transforms.compiled(SOURCE.replace("names: input", "nope: input"))
        assert len(compiler.compiled) == 2
        await transforms.compiled(SOURCE)
        changed = await transforms.compiled(SOURCE.replace("names: string[]", "names: string[]; more?: null"))
        assert "more" in str(changed.output_schema)


async def test_phs_5_any_schema_and_any_text_is_kept_as_it_was(store: Store) -> None:
    source = (
        "type Input = any; type Output = { a: 'é\\u2028\"' | '😀' | 1e21 | -0.5; t: Tree };\n"
        "interface Tree { t?: Tree }\n"
        "export default (input: Input): Output => ({ a: '😀', t: {} }); // é\u2028"
    )
    async with opened(store) as (transforms, _):
        compiled = await transforms.compiled(source)
    kept = await find_compiled(store, transform_hash(source))
    assert kept
    assert CompiledTransform(*kept) == compiled
    assert kept.input_schema is True


async def test_phs_5_closing_while_something_is_compiled_leaves_nothing_behind(store: Store) -> None:
    async with opened(store) as (transforms, compiler):
        asked = asyncio.create_task(transforms.compiled(SOURCE))
        while not compiler.pids and not asked.done():  # noqa: ASYNC110  # what is waited for is not made to tell
            await asyncio.sleep(0.002)
        await transforms.close()
        with pytest.raises(asyncio.CancelledError):
            await asked
    assert compiler.pids == []


async def test_phs_5_who_asked_for_the_same_source_with_time_left_gets_it_compiled(store: Store) -> None:
    spent, whole = CompileBudget(0.0), CompileBudget()
    async with opened(store) as (transforms, _):
        refused, given = await asyncio.gather(
            transforms.compiled(SOURCE, spent), transforms.compiled(SOURCE, whole), return_exceptions=True
        )
        assert isinstance(refused, CompileBudgetSpent)
        assert isinstance(given, CompiledTransform)
