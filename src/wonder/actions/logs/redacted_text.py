"""Texts without any secret that this process has used, for what is kept outside of a run (INV-8)."""

from typing import TypeVar
from weakref import WeakSet

from wonder.language.redaction import Redactor

REDACTORS: "WeakSet[Redactor]" = WeakSet()
"""Those that know secrets, as long as they are in use."""

T = TypeVar("T")


def redacted_text(text: str) -> str:
    """Return a text without secrets; the same one if it has none."""
    for redactor in tuple(REDACTORS):
        text = redactor.text(text)
    return text


def redacted_value(value: T) -> T:
    """Return a JSON value without secrets, the same one if it has none."""
    for redactor in tuple(REDACTORS):
        value = redactor.value(value)
    return value
