"""Owners that are stopped beyond their lease: a small share of what `python -m proof zombies` does."""

import pytest

from proof import zombies


def test_inv_5_an_owner_that_was_stopped_and_replaced_writes_nothing_when_it_wakes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """INV-5."""
    assert zombies.main(["--count", "2", "--seed", "5"]) == 0, capfd.readouterr().out


def test_inv_5_without_the_fence_the_proof_fails(capfd: pytest.CaptureFixture[str]) -> None:
    """INV-5: what the fence prevents would be seen."""
    # Whether one that wakes has something to write is chance; of several one has.
    assert any(
        zombies.main(["--count", "3", "--seed", str(seed), "--without-fence"]) == 1
        and "lease: run" in capfd.readouterr().out
        for seed in range(5, 12)
    )
