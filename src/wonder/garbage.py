"""The garbage collector, while an engine runs or is imported: it looks for circles among new objects less often."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# A thousand runs under way are some fifty thousand objects, none of which is in a circle when it is let go. Python's
# own setting, 700, has the collector look at all of them again and again: a quarter of the time of a node. What an
# import makes stays too; looking through it takes a tenth of the time until the first run.
_NEW_OBJECTS = 100_000


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Raise the number of new objects after which a collection begins; what a program has set higher stays."""
    found = gc.get_threshold()
    # 0 says that the program has switched automatic collections off.
    if 0 < found[0] < _NEW_OBJECTS:
        gc.set_threshold(_NEW_OBJECTS, *found[1:])
    try:
        yield
    finally:
        gc.set_threshold(*found)
