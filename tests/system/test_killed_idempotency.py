"""Real processes, killed around the moment when an action's success is kept: what is kept is not done again (RET-4)."""

import signal
from pathlib import Path

import pytest

from support.nursery import Nursery, last_told
from support.systems import assert_sound, never_quarantine


@pytest.mark.parametrize(
    ("moments", "charges"),
    [
        (["after:keep_record 1"], 1),  # the success is kept, and the run does not know of it
        (["after:keep_record 1", "before 2", "after 1"], 1),  # nor do the next ones come to know
        (["before:keep_record 1"], 2),  # the action has acted, and nobody can know: at least once
        (["during:keep_record 1"], 2),
        (["result 1"], 2),  # in the middle of the action; what held the key is gone, and the other run gets it
        (["result 1", "after:keep_record 1"], 2),
    ],
    ids=lambda it: " then ".join(it) if isinstance(it, list) else str(it),
)
async def test_ret_4_a_success_that_is_kept_is_not_done_again_whenever_its_process_is_killed(
    store_url: str, tmp_path: Path, nursery: Nursery, moments: list[str], charges: int
) -> None:
    """RET-4, INV-4: two runs with the same key end with the result of one execution."""
    await never_quarantine(store_url)
    printed = tmp_path / "printed"
    processes = []
    for moment in [*moments, "never 0"]:
        processes.append(nursery.start(printed, "charge", store_url, str(tmp_path), *moment.split()))
        status = nursery.wait(processes[-1])
        assert status == (0 if moment == "never 0" else -signal.SIGKILL), printed.read_text()
    told = last_told(printed.read_text().splitlines())
    assert (tmp_path / "charges").read_text().splitlines() == ["7"] * charges
    kept_by = next(n for n, moment in enumerate([*moments, "never"]) if moment.startswith(("after:keep", "never")))
    assert told["by"] == [processes[kept_by]] * 2
    await assert_sound(store_url)
