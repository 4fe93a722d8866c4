"""`transform`: pure TypeScript between steps, checked at both ends, within limits (PHS-5)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.systems import bundle, calls, line, running
from support.tasks import ORIGIN, ManualEnvironment, action, bench, step, task
from wonder.actions.protocol import ActionFailed
from wonder.actions.transform.kind import TransformKind, _Loaded
from wonder.app.application import Application
from wonder.app.results import RunResult
from wonder.sandbox.pool import TransformPool
from wonder.sandbox.pool_errors import TransformFailed
from wonder.sandbox.typescript import CompiledTransform

TOTAL = """interface Input { rows: { price: number; count: number }[] }
interface Output { total: number; note?: string }
export default (input: Input): Output => ({
  total: input.rows.reduce((sum, row) => sum + row.price * row.count, 0),
  note: input.rows.length > 2 ? 'many' : undefined,
});
"""


def transforms(source: str, **fields: Any) -> dict[str, Any]:
    """Make a node that runs a transform with the whole input, and gives its value as the output."""
    made = {"action": {"kind": "transform", "implementation": {"source": source}}}
    return {**made, "input_mapping": "$.input", "output_mapping": {"output": "$"}, **fields}


async def result(wonder: Application, source: str, input: Any) -> RunResult:
    """Deploy a workflow of one transform and run it."""
    workflow = await wonder.deploy(bundle("one", {"only": transforms(source)}))
    return await (await wonder.start(workflow, input)).wait()


async def test_phs_5_a_transform_gives_its_value_to_what_follows(store_url: str) -> None:
    """PHS-5"""

    async def keep(**given: Any) -> dict[str, Any]:
        return {"kept": given}

    nodes = {
        "total": transforms(TOTAL, output_mapping={"state.sum": "$"}),
        "keep": calls("keep", input_mapping="$.state.sum", output_mapping={"output": "$"}),
    }
    state = {"type": "object", "properties": {"sum": {"type": "object"}}}
    rows = [{"price": 1.5, "count": 2}, {"price": 4, "count": 1}]
    async with running(store_url, keep=keep) as wonder:
        workflow = await wonder.deploy(bundle("sums", nodes, line(*nodes), context_schema=state))
        ended = await (await wonder.start(workflow, {"rows": rows})).wait()
        assert (ended.status, ended.output) == ("completed", {"kept": {"total": 7}})
        # An optional property that is undefined is left out, and one that is there is there.
        ended = await (await wonder.start(workflow, {"rows": rows * 2})).wait()
        assert ended.output == {"kept": {"total": 14, "note": "many"}}


async def test_phs_5_input_and_output_are_held_against_their_types(store_url: str) -> None:
    """PHS-5, TSK-4"""
    async with running(store_url) as wonder:
        ended = await result(wonder, TOTAL, {"rows": [{"price": "1", "count": 2}]})
        assert ended.error
        assert ended.error["code"] == "ACTION_INPUT_SCHEMA"
        assert "rows[0].price" in str(ended.error["message"])
        ended = await result(wonder, TOTAL.replace("'many' : undefined", "'' : 1 as any"), {"rows": []})
        assert ended.error
        assert ended.error["code"] == "ACTION_OUTPUT_SCHEMA"
        assert "note" in str(ended.error["message"])
        assert not ended.error["retryable"]


async def test_phs_5_what_its_code_throws_fails_the_step_with_its_message(store_url: str) -> None:
    """PHS-5"""
    source = TOTAL.replace("total: input", "total: (input as any).nothing.at(0) + input")
    async with running(store_url) as wonder:
        ended = await result(wonder, source, {"rows": []})
        assert ended.error
        assert ended.error["code"] == "TRANSFORM_THREW"
        assert "TypeError: cannot read property 'at' of undefined (line 4)" in str(ended.error["message"])


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("throw new Error('here');", 9),
        ("const f = (x: any): string => {\n\n    return x.y.z; // deep\n  };\n  f(input);", 11),
        ("enum E { A, B }\n  /* more\n  lines */ interface I { a: string }\n  ({} as any)[E.A].b;", 12),
        ("const text = `a\n\nb`;\n  (text as any)\n    .nothing();", 13),
        ("[3, 1].sort((a, b) => {\n    throw new Error('x');\n  });", 10),
    ],
)
async def test_phs_5_the_line_of_what_is_thrown_is_the_authors(tmp_path: Path, body: str, line: int) -> None:
    """PHS-5"""
    source = "// A comment.\n\ninterface Input {\n  a?: string\n}\ninterface Output {}\n\n"
    source += f"export default (input: Input): Output => {{\n  {body}\n  return {{}};\n}};\n"
    async with running(f"sqlite:///{tmp_path / 'wonder.db'}") as wonder:
        ended = await result(wonder, source, {})
        assert ended.error
        details = ended.error["details"]
        assert isinstance(details, dict)
        assert details.get("line") == line, ended.error


async def test_phs_5_a_restart_compiles_nothing_and_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PHS-5"""
    url, rows = f"sqlite:///{tmp_path / 'wonder.db'}", {"rows": [{"price": 0.1, "count": 3}]}
    async with running(url) as wonder:
        first = (await result(wonder, TOTAL, rows)).output

    def compile_again(*given: Any) -> None:
        raise AssertionError("it was compiled again")

    monkeypatch.setattr("wonder.sandbox.typescript.TypeScriptCompiler.compile", compile_again)
    async with running(url) as wonder:
        ended = await (await wonder.start("one", rows)).wait()
        assert ended.output == first == {"total": 0.30000000000000004}


class Compiled:
    """A compiler that knows what it gives."""

    def __init__(self, function: str) -> None:
        self._script = f"globalThis.__transform = {function}"

    async def compiled(self, source: str) -> CompiledTransform:
        """Give the function, with schemas that take anything."""
        return CompiledTransform(self._script, True, {})


async def test_phs_5_time_in_line_does_not_count_against_the_limit() -> None:
    """PHS-5"""
    pool, environment = TransformPool(workers_max=1), ManualEnvironment()
    kind = TransformKind(Compiled("(input) => input"), pool)
    limits: dict[str, Any] = {"time_ms": 600_000, "memory_bytes": 64 << 20}
    endless = asyncio.create_task(pool.run("globalThis.__transform = () => { for (;;) {} }", None, **limits))
    async with bench(environment=environment) as made, asyncio.timeout(60):
        made.registry._kinds["transform"] = kind
        act = action("act", "transform", {"source": "x"}, execution={"timeout_ms": 1_000})
        compiled = made.compiled(task(step("act")), act)
        running = asyncio.create_task(made.executor.run(compiled, {"n": 1}, ORIGIN))
        while not pool._line:  # noqa: ASYNC110  # a pool is not made to tell
            await asyncio.sleep(0.002)
        await environment.sleep(5_000)
        endless.cancel()
        assert (await running).output == {"n": 1}
        await kind.close()


async def test_without_a_compiler_a_transform_fails_and_says_so() -> None:
    kind = TransformKind(None)
    with pytest.raises(ActionFailed, match="can't be compiled here"):
        await kind.load("x")
    await kind.close()


@pytest.mark.parametrize(
    ("lines", "shown"), [("4,7", 4), ("", None), ("x", None), ("\u00b2", None), ("9" * 5_000, None)]
)
def test_a_failure_is_told_whatever_the_compiler_has_written_of_its_lines(lines: str, shown: int | None) -> None:
    failed = TransformFailed("TRANSFORM_THREW", "no", details={"line": 1})
    told = _Loaded(f"x\n//# lines={lines}", None, None).failure(failed)
    assert told.details == ({} if shown is None else {"line": shown})


async def test_a_transform_may_hold_what_the_compiler_writes_as_its_last_line(store_url: str) -> None:
    # All from there on was cut off.
    source = TOTAL.replace("'many' : undefined", "'many' : `\n//# lines=x,y\n`")
    async with running(store_url) as wonder:
        assert (await result(wonder, source, {"rows": []})).output == {"total": 0, "note": "\n//# lines=x,y\n"}
        source = source.replace("total: input", "total: (input as any).nothing.at(0) + input")
        ended = await result(wonder, source, {"rows": []})
        assert ended.error
        assert "(line 4)" in str(ended.error["message"])
