"""RES-7, INV-9: a key from outside that can't be indexed is refused before it comes into a commit that others share."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.systems import bundle, calls, running, waits
from wonder.app.application import Application
from wonder.errors import WonderError
from wonder.language.keys import KEY_BYTES_MAX

# Texts that compress would fit into an index all the same.
LETTERS = random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000)
LONG, LONGEST = "".join(LETTERS), "".join(LETTERS)[:KEY_BYTES_MAX]
TEXTS = [LONG, "é" * (KEY_BYTES_MAX // 2 + 1), "a\x00b", "a\ud800b"]
NOOP = bundle("noop", {"a": calls("noop")})
KEYED = {"idempotency": {"key_template": "{{key}}", "ttl_seconds": 60}}


async def noop(**given: Any) -> None: ...


async def _start(wonder: Application, key: str) -> None:
    await (await wonder.start(await wonder.deploy(NOOP), idempotency_key=key)).wait()


async def _event(wonder: Application, name: str) -> None:
    await wonder.send_event(name)


async def _key_of_event(wonder: Application, key: str) -> None:
    await wonder.send_event("paid", key)


async def _id_of_event(wonder: Application, id: str) -> None:
    await wonder.send_event("paid", id=id)


@pytest.mark.parametrize("door", [_start, _event, _key_of_event, _id_of_event])
async def test_res_7_a_key_from_outside_that_is_too_long_is_refused_and_others_go_on(
    store_url: str, door: Callable[[Application, str], Awaitable[None]]
) -> None:
    async with running(store_url, noop=noop) as wonder:
        other = await wonder.start(await wonder.deploy(NOOP))
        for text in TEXTS:
            with pytest.raises(WonderError) as refused:
                await door(wonder, text)
            assert refused.value.code == "KEY_REFUSED"
        assert f"{len(TEXTS[1].encode()):,} bytes, and {KEY_BYTES_MAX:,}" in await _message(door, wonder, TEXTS[1])
        assert (await other.wait()).status == "completed"
        await door(wonder, LONGEST)


async def _message(door: Callable[[Application, str], Awaitable[None]], wonder: Application, text: str) -> str:
    with pytest.raises(WonderError) as refused:
        await door(wonder, text)
    return str(refused.value)


async def test_res_7_a_key_that_a_definition_makes_too_long_fails_its_node_and_nothing_else(store_url: str) -> None:
    act = {"kind": "python", "implementation": {"function": "tests:noop"}, **KEYED}
    acts = bundle("acts", {"a": {"action": act, "input_mapping": {"key": "$.input.key"}}})
    wait = waits("wait_for_event", {"event": "paid", "key": "{{key}}"}) | {"input_mapping": {"key": "$.input.key"}}
    async with running(store_url, noop=noop) as wonder:
        for definition in (acts, bundle("waits", {"a": wait})):
            workflow = await wonder.deploy(definition)
            fails = await wonder.start(workflow, {"key": LONG})
            other = await wonder.start(await wonder.deploy(NOOP))
            assert (await other.wait()).status == "completed"
            result = await fails.wait()
            assert result.error
            assert result.error["code"] == "KEY_REFUSED"
        longest = await wonder.start(await wonder.deploy(acts), {"key": LONGEST})
        assert (await longest.wait()).status == "completed"


async def test_inv_9_other_texts_and_numbers_from_outside_fail_no_commit_of_others_either(store_url: str) -> None:
    asks = bundle("asks", {"a": waits("human_input", {"prompt": "?", "schema": {}})})
    async with running(store_url, noop=noop) as wonder:
        run = await wonder.start(await wonder.deploy(asks))
        for refused in (
            lambda: wonder.cancel(run.id, "a\x00b"),
            lambda: wonder.send_event("paid", ttl_seconds=10**30),
            lambda: wonder.send_event("paid", ttl_seconds=-1),
        ):
            with pytest.raises(WonderError) as error:
                await refused()
            assert error.value.code in ("BAD_VALUE", "TTL_REFUSED")
        other = await wonder.start(await wonder.deploy(NOOP))
        assert (await other.wait()).status == "completed"
        await wonder.cancel(run.id)
