"""WonderError, the root of every error that Wonder raises for its caller to see."""

from typing import ClassVar


class WonderError(Exception):
    """Something the caller asked for can't be done; the message says what, where and how to fix it."""

    code: ClassVar[str] = "WONDER_ERROR"
