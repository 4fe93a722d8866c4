"""How much tests try: little in each run of the suite, and more with `pytest --deep`, as `make soak` runs them."""

import os

DEEP = os.environ.get("WONDER_DEEP") == "1"
"""Set by `--deep`, for the processes of the test run as well."""


def tries(usual: int, deep: int) -> int:
    """Give how often something is tried: the first in the suite, the second with `--deep`."""
    return deep if DEEP else usual
