"""Where operations are carried out that this process does not carry out itself."""

from collections.abc import AsyncIterator
from typing import Any, Protocol


class Remote(Protocol):
    """A server that carries out operations; an operation is given as its declaration."""

    async def ask(self, operation: Any, given: Any) -> Any:
        """Have an operation carried out, and give its output."""
        ...

    def items(self, operation: Any, given: Any) -> AsyncIterator[Any]:
        """Give the items of a stream."""
        ...
