"""PostgreSQL killed under a living engine: a small share of what `python -m proof postgres_kills` does."""

import pytest

from proof import postgres_kills


def test_an_engine_goes_on_by_itself_when_its_server_was_killed_and_is_back(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """INV-1, INV-2."""
    assert postgres_kills.main(["--count", "2", "--seed", "5"]) == 0, capfd.readouterr().out
