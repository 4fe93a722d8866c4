"""What the orders sample calls: a warehouse that is sometimes busy, and an invoice."""

from typing import Any

import wonder

CENTS = {"umbrella": 1_900, "lamp": 4_550, "notebook": 350}
_asked: set[str] = set()


@wonder.function
def reserve(item: str, quantity: int) -> dict[str, Any]:
    """Reserve some of an item; the warehouse is busy the first time that it is asked for umbrellas."""
    if item == "umbrella" and item not in _asked:
        _asked.add(item)
        raise ConnectionError("the warehouse is busy")
    if item not in CENTS:
        raise ValueError(f"the warehouse has no {item!r}; it has {', '.join(CENTS)}")
    return {"item": item, "quantity": quantity, "cents": CENTS[item] * quantity}


@wonder.function
def add_up(reserved: list[dict[str, Any]]) -> int:
    """Add up what the reserved lines cost."""
    return sum(line["cents"] for line in reserved)


@wonder.function
def write_text(customer: str, total_cents: int) -> str:
    """Write the text of an invoice."""
    return f"{customer} owes {total_cents / 100:.2f}"
