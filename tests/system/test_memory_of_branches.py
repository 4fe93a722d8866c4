"""How much memory a branch takes, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.postgres import PostgresServer

BYTES_MAX = 2_048
# Beyond as many as workers have at a time (TASKS_MAX), each branch costs the same.
FEW, MANY = 2_000, 12_000
PROGRAM = """
import asyncio, sys

import wonder
from benchmarks.runs.definitions import fan_out
from benchmarks.runs.measuring import memory
from benchmarks.runs.noop import return_input

async def main():
    async with wonder.open(sys.argv[1], functions={"noop:return_input": return_input}) as app:
        workflow = await app.deploy(fan_out())
        for count in map(int, sys.argv[2:]):
            items = list(range(count))
            result = await (await app.start(workflow, {"items": items})).wait()
            assert result.status == "completed", result
            print(memory("VmHWM"), flush=True)

asyncio.run(main())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the highest memory of a process is read from /proc")
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_branch_costs_at_most_2_kb_of_memory(database: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path / 'wonder.db'}"
    if database == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.url(server.create_database())
    command = [sys.executable, "-c", PROGRAM, url, str(FEW), str(MANY)]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    few, many = map(int, ended.stdout.split())
    assert (many - few) / (MANY - FEW) <= BYTES_MAX
