"""A full disk under load, a small share of it: errors are clear, and when there is room again all ends once (INV-1)."""

import asyncio
from collections import Counter
from random import Random
from typing import Any

import pytest

from proof import disk_full, rooms, sqlite_load


@pytest.mark.parametrize("kind", ["disk", "limit"])
def test_inv_1_all_that_was_accepted_ends_once_when_there_is_room_again(kind: str) -> None:
    """INV-1, INV-2, INV-4: the disk is full, or a file may not grow."""
    try:
        counts = disk_full.prove(3, 1, kind)
    except PermissionError as refused:
        pytest.skip(str(refused))
    assert counts["fulls"] >= 3
    assert counts["violations"] == 0


class SlowLoad(sqlite_load.Load):
    """Actions that take a while, so that the disk is full when they end."""

    async def _act(self, name: Any) -> dict[str, Any]:
        result = await super()._act(name)
        await asyncio.sleep(0.1)
        return {**result, "padding": "y" * 20_000}


async def test_inv_4_an_action_is_not_repeated_while_its_result_can_t_be_stored() -> None:
    """INV-4: neither while the disk is full nor when there is room again, because no process ended."""
    log: list[sqlite_load.Line] = []
    load = SlowLoad(Random(0), log.append)
    try:
        with rooms.room_of("disk") as room:
            async with load.open(room.folder / "wonder.db") as wonder:
                for key in load.plan(2):
                    load.asked[key] = ("chain", load.asked[key][1])
                    await load.ask(wonder, key)
                room.shrink(0)
                await asyncio.sleep(1.5)
                # Room for little: what is tried first can be stored, and what runs have to store can't.
                for slack in (20_000, 40_000, 60_000):
                    room.grow()
                    room.shrink(slack)
                    await asyncio.sleep(0.5)
                room.grow()
                await load.finish(wonder)
    except PermissionError as refused:
        pytest.skip(str(refused))
    # How many of them could be stored meanwhile depends on what SQLite's log has room for.
    steps = Counter((line["run"], line["node"]) for line in log if line["kind"] == "effect")
    assert len(steps) == 6
    assert set(steps.values()) == {1}
