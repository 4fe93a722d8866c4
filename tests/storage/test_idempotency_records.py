"""Idempotency records as they are stored: by project, action and key, for a time or for ever (RET-4)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from wonder.storage.errors import LeaseLost
from wonder.storage.idempotency import (
    READABLE_BYTES_MAX,
    Kept,
    delete_expired_records,
    find_kept,
    keep_records,
    record_row,
    stored_key,
)
from wonder.storage.runs.leases import Lease, claim_lease
from wonder.storage.store import Store

KEY = ("project", "charge", "order-7")


@pytest.fixture
async def lease(store: Store) -> AsyncIterator[Lease]:
    """The right to write."""
    taken = await claim_lease(store, "owner")
    assert taken
    yield taken
    await taken.release()


async def keep(store: Store, lease: Lease, output: Any, *, key: Any = KEY, until: int | None = None) -> None:
    """Keep one record at the time 1,000."""
    await keep_records(store, lease, [record_row(key, output, 1_000, until)])


async def test_ret_4_a_record_is_found_by_project_action_and_key(store: Store, lease: Lease) -> None:
    await keep(store, lease, {"paid": True})
    assert await find_kept(store, lease, KEY, 2_000) == Kept({"paid": True})
    for place in range(3):
        other: Any = (*KEY[:place], "other", *KEY[place + 1 :])
        assert await find_kept(store, lease, other, 2_000) is None


async def test_ret_4_a_record_that_has_expired_is_as_if_it_was_not_there(store: Store, lease: Lease) -> None:
    await keep(store, lease, "first", until=61_000)
    assert await find_kept(store, lease, KEY, 60_999) == Kept("first")
    assert await find_kept(store, lease, KEY, 61_000) is None
    await keep(store, lease, "second")
    assert await find_kept(store, lease, KEY, 2**53) == Kept("second"), "null is for ever"


async def test_ret_4_any_output_is_given_back_as_it_was(store: Store, lease: Lease) -> None:
    outputs: list[Any] = [None, False, 0, "", [], {}, 0.1, 10**5_000, "é\u2028'\"\\", {"b": 1, "a": [None]}]
    for output in outputs:
        await keep(store, lease, output)
        kept = await find_kept(store, lease, KEY, 2_000)
        assert kept
        assert kept.output == output
        assert type(kept.output) is type(output)


async def test_ret_4_a_very_large_output_is_kept(store: Store, lease: Lease) -> None:
    output: Any = ["x" * 1_000_000] * 15
    await keep(store, lease, output)
    assert await find_kept(store, lease, KEY, 2_000) == Kept(output)


@pytest.mark.parametrize(
    "rendered",
    ["", " ", "é" * READABLE_BYTES_MAX, "x" * 100_000, "a\0b", "it's", "sha256:" + "0" * 64],
    ids=["empty", "space", "long", "very long", "zero", "quote", "like a hash"],
)
async def test_ret_4_any_text_can_be_a_key(store: Store, lease: Lease, rendered: str) -> None:
    key = (*KEY[:2], rendered)
    await keep(store, lease, "kept", key=key)
    assert await find_kept(store, lease, key, 2_000) == Kept("kept")
    assert await find_kept(store, lease, (*KEY[:2], rendered + "x"), 2_000) is None


def test_ret_4_a_key_is_readable_unless_it_is_long_and_no_short_one_meets_a_long_one() -> None:
    assert stored_key(KEY) == KEY
    long = stored_key((*KEY[:2], "x" * 1_000))
    assert len(long[2]) < 80
    assert stored_key(long) != long


async def test_inv_5_who_lost_the_lease_can_keep_nothing_and_must_not_act(store: Store, lease: Lease) -> None:
    """RET-4: that nothing is kept is no reason to act for one that was replaced."""
    await keep(store, lease, "first")
    await lease.release()
    second = await claim_lease(store, "second")
    assert second
    for _ in range(3):  # the third has the shape of an earlier commit, which PostgreSQL is given as one statement
        with pytest.raises(LeaseLost):
            await keep(store, lease, "late", key=("project", "charge", "late"))
    with pytest.raises(LeaseLost):
        await find_kept(store, lease, KEY, 2_000)
    assert await find_kept(store, second, KEY, 2_000) == Kept("first"), "a record outlives its owner"
    assert await find_kept(store, second, ("project", "charge", "late"), 2_000) is None
    await second.release()


async def test_ret_4_records_that_have_expired_are_forgotten_a_bounded_number_at_a_time(
    store: Store, lease: Lease
) -> None:
    expiries = [None, 5_000, 3_000, 4_000, 9_000]
    rows = [record_row((*KEY[:2], str(number)), number, 1_000, until) for number, until in enumerate(expiries)]
    await keep_records(store, lease, rows)
    left: list[list[Any]] = []
    for now_ms in (2_999, 5_000, 5_000):
        async with store.transaction() as transaction:
            all_gone = await delete_expired_records(transaction, now_ms, at_once=2)
        found = await store.query("SELECT key FROM idempotency_records ORDER BY key")
        left.append([all_gone, *(key for (key,) in found)])
    assert left == [[True, "0", "1", "2", "3", "4"], [False, "0", "1", "4"], [True, "0", "4"]]
