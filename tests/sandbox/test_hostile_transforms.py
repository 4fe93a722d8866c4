"""PHS-5: hostile code ends as a failed step, never as a hung or dead process; each case runs through a workflow."""

import asyncio
from collections import Counter

import pytest
from proof.hostile import deploy, run_all, workflow
from proof.hostile_transforms import HOSTILE

from support.systems import running
from wonder.app.application import Application
from wonder.app.results import RunResult

HONEST = """type Input = { n: number };
type Output = { n: number };
export default (input: Input): Output => ({ n: input.n + 1 });
"""


async def honest(wonder: Application, n: int) -> RunResult:
    """Run a transform that does no harm."""
    return await (await wonder.start("honest", {"n": n})).wait()


def test_there_are_enough_of_them_and_each_has_its_own_name() -> None:
    assert len(HOSTILE) >= 60
    assert max(Counter(hostile.name for hostile in HOSTILE).values()) == 1


async def test_phs_5_every_hostile_transform_ends_as_a_failed_step_and_the_engine_goes_on(store_url: str) -> None:
    """PHS-5"""
    # On one database all of them, on the other one of each sort: the database has no part in it.
    chosen = HOSTILE if store_url.startswith("sqlite") else HOSTILE[::12]
    async with running(store_url) as wonder:
        await wonder.deploy(workflow("honest", HONEST, time_ms=20_000))
        names = await deploy(wonder, chosen)
        async with asyncio.timeout(240):
            wrong, *results = await asyncio.gather(
                run_all(wonder, names, chosen), *(honest(wonder, n) for n in range(20))
            )
            assert wrong == []
            # Honest ones get through in between, and afterwards all is as it was.
            assert [result.output for result in results] == [{"n": n + 1} for n in range(20)]
            assert (await honest(wonder, 41)).output == {"n": 42}


@pytest.mark.parametrize("execution", [None, {"timeout_ms": 250}])
async def test_phs_5_a_step_that_is_cut_off_says_what_its_limit_was(
    store_url: str, execution: dict[str, int] | None
) -> None:
    """PHS-5"""
    definition = workflow("endless", HONEST.replace("=> (", "=> { for (;;) {} }; const other = (input: Input) => ("))
    action = definition["workflow"]["nodes"]["only"]["action"]
    del action["execution"]
    if execution:
        action["execution"] = execution
    async with running(store_url) as wonder:
        result = await (await wonder.start(await wonder.deploy(definition), {"n": 1})).wait()
        assert result.status == "failed"
        assert result.error
        if execution:
            assert result.error["code"] in {"TRANSFORM_TIMEOUT", "ACTION_TIMEOUT"}
            assert "250 ms" in str(result.error["message"])
        else:
            assert result.error["code"] == "TRANSFORM_TIMEOUT"
            assert "1,000 ms" in str(result.error["message"])
