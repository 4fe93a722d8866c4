"""How long a transform takes in its process, and how many of them can be run at once."""

import asyncio
import time
from statistics import median

from wonder.language.values import JsonValue
from wonder.sandbox.pool import TransformPool

# About 1 KB, as what it becomes.
INPUT: JsonValue = {
    "rows": [{"sku": f"item-{number}", "price": 1.5 + number, "count": number} for number in range(20)],
}
LARGE: JsonValue = {"rows": [{"sku": f"item-{number}", "price": 1.5, "count": number} for number in range(20_000)]}
SCRIPT = """globalThis.__transform = (input) => ({
  rows: input.rows.filter((row) => row.count).map((row) => ({ sku: row.sku, total: row.price * row.count })),
})"""
LIMITS = {"time_ms": 10_000, "memory_bytes": 64 << 20}


def measure() -> list[tuple[str, float]]:
    """Return what was measured, as labels and microseconds."""
    return asyncio.run(_measure())


async def _measure() -> list[tuple[str, float]]:
    start = time.perf_counter()
    pool = TransformPool()
    await pool.run(SCRIPT, INPUT, **LIMITS)
    first = time.perf_counter() - start
    await asyncio.gather(*(pool.run(SCRIPT, INPUT, **LIMITS) for _ in range(500)))
    warm = median([await _one(pool, INPUT, 0.002) for _ in range(500)])
    large = median([await _one(pool, LARGE, 0.0) for _ in range(9)])
    many = min([await _many(pool, 3_000) for _ in range(5)])
    await pool.close()
    return [
        ("the first transform, its process started", first * 1e6),
        ("a warm transform of 1 KB", warm * 1e6),
        ("a warm transform of 1 MB", large * 1e6),
        ("3,000 transforms of 1 KB at once, each", many * 1e6),
    ]


async def _one(pool: TransformPool, input: JsonValue, pause: float) -> float:
    await asyncio.sleep(pause)
    start = time.perf_counter()
    await pool.run(SCRIPT, input, **LIMITS)
    return time.perf_counter() - start


async def _many(pool: TransformPool, times: int) -> float:
    start = time.perf_counter()
    await asyncio.gather(*(pool.run(SCRIPT, INPUT, **LIMITS) for _ in range(times)))
    return (time.perf_counter() - start) / times


if __name__ == "__main__":
    for label, microseconds in measure():
        print(f"{label:45} {microseconds:12,.1f} µs")
