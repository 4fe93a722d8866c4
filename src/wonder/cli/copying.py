"""Shows how far a copy is, on one line, to a person who waits for it."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from wonder.operations.backups import Progress

_TELL_SECONDS: Final = 0.2


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Give what is told the progress; nothing is shown where nobody looks at a terminal."""
    shown_at = 0.0
    begun = time.monotonic()

    def show(what: str, done: int, of: int) -> None:
        nonlocal shown_at
        if sys.stderr.isatty() and time.monotonic() - shown_at > _TELL_SECONDS:
            shown_at = time.monotonic()
            how_far = f"{done:,} of {of:,}" if of else (f"{done:,}" if done else "…")
            print(f"\r\x1b[K{what}: {how_far}, {shown_at - begun:.0f} s", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if shown_at:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
