"""Whether only a person or an outside event can move a run on (CMD-4)."""

from typing import Any

from support.systems import bundle, open_item, running, waits
from wonder.storage.runs.headers import load_header
from wonder.storage.runs.progress import only_outside_moves

ASKS = bundle("asks", {"ask": waits("human_input", {"prompt": "Well?", "schema": {"type": "object"}})})


class _MovesMeanwhile:
    """A store whose run is moved on while it is looked at."""

    def __init__(self, store: Any, move: Any) -> None:
        self._store, self._move = store, move

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def fetch_named(self, query: str, *parameters: Any) -> Any:
        if query == "live_tokens_of_runs":
            await self._move()
        return await self._store.fetch_named(query, *parameters)


async def test_a_run_that_moves_while_it_is_looked_at_is_not_called_stuck(store_url: str) -> None:
    """CMD-4: `run` ends with status 3 only where a person or an outside event is needed."""
    async with running(store_url) as wonder:
        run = await wonder.start(await wonder.deploy(ASKS))
        item = await open_item(wonder, run)
        store: Any = wonder.store
        header = await load_header(store, run.id)
        assert await only_outside_moves(store, header)

        async def answer() -> None:
            await wonder.answer(item.id, {})
            await run.wait()

        assert not await only_outside_moves(_MovesMeanwhile(store, answer), header)
