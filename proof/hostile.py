"""`python -m proof hostile`: transforms that mean harm, by the thousand, through workflows on one engine.

Each has to end as a failed step, an honest one beside them has to get its value, and neither the engine nor the
processes of transforms may grow.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from proof.hostile_transforms import HOSTILE, Hostile
from wonder.app.application import Application
from wonder.app.opening import open_wonder
from wonder.app.results import RunResult

AT_ONCE: Final = 8
# What an engine may grow by over all of it: pools, caches and fragments, and not what transforms have used.
GROWN_MB_MAX: Final = 40

_HONEST: Final = """type Input = { n: number };
type Output = { n: number };
export default (input: Input): Output => ({ n: input.n + 1 });
"""


def main(arguments: list[str]) -> int:
    """Run hostile transforms, all kinds in turn; the exit status is 1 if anything was not as it has to be."""
    parser = argparse.ArgumentParser(prog="python -m proof hostile", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000, help="how many (1,000)")
    count = parser.parse_args(arguments).count
    with tempfile.TemporaryDirectory(prefix="wonder-hostile-") as folder:
        wrong = asyncio.run(_prove(f"sqlite:///{folder}/wonder.db", count))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


async def _prove(url: str, count: int) -> list[str]:
    async with open_wonder(url) as wonder:
        names = await deploy(wonder, HOSTILE)
        honest = (await wonder.deploy(workflow("honest", _HONEST))).name
        wrong, begun = [], time.monotonic()
        # Once through all of them before it is measured, so that everything is loaded.
        wrong += await run_all(wonder, names, HOSTILE)
        megabytes = [resident_mb()]
        for first in range(0, count, len(HOSTILE)):
            chosen = HOSTILE[: min(len(HOSTILE), count - first)]
            wrong += await run_all(wonder, names, chosen)
            result = await (await wonder.start(honest, {"n": first})).wait()
            if result.output != {"n": first + 1}:
                wrong.append(f"an honest transform gave {result.output} and {result.error}")
            megabytes.append(resident_mb())
            print(
                f"{first + len(chosen):6,} hostile transforms, {megabytes[-1]:,.0f} MB, {len(wrong)} wrong", flush=True
            )
        if megabytes[-1] > megabytes[0] + GROWN_MB_MAX:
            wrong.append(f"the processes have grown from {megabytes[0]:,.0f} to {megabytes[-1]:,.0f} MB")
        print(f"{count:,} in {time.monotonic() - begun:,.0f} seconds")
    return wrong


async def deploy(wonder: Application, transforms: tuple[Hostile, ...]) -> dict[str, str]:
    """Store a workflow for each, and give their names by those of the transforms."""
    names = {}
    for number, hostile in enumerate(transforms):
        names[hostile.name] = (await wonder.deploy(workflow(f"hostile-{number}", hostile.source, hostile.time_ms))).name
    return names


async def run_all(wonder: Application, names: dict[str, str], transforms: tuple[Hostile, ...]) -> list[str]:
    """Run each once, some at a time, and say what did not end as it has to."""
    places = asyncio.Semaphore(AT_ONCE)

    async def run(hostile: Hostile) -> str | None:
        async with places:
            return complaint(hostile, await (await wonder.start(names[hostile.name], {"n": 1})).wait())

    return [found for found in await asyncio.gather(*map(run, transforms)) if found]


def complaint(hostile: Hostile, result: RunResult) -> str | None:
    """Say what is wrong with how a run of a hostile transform ended."""
    code = result.error["code"] if result.error else None
    if result.status == "failed" and code in hostile.codes:
        return None
    return f"{hostile.name}: {result.status} with {result.error or result.output}, not one of {sorted(hostile.codes)}"


def workflow(name: str, source: str, time_ms: int = 1_000) -> dict[str, Any]:
    """Make a workflow of one node that runs a transform with the whole input."""
    action = {"kind": "transform", "implementation": {"source": source}, "execution": {"timeout_ms": time_ms}}
    node = {"action": action, "input_mapping": "$.input", "output_mapping": {"output": "$"}}
    return {"workflow": {"name": name, "initial_node": "only", "nodes": {"only": node}, "transitions": []}}


def resident_mb() -> float:
    """Say how much memory this process has, and those in which transforms run; the compiler comes and goes."""
    us = Path("/proc/self").resolve()
    children = [us.parent / child for child in (us / "task" / us.name / "children").read_text().split()]
    return sum(map(_resident_kib, [us, *filter(_is_worker, children)])) / 1024


def _is_worker(process: Path) -> bool:
    try:
        return b"sandbox/worker.py" in (process / "cmdline").read_bytes()
    except OSError:
        return False  # it has just ended


def _resident_kib(process: Path) -> int:
    try:
        status = (process / "status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
