"""A proxy between the engine and PostgreSQL that cuts connections, slows them down, and lets them stand still."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from proof.phases import Phase, SharedPhase

SOCKET: Final = ".s.PGSQL.5432"
_CHUNK: Final = 65_536
_STALLS_SECONDS: Final = (0.2, 2.5)
_DELAY_SECONDS: Final = 0.02
_FARTHEST_BYTES: Final = 40_000
# What happens to a connection: most of them are cut in the end, so that there is always a new one.
FATES: Final = ("cut asking", "cut answering", "cut in commit", "cut in commit", "stalled", "silent", "slow", "whole")


class Proxy:
    """Listens in one folder and speaks to the server in another; each connection has a fate by chance."""

    def __init__(
        self, folder: Path, server: Path, shared: SharedPhase, chance: random.Random, on_fault: Callable[[], None]
    ) -> None:
        self._folder, self._server, self._shared, self._random = folder, server, shared, chance
        self._on_fault = on_fault
        self.counts: Counter[str] = Counter()
        self.calm = False
        self._listening: asyncio.Server | None = None
        self._under_way: set[asyncio.Task[None]] = set()

    async def begin(self) -> None:
        """Listen."""
        self._listening = await asyncio.start_unix_server(self._accept, self._folder / SOCKET)

    async def close(self) -> None:
        """Cut everything, and listen no more."""
        assert self._listening
        self._listening.close()
        for task in list(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._under_way.add(task)
        try:
            to_reader, to_writer = await asyncio.open_unix_connection(self._server / SOCKET)
            connection = _Connection(self)
            both = [
                asyncio.create_task(connection.forward(reader, to_writer, asks=True)),
                asyncio.create_task(connection.forward(to_reader, writer, asks=False)),
            ]
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in both:
                    one.cancel()
                await asyncio.gather(*both, return_exceptions=True)
                for end in (to_writer, writer):
                    end.transport.abort()
        except OSError:
            writer.transport.abort()
        finally:
            self._under_way.discard(task)

    def hit(self, fate: str) -> None:
        """Count what was done to a connection."""
        self.counts[fate] += 1
        self._on_fault()

    @property
    def in_commit(self) -> bool:
        """Say whether the engine waits for a commit just now."""
        return self._shared.phase is Phase.DURING

    def fate(self) -> tuple[str, int]:
        """Choose what is going to happen to a connection, and after how many bytes."""
        return "whole" if self.calm else self._random.choice(FATES), self._random.randint(1, _FARTHEST_BYTES)

    def seconds(self) -> float:
        """Choose how long a connection stands still."""
        return self._random.uniform(*_STALLS_SECONDS)


class _Connection:
    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._fate, self._left = proxy.fate()

    async def forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, asks: bool) -> None:
        """Hand on what comes, until the fate of the connection is met; returning cuts it."""
        while chunk := await reader.read(_CHUNK):
            if self._fate == "slow":
                await asyncio.sleep(self._proxy.seconds() * _DELAY_SECONDS)
            self._left -= len(chunk)
            if self._left < 0 and await self._meet(chunk, writer, asks=asks):
                return
            writer.write(chunk)
            await writer.drain()

    async def _meet(self, chunk: bytes, writer: asyncio.StreamWriter, *, asks: bool) -> bool:
        """Do to the connection what is its fate; True cuts it."""
        match self._fate:
            case "cut asking" if asks:
                # In the middle of what was asked.
                writer.write(chunk[: self._left])
                await writer.drain()
            case "cut answering" if not asks:
                writer.write(chunk[: self._left])
                await writer.drain()
            case "cut in commit" if not asks and self._proxy.in_commit:
                # The server has done what it was asked, and nobody hears of it.
                pass
            case "silent" if not asks:
                # As when a cable is pulled: nothing comes any more, and nobody says so.
                self._proxy.hit(self._fate)
                await asyncio.sleep(3_600)
            case "stalled":
                self._proxy.hit(self._fate)
                self._fate, self._left = self._proxy.fate()
                await asyncio.sleep(self._proxy.seconds())
                return False
            case "slow":
                self._proxy.hit(self._fate)
                self._fate, self._left = self._proxy.fate()
                return False
            case "whole":
                self._fate, self._left = self._proxy.fate()
                return False
            case _:
                return False
        self._proxy.hit(self._fate)
        return True
