"""A lone run whose process is killed: it goes on after its last durable step, and no step before that is done again."""

import signal
from pathlib import Path

import pytest

from support.nursery import Nursery, last_told
from support.systems import assert_sound

STEPS = [f"one step-{number}" for number in range(80)]


@pytest.mark.parametrize(
    ("moments", "done_twice"),
    [
        (["result 3"], [2]),
        (["result 30", "result 5", "result 36"], [29, 33, 68]),
        (["before 20"], [18]),  # the first commit has accepted the run, so this one is that of the 19th step
        (["after 20", "after 34", "after 7"], []),
        (["during 25"], [23]),  # or none of them: it was on its way to the disk, and may have arrived
    ],
    ids=lambda it: " then ".join(map(str, it)),
)
async def test_inv_4_only_the_step_that_was_not_durable_is_done_again(
    store_url: str, tmp_path: Path, nursery: Nursery, moments: list[str], done_twice: list[int]
) -> None:
    """INV-3, INV-4: steps that follow quickly upon each other, and are logged, are as durable as what is committed."""
    printed = tmp_path / "printed"
    for moment in [*moments, "never 0"]:
        status = nursery.run(printed, "go_on", store_url, str(tmp_path), *moment.split())
        assert status == (0 if moment == "never 0" else -signal.SIGKILL), printed.read_text()
    assert last_told(printed.read_text().splitlines())["status"] == "completed"
    expected = [step for number, step in enumerate(STEPS) for _ in range(1 + (number in done_twice))]
    done = (tmp_path / "effects").read_text().splitlines()
    assert done == expected or (moments == ["during 25"] and done == STEPS)
    await assert_sound(store_url)
