"""What the pattern samples call: work that ends at once, work that takes its time, and a machine for one at a time."""

import asyncio
import threading
import time

import wonder

_machine = threading.Lock()


@wonder.function
def work(what: str) -> str:
    """Do some work; gives what was done."""
    return what


@wonder.function
async def take_long(what: str) -> str:
    """Do some work that takes ten seconds, unless it is cancelled."""
    await asyncio.sleep(10)
    return what


@wonder.function
def use_machine(what: str) -> str:
    """Do some work on the only machine; who comes while another uses it is an error."""
    if not _machine.acquire(blocking=False):
        raise RuntimeError(f"two at once: the machine is in use, and {what!r} wants it")
    try:
        time.sleep(0.02)
        return what
    finally:
        _machine.release()
