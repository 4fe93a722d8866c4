"""PHS-5: a transform needs no commit of its own; what it gives is stored with what it was made of."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from support.faulty_stores import FaultyStore, wonder_on
from support.systems import assert_sound, bundle, calls, event_types, line, no_run_in_memory, until
from wonder.actions.protocol import ActionContext
from wonder.actions.transform.kind import TransformAction
from wonder.coordinator import commits
from wonder.language.values import JsonValue
from wonder.storage.errors import ConnectionLost
from wonder.storage.store import Entry, Fence, Store

ADD = """type Input = { n: number };
type Output = { n: number };
export default (input: Input): Output => ({ n: input.n + 1 });
"""
STATE = {"type": "object", "properties": {"n": {"type": "integer", "default": 0}}}
WRITTEN = {"state.n": "$.n", "output.n": "$.n"}


def adds() -> dict[str, Any]:
    """Make a node whose transform adds one."""
    action = {"kind": "transform", "implementation": {"source": ADD}, "execution": {"timeout_ms": 20_000}}
    return {"action": action, "input_mapping": {"n": "$.state.n"}, "output_mapping": WRITTEN}


def chain(*nodes: str) -> dict[str, Any]:
    """Make a workflow of transforms (`add…`) and calls (`call…`) in line, all of which add one."""
    call = calls("call", input_mapping={"n": "$.state.n"}, output_mapping=WRITTEN)
    made = {name: adds() if name.startswith("add") else call for name in nodes}
    return bundle("adds", made, line(*nodes), context_schema=STATE)


def counted() -> tuple[list[FaultyStore], Callable[[Store], FaultyStore]]:
    """Give a list that will hold the store, and what wraps it."""
    stores: list[FaultyStore] = []

    def wrap(real: Store) -> FaultyStore:
        stores.append(FaultyStore(real))
        return stores[0]

    return stores, wrap


async def call(n: int) -> dict[str, int]:
    """Add one."""
    return {"n": n + 1}


async def commits_of(url: str, *nodes: str) -> int:
    """Count the commits of one run, all of it warm."""
    stores, wrap = counted()
    async with wonder_on(url, wrap, {"call": call}) as wonder:
        workflow = await wonder.deploy(chain(*nodes))
        for _ in range(2):
            before = stores[0].commits
            ended = await (await wonder.start(workflow)).wait()
            assert ended.output == {"n": len(nodes)}, ended.error
        await no_run_in_memory(wonder)
        found = stores[0].commits - before
    await assert_sound(url)
    return found


async def test_phs_5_transforms_of_a_lone_run_are_stored_with_what_comes_before_or_after(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PHS-5"""
    # However slow the machine is, the answer is waited for.
    monkeypatch.setattr(commits, "_HELD_SECONDS", 60.0)
    alone = await commits_of(store_url, "call-1", "call-2")
    assert await commits_of(store_url, "call-1", "add-1", "add-2", "call-2") == alone


async def test_phs_5_a_transform_that_takes_longer_keeps_nothing_from_being_stored(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PHS-5"""
    run = TransformAction.run

    async def slow(self: TransformAction, input: JsonValue, context: ActionContext) -> JsonValue:
        await asyncio.sleep(10 * commits._HELD_SECONDS)
        return await run(self, input, context)

    monkeypatch.setattr(TransformAction, "run", slow)
    assert await commits_of(store_url, "call-1", "add-1", "add-2", "call-2") > 3


async def test_phs_5_many_runs_and_branches_go_on_as_ever(store_url: str) -> None:
    """PHS-5"""
    async with wonder_on(store_url, counted()[1], {"call": call}) as wonder:
        workflow = await wonder.deploy(chain("add-1", "call-1", "add-2", "add-3", "call-2"))
        runs = await asyncio.gather(*(wonder.start(workflow) for _ in range(30)))
        ended = await asyncio.gather(*(run.wait() for run in runs))
        assert [one.output for one in ended] == [{"n": 5}] * 30
        types = await event_types(wonder, runs[0])
        assert types.count("node_completed") == 5
    await assert_sound(store_url)


class SlowStore(FaultyStore):
    """A store whose commits wait until they are let through."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.free = asyncio.Event()
        self.free.set()

    async def commit(self, batch: Iterable[Entry], *, fence: Fence | None = None, **options: Any) -> None:
        """Commit, once that is free."""
        await self.free.wait()
        await super().commit(batch, fence=fence, **options)


async def test_phs_5_a_transform_that_has_ended_before_it_was_durable_is_not_begun_again(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PHS-5"""
    begun: list[JsonValue] = []
    run_transform, stores = TransformAction.run, list[SlowStore]()

    async def run_counted(self: TransformAction, input: JsonValue, context: ActionContext) -> JsonValue:
        given = await run_transform(self, input, context)
        begun.append(given)
        return given

    def wrap(real: Store) -> FaultyStore:
        stores.append(SlowStore(real))
        return stores[0]

    async def hold(n: int) -> dict[str, int]:
        stores[0].free.clear()
        return {"n": n + 1}

    monkeypatch.setattr(TransformAction, "run", run_counted)
    left, right = adds(), calls("call", input_mapping={"n": "$.state.n"})
    left["output_mapping"] = {"_branch.output.n": "$.n"}
    first = calls("hold", input_mapping={"n": "$.state.n"}, output_mapping={"state.n": "$.n"})
    last = calls("call", input_mapping={"n": "$.state.n"}, output_mapping={"output": "$"})
    joined = {"strategy": "all", "sibling_group": "first"}
    transitions = [{"from": "first", "to": "left"}, {"from": "first", "to": "right"}]
    transitions += [{"from": one, "to": "last", "synchronization": joined} for one in ("left", "right")]
    nodes = {"first": first, "left": left, "right": right, "last": last}
    async with wonder_on(store_url, wrap, {"hold": hold, "call": call}) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("both", nodes, transitions, context_schema=STATE)))

        async def has_ended() -> bool:
            return len(begun) == 1

        await until(has_ended)
        # Its result is taken by now, or in the next turns of the loop: it waits for its sibling.
        for _ in range(10):
            await asyncio.sleep(0)
        stores[0].free.set()
        assert (await run.wait()).output == {"n": 2}
        assert begun == [{"n": 2}]
        assert "late_result_ignored" not in await event_types(wonder, run)
    await assert_sound(store_url)


async def test_phs_5_what_a_transform_gave_goes_with_a_commit_that_fails_and_is_made_again(
    store_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """PHS-5, INV-2"""
    caplog.set_level("CRITICAL")
    stores, wrap = counted()
    async with wonder_on(store_url, wrap, {"call": call}) as wonder:
        workflow = await wonder.deploy(chain("call-1", "add-1", "add-2", "call-2"))
        assert (await (await wonder.start(workflow)).wait()).output == {"n": 4}
        for number in range(1, 5):
            run = await wonder.start(workflow)
            stores[0].fail(number, ConnectionLost("commit"))
            async with asyncio.timeout(60):
                assert (await run.wait()).output == {"n": 4}
            # It may have ended before the commit came that was to fail.
            stores[0].faults.clear()
        assert stores[0].hits
        await no_run_in_memory(wonder)
    await assert_sound(store_url)
