"""Connections cut under a living engine: a small share of what `python -m proof cuts` does."""

import pytest

from proof import cuts


def test_an_engine_goes_on_whenever_its_connections_are_cut_slowed_or_fall_silent(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """INV-1, INV-2."""
    assert cuts.main(["--count", "6", "--seed", "4"]) == 0, capfd.readouterr().out
