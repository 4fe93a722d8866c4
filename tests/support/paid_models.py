"""A model on loopback that logs each call and charges a cent for it, and what the database says was spent."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from support.llm_peers import RawServer, http, openai_event, raw_server
from support.systems import settle_workspace
from wonder.app.application import Application
from wonder.storage.spending import NANO_PER_CENT
from wonder.storage.store import Store

USAGE = {"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 15}
ANSWER = http(
    openai_event("ok") + openai_event(None, "stop") + openai_event(choices=[], usage=USAGE) + b"data: [DONE]\n\n",
    kind="text/event-stream",
)


@asynccontextmanager
async def model(on_call: Callable[[int], bool] | None = None) -> AsyncIterator[RawServer]:
    """A model that logs its calls and answers for a cent each; what `on_call` says no to is not answered."""

    async def respond(writer: asyncio.StreamWriter) -> None:
        if on_call is None or on_call(len(served.requests)):
            await asyncio.sleep(0.002)
            writer.write(ANSWER)
        else:
            writer.close()

    async with raw_server(respond) as served:
        yield served


async def list_model(wonder: Application, url: str, **settings: Any) -> None:
    """Have the operator allow the model at this address and give its price; settings are the workspace's others."""
    where = {"base_url": f"{url}/v1", "input_usd_per_million": 0, "output_usd_per_million": 1_000}
    prices = [{"provider": "local", "model_id": "m", **where}]
    await settle_workspace(wonder, allowed_model_base_urls=[f"{url}/v1"], model_prices=prices, **settings)


async def spent(store: Store) -> set[tuple[int, int]]:
    """What project and workspace have spent and hold, in cents."""
    rows: Any = await store.query("SELECT spent_nanousd, reserved_nanousd FROM spending")
    return {(spent // NANO_PER_CENT, reserved // NANO_PER_CENT) for spent, reserved in rows}
