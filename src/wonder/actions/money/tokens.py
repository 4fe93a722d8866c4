"""How many tokens a call of a model has used: what its price is by."""

from typing import NamedTuple


class Used(NamedTuple):
    """The tokens counted so far for the whole call; those read from and written to a cache are among the input's."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
