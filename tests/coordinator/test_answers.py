"""Answers to questions of runs, when several come at once (ACT-4)."""

import asyncio

from support.systems import bundle, open_item, running, waits
from wonder.coordinator.errors import ItemClosed
from wonder.storage.runs.reading import load_inbox_item


async def test_act_4_of_two_answers_at_once_one_is_taken_and_the_other_refused_also_where_the_token_waits_at_a_join(
    store_url: str,
) -> None:
    question = {"prompt": "well?", "schema": {"type": "integer"}}
    nodes = {
        "begin": {"action": {"kind": "update_context", "implementation": {"updates": []}}},
        "one": waits("human_input", question),
        "other": waits("sleep", {"ms": 1_000}),
        "end": {"action": {"kind": "update_context", "implementation": {"updates": []}}},
    }
    join = {"synchronization": {"strategy": "all", "sibling_group": "begin"}}
    transitions = [
        {"from": "begin", "to": "one"},
        {"from": "begin", "to": "other"},
        {"from": "one", "to": "end", **join},
        {"from": "other", "to": "end", **join},
    ]
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("asks", nodes, transitions)))
        item = await open_item(wonder, run)
        told = await asyncio.gather(wonder.answer(item.id, 1), wonder.answer(item.id, 2), return_exceptions=True)
        (taken,) = [answer for answer, error in zip((1, 2), told, strict=True) if error is None]
        (refused,) = [error for error in told if error is not None]
        assert isinstance(refused, ItemClosed)
        assert (await load_inbox_item(wonder.store, item.id)).answer == taken
        assert (await run.wait()).status == "completed"
