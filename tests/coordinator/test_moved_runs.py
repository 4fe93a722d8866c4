"""Retries with another version of the workflow: live branches, joins and waits find their places, or it is refused."""

from typing import Any

import pytest

from support.definitions import update
from support.systems import bundle, calls, running, waits
from wonder.actions.protocol import ActionFailed
from wonder.engine.fork import ForkRefused
from wonder.observe.verify import verify_run

NODES = {
    "start": update(),
    "each": calls("work", input_mapping={"n": "$.item"}, output_mapping={"state.n": "$.n"}),
    "done": update(**{"output.all": "state.all"}),
}
FAN_OUT: Any = {"from": "start", "to": "each", "foreach": {"collection": "input.items", "max_parallel": 1}}
JOIN: Any = {
    "from": "each",
    "to": "done",
    "synchronization": {
        "strategy": "all",
        "sibling_group": "start",
        "merge": {"source": "_branch.output.n", "target": "state.all", "strategy": "append"},
    },
}
SCHEMA: Any = {"type": "object", "properties": {"n": {}, "all": {"type": "array"}}}


def version(nodes: dict[str, Any], transitions: list[Any], schema: Any = SCHEMA) -> dict[str, Any]:
    return bundle("moved", nodes, transitions, context_schema=schema)


async def test_ctl_19_live_branches_go_on_in_the_latest_version(store_url: str) -> None:
    is_mended = False

    async def work(n: int) -> dict[str, int]:
        if n == 1 and not is_mended:
            raise ActionFailed("BROKEN", "not yet")
        return {"n": n * 10}

    async with running(store_url, work=work) as wonder:
        run = await wonder.start(await wonder.deploy(version(NODES, [FAN_OUT, JOIN])), {"items": [0, 1, 2]})
        assert (await run.wait()).status == "failed"
        is_mended = True
        longer = {**NODES, "last": update(**{"output.last": "1"})}
        await wonder.deploy(version(longer, [{"from": "done", "to": "last"}, JOIN, FAN_OUT]))
        again = await wonder.retry(run.id, version="latest")
        assert (await again.wait()).output == {"all": [0, 10, 20], "last": 1}
        assert await verify_run(wonder.store, again.id) == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            version(
                {"start": NODES["start"], "other": NODES["each"], "done": NODES["done"]},
                [{**FAN_OUT, "to": "other"}, {**JOIN, "from": "other"}],
            ),
            "start → each",
        ),
        (version(NODES, [FAN_OUT, {"from": "each", "to": "done"}]), "the join at node 'done'"),
        (
            version(
                {**NODES, "each": calls("work", input_mapping={"n": "$.other"}, output_mapping={"state.n": "$.n"})},
                [{**FAN_OUT, "foreach": {"collection": "input.items", "max_parallel": 1, "item_var": "other"}}, JOIN],
            ),
            "the foreach of the transition start → each",
        ),
        (
            bundle("moved", NODES, [FAN_OUT, JOIN], context_schema=SCHEMA, input_schema={"required": ["must"]}),
            "the input of the run does not fit its schema",
        ),
    ],
)
async def test_ctl_19_what_is_live_and_has_no_place_is_named(
    store_url: str, changed: dict[str, Any], reason: str
) -> None:
    async def work(n: int) -> dict[str, int]:
        if n == 1:
            raise ActionFailed("BROKEN", "not yet")
        return {"n": n}

    async with running(store_url, work=work) as wonder:
        run = await wonder.start(await wonder.deploy(version(NODES, [FAN_OUT, JOIN])), {"items": [0, 1, 2]})
        await run.wait()
        await wonder.deploy(changed)
        with pytest.raises(ForkRefused, match=reason):
            await wonder.retry(run.id, version="latest")
        with pytest.raises(ForkRefused, match="version 2"):
            await wonder.retry(run.id, version=2)


async def test_ctl_19_what_sleeps_begins_anew_if_its_node_has_another_task(store_url: str) -> None:
    """One that has the same task sleeps on until its time."""

    async def work(n: int) -> dict[str, int]:
        raise ActionFailed("BROKEN", "not yet")

    nap = waits("sleep", {"ms": 3_600_000})
    nodes = {"start": update(), "nap": nap, "each": calls("work", input_mapping={"n": 1})}
    ways: list[Any] = [{"from": "start", "to": "nap"}, {"from": "start", "to": "each"}]
    async with running(store_url, work=work) as wonder:
        run = await wonder.start(await wonder.deploy(bundle("naps", nodes, ways)))
        assert (await run.wait()).status == "failed"
        await wonder.deploy(bundle("naps", {**nodes, "each": update(), "nap": waits("sleep", {"ms": 1})}, ways))
        again = await wonder.retry(run.id, version="latest")
        assert (await again.wait()).status == "completed"
        assert await verify_run(wonder.store, again.id) == []
