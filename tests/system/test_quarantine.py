"""RES-6: a run whose task kills its process each time is set aside, whoever was under way beside it."""

import signal
from pathlib import Path

import pytest

from support.nursery import Nursery, last_told
from support.systems import assert_sound

_DEATHS_MAX = 8


@pytest.mark.parametrize("then", ["cancel", "resume"])
async def test_a_run_that_kills_its_process_is_quarantined_and_the_others_go_on(
    store_url: str, tmp_path: Path, nursery: Nursery, then: str
) -> None:
    """It can be cancelled without being loaded, and resumed by a person."""
    printed, deaths = tmp_path / "printed", 0
    while nursery.run(printed, "poison", store_url, "kills") == -signal.SIGKILL:
        deaths += 1
        assert deaths <= _DEATHS_MAX, printed.read_text()
    assert deaths >= 3
    told = last_told(printed.read_text().splitlines())
    aside = ["paused", "quarantined"]
    assert told == {"asking": ["waiting", None], "honest": ["completed", None], "poison": aside}
    assert nursery.run(printed, "poison", store_url, then) == 0, printed.read_text()
    told = last_told(printed.read_text().splitlines())
    assert told["poison"] == aside
    assert told["then"] == ["cancelled" if then == "cancel" else "completed"]
    await assert_sound(store_url)
