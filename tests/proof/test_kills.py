"""Real processes killed again and again: a small share of what `python -m proof kills` does."""

import pytest

from proof import kills


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_every_run_ends_once_however_often_its_process_is_killed(
    database: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """INV-1, INV-2, INV-3, INV-4."""
    assert kills.main(["--count", "5", "--seed", "5", "--database", database]) == 0, capfd.readouterr().out
