"""The compiler's process: limits that end it, a new one in its place, and an end when nobody needs it (PHS-5)."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.tasks import until
from wonder.sandbox import typescript_process
from wonder.sandbox.typescript import CompileBudgetSpent, CompiledTransform, InvalidTypeScript, TypeScriptCompiler
from wonder.sandbox.typescript_process import CompileBudget, CompilerLimits, CompilerNotStarted

OUTPUT = "\ninterface Output {}\nexport default (input: Input): Output => ({});"
DEEP = 5_000
ENDLESS = (
    "type C<N extends number, A extends any[] = []> = A['length'] extends N ? A : C<N, [...A, any]>; "
    "type Input = C<999>;"
)
GROWING = (
    "type N<T extends any[], D extends any[]> = D['length'] extends 24 ? T['length'] : N<[...T, 1], [...D, 1]> "
    "| N<[...T, 2], [...D, 1]>; type Input = N<[], []>;"
)


@pytest.fixture
async def strict() -> AsyncIterator[TypeScriptCompiler]:
    """A compiler that may compute for a second, with one process."""
    compiler = TypeScriptCompiler(CompilerLimits(cpu_seconds=1.0), lanes_max=1)
    yield compiler
    await compiler.close()


def source(type: str = "string") -> str:
    """A transform that is fine."""
    return f"interface Input {{ a: {type} }}{OUTPUT}"


def is_there(pid: int) -> bool:
    """Say whether there is such a process, though it may have ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def fault_of(compiler: TypeScriptCompiler, source: str) -> str:
    """Compile what must be refused with one fault."""
    with pytest.raises(InvalidTypeScript) as refused:
        await compiler.compile(source)
    (fault,) = refused.value.faults
    return fault.message


@pytest.mark.parametrize(
    ("hostile", "message"),
    [
        (ENDLESS, "the source takes too long to be compiled"),
        ("type Input = " + "{ a: " * DEEP + "1" + "}" * DEEP, "the source is nested too deeply"),
        ("type Input = 1; const x = " + "(" * DEEP + "1" + ")" * DEEP, "the source is nested too deeply"),
        ("type B<T> = { v: T }; type Input = " + "B<" * DEEP + "1" + ">" * DEEP, "the source is nested too deeply"),
        ("type Input = 1; " + "{" * DEEP + "}" * DEEP, "the source is nested too deeply"),
    ],
    ids=["endless", "types", "expressions", "generics", "blocks"],
)
async def test_phs_5_what_would_never_end_is_a_fault_and_the_process_is_replaced(
    strict: TypeScriptCompiler, hostile: str, message: str
) -> None:
    await strict.compile(source())
    before = strict.pids
    assert (await fault_of(strict, hostile + OUTPUT)).startswith(message)
    assert isinstance(await strict.compile(source("number")), CompiledTransform)
    assert len(strict.pids) == 1
    assert strict.pids != before


async def test_phs_5_what_is_nested_too_deeply_is_told_where_it_is_deepest(strict: TypeScriptCompiler) -> None:
    with pytest.raises(InvalidTypeScript) as refused:
        await strict.compile(OUTPUT + "\ntype Input = " + "[" * DEEP + "1" + "]" * DEEP)
    (fault,) = refused.value.faults
    assert (fault.line, fault.column) == (4, len("type Input = ") + DEEP)


async def test_phs_5_types_that_take_all_memory_are_a_fault() -> None:
    compiler = TypeScriptCompiler(CompilerLimits(cpu_seconds=60.0, memory_bytes=96 << 20))
    try:
        assert (await fault_of(compiler, GROWING + OUTPUT)).startswith("the source takes too much memory")
        await compiler.compile(source())
    finally:
        await compiler.close()


async def test_phs_5_a_transform_has_a_budget_and_the_refusal_names_it(strict: TypeScriptCompiler) -> None:
    assert "more than 1 seconds of computing, the budget of one transform" in await fault_of(strict, ENDLESS + OUTPUT)
    limits = CompilerLimits()
    assert (limits.cpu_seconds, limits.memory_bytes >> 20) == (3.0, 192), "docs/reference/transforms.md says so"


async def test_phs_5_all_transforms_of_a_deployment_have_one_budget(strict: TypeScriptCompiler) -> None:
    budget = CompileBudget(1.5)
    bombs = [strict.compile(f"{ENDLESS}{OUTPUT}// {number}", budget) for number in range(4)]
    refused = await asyncio.gather(*bombs, strict.compile(source(), budget), return_exceptions=True)
    # The second begins while some of the budget is left; of the rest none is compiled.
    assert [type(one) for one in refused] == [InvalidTypeScript] * 2 + [CompileBudgetSpent] * 3
    assert "have taken 1.5 seconds of computing, the budget of one deployment" in str(refused[-1])
    assert isinstance(await strict.compile(source()), CompiledTransform), "others have a budget of their own"


async def test_phs_5_what_a_compilation_takes_is_counted() -> None:
    compiler, budget = TypeScriptCompiler(), CompileBudget(0.001)
    try:
        await compiler.compile(source(), budget)
        assert budget.is_spent
    finally:
        await compiler.close()


async def test_phs_5_many_types_and_many_names_are_compiled_or_refused_with_a_reason() -> None:
    compiler = TypeScriptCompiler()
    wide = "type Input = {" + "".join(f"p{index}:1;" for index in range(10_000)) + "};"
    strange = "interface constructor { __proto__: toString }\ninterface toString { hasOwnProperty?: constructor }\n"
    try:
        with pytest.raises(
            InvalidTypeScript, match="line 1, column 6: 'Input' can't be written as a schema: the schema has"
        ):
            await compiler.compile(wide + OUTPUT)
        many = "".join(f"type T{index} = {{ a: {index} }};\n" for index in range(3_000))
        assert (await compiler.compile(many + "type Input = T7;" + OUTPUT)).input_schema == {
            "type": "object",
            "properties": {"a": {"const": 7}},
            "required": ["a"],
        }
        shared = "type A0 = { v: string };" + "".join(
            f"type A{n} = {{ x: A{n - 1}; y: A{n - 1} }};" for n in range(1, 60)
        )
        doubled = (await compiler.compile(shared + "type Input = A59;" + OUTPUT)).input_schema
        assert isinstance(doubled, dict)
        assert len(str(doubled)) < 30_000, "what is used twice at each of 60 levels is written once"
        odd = (await compiler.compile(strange + "type Input = { a: constructor; b: toString };" + OUTPUT)).input_schema
        assert isinstance(odd, dict)
        assert odd["required"] == ["a", "b"]
    finally:
        await compiler.close()


async def test_phs_5_a_process_that_somebody_ended_is_replaced_unnoticed(strict: TypeScriptCompiler) -> None:
    await strict.compile(source())
    os.kill(strict.pids[0], signal.SIGKILL)
    assert isinstance(await strict.compile(source("number")), CompiledTransform)


async def test_phs_5_a_process_that_does_not_answer_is_ended_at_its_deadline() -> None:
    compiler = TypeScriptCompiler(CompilerLimits(wall_seconds=30.0))
    try:
        await compiler.compile(source())
        (pid,) = compiler.pids
        os.kill(pid, signal.SIGSTOP)
        # On a busy machine a thread of it may go on for a moment.
        await until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        compiler._lanes[next(iter(compiler._lanes))]._limits = CompilerLimits(wall_seconds=0.2)  # type: ignore[union-attr]
        assert (await fault_of(compiler, source("number"))).startswith("the source takes too long")
        assert not is_there(pid)
        await compiler.compile(source("number"))
    finally:
        await compiler.close()


async def test_phs_5_the_compiler_is_started_when_it_is_needed_and_ended_when_it_is_not() -> None:
    compiler = TypeScriptCompiler(idle_seconds=0.05)
    assert compiler.pids == []
    await compiler.compile(source())
    await until(lambda: not compiler.pids)
    await compiler.compile(source("number"))
    await compiler.close()
    assert compiler.pids == []
    await compiler.compile(source("boolean"))
    await compiler.close()


async def test_phs_5_many_sources_at_once_get_each_its_own_answer_from_two_processes_at_most() -> None:
    compiler = TypeScriptCompiler(lanes_max=2)
    try:
        orders = [asyncio.create_task(compiler.compile(source(f"{{ p{index}: 1 }}"))) for index in range(12)]
        cancelled = asyncio.create_task(compiler.compile(source("'nobody waits for it'")))
        await asyncio.sleep(0)
        cancelled.cancel()
        for index, compiled in enumerate(await asyncio.gather(*orders)):
            assert f"'p{index}'" in str(compiled.input_schema)
        assert len(compiler.pids) == 2
    finally:
        await compiler.close()


async def test_phs_5_closing_ends_what_is_under_way_and_leaves_no_process() -> None:
    compiler = TypeScriptCompiler()
    orders = [asyncio.create_task(compiler.compile(source(f"'{index}'"))) for index in range(3)]
    await until(lambda: bool(compiler.pids))
    pids = compiler.pids
    await compiler.close()
    results = await asyncio.gather(*orders, return_exceptions=True)
    assert all(isinstance(result, CompiledTransform | asyncio.CancelledError) for result in results)
    assert not any(map(is_there, pids))


async def test_phs_5_a_missing_package_is_told_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typescript_process, "find_spec", lambda name: None)
    compiler = TypeScriptCompiler()
    try:
        with pytest.raises(
            CompilerNotStarted, match="there is no module _quickjs; install the packages quickjs-ng and dukpy"
        ):
            await compiler.compile(source())
    finally:
        await compiler.close()
