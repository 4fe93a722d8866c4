"""A full disk under load, a small share of it: errors are clear, and when there is room again all ends once (INV-1)."""

import pytest

from proof import disk_full


@pytest.mark.parametrize("kind", ["disk", "limit"])
def test_inv_1_all_that_was_accepted_ends_once_when_there_is_room_again(kind: str) -> None:
    """INV-1, INV-2, INV-4: the disk is full, or a file may not grow."""
    try:
        counts = disk_full.prove(3, 1, kind)
    except PermissionError as refused:
        pytest.skip(str(refused))
    assert counts["fulls"] >= 3
    assert counts["violations"] == 0
