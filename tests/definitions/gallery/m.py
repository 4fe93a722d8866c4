"""The function that most definitions of the gallery call; it is read and never imported."""

from typing import Any


def f(**anything: Any) -> None:
    """Take whatever it is given."""
