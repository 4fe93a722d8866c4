"""How long the transforms of a workflow take to compile: with a compiler to start, with one that runs, and known."""

import asyncio
import tempfile
import time
from pathlib import Path
from statistics import median

from wonder.app.transforms import Transforms
from wonder.sandbox.typescript import TypeScriptCompiler
from wonder.storage.opening import open_store
from wonder.storage.store import Store

_SOURCE = """
interface Input {{ users{n}: Array<{{ id: string; name: string; email: string; active: boolean }}> }}
interface Output {{ emails: string[]; count: number }}
export default (input: Input): Output => {{
  const active = input.users{n}.filter((user) => user.active);
  return {{ emails: active.map((user) => user.email), count: active.length }};
}};
"""
_STEPS = 20


def measure() -> list[tuple[str, float]]:
    """Return what was measured, as labels and microseconds."""
    return asyncio.run(_measure())


async def _measure() -> list[tuple[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(f"sqlite:///{Path(folder) / 'bench.db'}")
        rounds = [await _round(store, number) for number in range(3)]
        await store.close()
    cold, warm, known = (median(times) for times in zip(*rounds, strict=True))
    return [
        (f"{_STEPS} transforms, the compiler not started", cold * 1e6),
        (f"{_STEPS} transforms that are new, the compiler running", warm * 1e6),
        (f"{_STEPS} transforms that were compiled before", known * 1e6),
    ]


async def _round(store: Store, number: int) -> tuple[float, float, float]:
    sources = [_SOURCE.format(n=f"_{number}_{step}") for step in range(2 * _STEPS)]
    transforms = Transforms(store, TypeScriptCompiler())
    cold = await _compile(transforms, sources[:_STEPS])
    warm = await _compile(transforms, sources[_STEPS:])
    await transforms.close()
    again = Transforms(store, TypeScriptCompiler())
    known = await _compile(again, sources[:_STEPS])
    await again.close()
    return cold, warm, known


async def _compile(transforms: Transforms, sources: list[str]) -> float:
    start = time.perf_counter()
    await asyncio.gather(*map(transforms.compiled, sources))
    return time.perf_counter() - start


if __name__ == "__main__":
    for label, microseconds in measure():
        print(f"{label:55} {microseconds:12,.1f} µs")
