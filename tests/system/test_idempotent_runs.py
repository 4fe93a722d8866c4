"""Actions with a key in whole runs: once per key over all runs and processes, and no more by one that was replaced."""

import asyncio
from typing import Any

import pytest
from engine_program import CHARGES

from support.faulty_stores import FaultyStore, wonder_on
from support.systems import assert_sound, bundle, calls, running, until
from wonder.app.engine import Engine
from wonder.app.opening import open_wonder
from wonder.storage.opening import open_store
from wonder.storage.store import Store


class Till:
    """What charges, and counts how often."""

    def __init__(self) -> None:
        self.charged: list[int] = []

    async def __call__(self, order: int) -> int:
        """Act, and give how often that was."""
        self.charged.append(order)
        await asyncio.sleep(0.01)
        return len(self.charged)


async def test_ret_4_runs_with_the_same_key_act_once_before_and_after_a_restart(store_url: str) -> None:
    """RET-4: also those under way at the same time."""
    till = Till()
    outputs: list[Any] = []
    for _ in range(2):
        async with running(store_url, charge=till) as wonder:
            workflow = await wonder.deploy(CHARGES)
            runs = [await wonder.start(workflow, {"order": number % 2}) for number in range(10)]
            outputs.append([(await run.wait()).output["by"] for run in runs])  # type: ignore[index,call-overload]  # an object
    assert sorted(till.charged) == [0, 1]
    assert outputs[0] == outputs[1]
    assert outputs[0] == outputs[0][:2] * 5


async def test_ret_4_records_that_have_expired_are_tidied_away(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """RET-4: and those that have not stay."""
    monkeypatch.setattr("wonder.app.engine._TIDY_SECONDS", 0.05)
    till = Till()
    nodes: dict[str, Any] = {}
    for name, ttl_seconds in (("short", 1), ("long", 3_600), ("for_ever", None)):
        nodes[name] = calls("charge", input_mapping={"order": 7})
        nodes[name]["action"]["idempotency"] = {"key_template": name, "ttl_seconds": ttl_seconds}
    transitions = [{"from": "short", "to": "long"}, {"from": "long", "to": "for_ever"}]
    async with running(store_url, charge=till) as wonder:
        await (await wonder.start(await wonder.deploy(bundle("keeps", nodes, transitions)))).wait()
        store = wonder.store
        assert await _keys(store) == ["for_ever", "long", "short"]

        async def is_tidied() -> bool:
            return await _keys(store) == ["for_ever", "long"]

        await until(is_tidied)


async def test_ret_4_an_engine_that_is_closed_writes_the_record_of_what_has_acted(store_url: str) -> None:
    """RET-4: the run goes on in the next engine, which does not act again."""
    till, asked = Till(), asyncio.Event()

    class Slow(FaultyStore):
        async def commit(self, batch: Any, **options: Any) -> None:
            entries = list(batch)
            if any(query == "keep_record" for query, _ in entries):
                asked.set()
                await asyncio.sleep(0.2)
            await super().commit(entries, **options)

    async with wonder_on(store_url, Slow, {"charge": till}) as wonder:
        run = await wonder.start(await wonder.deploy(CHARGES), {"order": 7})
        await asked.wait()
    async with running(store_url, charge=till) as wonder:
        assert (await wonder.wait(run.id)).output == {"by": 1}
    assert till.charged == [7]


async def test_inv_5_an_engine_that_was_replaced_stops_at_the_record_and_takes_no_further_step(store_url: str) -> None:
    """INV-5, RET-4: the next engine acts, and its result is the one that counts."""
    other = await open_store(store_url)
    engines: list[Engine] = []
    acted: list[str] = []

    async def charge() -> str:
        acted.append("charge")
        if len(acted) == 1:
            async with other.transaction() as transaction:
                await transaction.run("UPDATE leases SET epoch = epoch + 1, deadline_ms = 0")
        return f"charge {len(acted)}"

    async def ship() -> None:
        acted.append("ship")

    functions = {"tests:charge": charge, "tests:ship": ship}
    async with open_wonder(store_url, functions=functions, lease_ms=60_000) as wonder:
        assert wonder.engine
        engines.append(wonder.engine)
        run = await wonder.start(await wonder.deploy(_CHARGE_THEN_SHIP))
        await engines[0].stopped.wait()
        result = await run.wait()
        assert wonder.engine is not engines[0]
        assert result.output == {"paid": "charge 2"}
    assert acted == ["charge", "charge", "ship"]
    assert await other.query("SELECT count(*) FROM idempotency_records") == [(1,)]
    await other.close()
    await assert_sound(store_url)


_PYTHON = {"kind": "python"}
_CHARGE_THEN_SHIP: dict[str, Any] = {
    **bundle("ships", {"both": {"task": "both", "output_mapping": {"output": "$"}}}),
    "tasks": {
        "both": {
            "steps": [
                {
                    "ref": "charge",
                    "on_failure": "continue",
                    "output_mapping": {"output.paid": "$"},
                    "action": _PYTHON
                    | {"implementation": {"function": "tests:charge"}, "idempotency": {"key_template": "k"}},
                },
                {"ref": "ship", "action": _PYTHON | {"implementation": {"function": "tests:ship"}}},
            ]
        }
    },
}


async def _keys(store: Store) -> list[str]:
    return [str(key) for (key,) in await store.query("SELECT key FROM idempotency_records ORDER BY key")]
