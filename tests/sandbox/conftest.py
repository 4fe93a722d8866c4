"""What the tests of the sandbox share: one compiler, because it takes half a second to load."""

from collections.abc import AsyncIterator

import pytest_asyncio

from wonder.sandbox.typescript import TypeScriptCompiler


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def compiler() -> AsyncIterator[TypeScriptCompiler]:
    """The TypeScript compiler in a process of its own."""
    opened = TypeScriptCompiler()
    yield opened
    await opened.close()
