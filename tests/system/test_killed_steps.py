"""A lone run whose process is killed: it goes on after its last durable step, and no step before that is done again."""

import signal
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from support.nursery import Nursery, last_told
from support.systems import assert_sound, never_quarantine

STEPS = [f"one step-{number}" for number in range(80)]


@pytest.mark.parametrize(
    ("moments", "done_twice"),
    [
        (["result 3"], [2]),
        (["result 30", "result 5", "result 36"], [29, 33, 68]),
        (["before 20"], None),
        (["logged 20", "logged 24", "logged 7"], []),
        (["during 25"], None),  # it was on its way to the disk, and may have arrived
        (["during 79"], None),  # on SQLite this brings to the tables what was logged
    ],
    ids=lambda it: "one or none" if it is None else " then ".join(map(str, it)),
)
async def test_inv_4_only_the_step_that_was_not_durable_is_done_again(
    store_url: str, tmp_path: Path, nursery: Nursery, moments: list[str], done_twice: list[int] | None
) -> None:
    """INV-3, INV-4: steps that follow quickly upon each other, and are logged, are as durable as what is committed.

    Which step the n-th commit belongs to varies: rows that are late, and the journal itself, have commits of their own.
    Where that matters, the step that was under way may be done again, and no other.
    """
    await never_quarantine(store_url)
    printed = tmp_path / "printed"
    for moment in [*moments, "never 0"]:
        status = nursery.run(printed, "go_on", store_url, str(tmp_path), *moment.split())
        assert status == (0 if moment == "never 0" else -signal.SIGKILL), printed.read_text()
    assert last_told(printed.read_text().splitlines())["status"] == "completed"
    done = (tmp_path / "effects").read_text().splitlines()
    again = [STEPS.index(step) for before, step in pairwise(done) if before == step]
    assert [step for step, _ in groupby(done)] == STEPS
    if moments[0].startswith("logged") and not store_url.startswith("sqlite"):
        # Without a log this counts commits, and one that belongs to no step may end while a step is under way.
        done_twice = None
    assert again == done_twice if done_twice is not None else len(again) <= len(moments)
    await assert_sound(store_url)
