"""The functions that definitions of the gallery call; it is read and never imported."""

import wonder

raise RuntimeError("a check has imported a module")


@wonder.function
def count_stock(item: str, shelf: str = "any") -> int:
    """Count what is there of an item."""
    return len(item + shelf)


@wonder.function
def move(item: str, /) -> None:
    """Can't be called with keyword arguments."""


def forget(item: str) -> None:
    """Is not marked, and so it is nobody's business but this module's."""
