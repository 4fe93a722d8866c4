"""The processes in which transforms run: limits, deaths, waiting in line, and an end with their engine (PHS-5)."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from wonder.sandbox.pool import TransformPool
from wonder.sandbox.pool_errors import TransformFailed, WorkerLost
from wonder.sandbox.worker import _PURE

MEGABYTE = 1 << 20
ENDLESS = "() => { for (;;) {} }"
# Nothing inside of QuickJS interrupts this one.
NATIVE_ENDLESS = "() => new Array(4294967295).join('x')"


@pytest.fixture
async def pool() -> AsyncIterator[TransformPool]:
    """Workers, which are gone in the end with all that was theirs."""
    files, processes = descriptors(), children()
    made = TransformPool(workers_max=2)
    yield made
    await made.close()
    await until(lambda: children() <= processes and descriptors() <= files)


def descriptors() -> int:
    """Count the open files of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def children() -> set[int]:
    """List the processes that this one has started, zombies too."""
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


def resident_kib(pid: int) -> int:
    """Say how much memory a process has."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  # what is waited for is not made to tell
            await asyncio.sleep(0.002)


async def run(
    pool: TransformPool, function: str, input: Any = None, *, time_ms: int = 20_000, memory_bytes: int = 64 * MEGABYTE
) -> Any:
    """Run a function of JavaScript; with so much time that a busy machine makes no difference."""
    script = f"globalThis.__transform = {function}"
    async with asyncio.timeout(60):
        return await pool.run(script, input, time_ms=time_ms, memory_bytes=memory_bytes)


async def failure(pool: TransformPool, function: str, input: Any = None, **limits: int) -> TransformFailed:
    """Run a function that fails."""
    with pytest.raises(TransformFailed) as caught:
        await run(pool, function, input, **limits)
    return caught.value


async def test_phs_5_each_run_finds_a_fresh_world(pool: TransformPool) -> None:
    """PHS-5"""
    spoil = """() => {
      globalThis.left = 1;
      for (const one of [Object, Array, String, Number, Function = Object.getPrototypeOf(() => 0)])
        for (const name of Object.getOwnPropertyNames(one.prototype ?? one))
          try { (one.prototype ?? one)[name] = () => { throw 1; }; } catch {}
      JSON.parse = JSON.stringify = Object.keys = Array.isArray = () => 'spoiled';
      return 'done';
    }"""
    assert await run(pool, spoil) == "done"
    for _ in range(4):
        assert await run(pool, "(i) => [typeof left, i.map((n) => n + 1), JSON.stringify({a: 1})]", [1]) == [
            "undefined",
            [2],
            '{"a":1}',
        ]


async def test_phs_5_nothing_is_there_that_is_not_known_to_be_pure(pool: TransformPool) -> None:
    """PHS-5"""
    named = await run(pool, "() => Object.getOwnPropertyNames(globalThis)")
    assert {"Date", "Function", "eval", "Promise", "performance", "Atomics", "WeakRef", "Intl"} & set(named) == set()
    assert {"Object", "Array", "JSON", "Math", "Map", "RegExp", "__transform"} <= set(named)
    assert set(named) <= {*_PURE.split(), "__transform"}
    makers = "[() => 1, function* () {}, async () => 1, async function* () {}, class {}, Object, (async () => 1)()]"
    found = await run(pool, f"() => {makers}.map((one) => one.constructor === Object)")
    assert found == [True] * 7
    assert await run(
        pool, "() => ['random' in Math, Object.getOwnPropertyNames(Error).includes('captureStackTrace')]"
    ) == [
        False,
        False,
    ]


async def test_phs_5_the_same_transform_and_input_give_the_same_bytes(pool: TransformPool) -> None:
    """PHS-5"""
    work = """(input) => {
      const row = (w, i) => [w, { w, i, x: Math.sin(i) / 3, k: { [9 - i]: 1, b: i } }];
      const rows = [...new Map(input.words.map(row)).values()];
      rows.sort((a, b) => a.w.length - b.w.length);
      return { rows, keys: Object.keys(globalThis).sort(), sum: rows.reduce((s, r) => s + r.x, 0.1), error: caught() };
      function caught() { try { null.x; } catch (e) { return [e.name, e.message, e.stack]; } }
    }"""
    input = {"words": [f"word {number * 7919 % 101} é😀" for number in range(30)]}
    first = json.dumps(await run(pool, work, input))
    for _ in range(1_000 // 8):
        assert {json.dumps(found) for found in await asyncio.gather(*(run(pool, work, input) for _ in range(8)))} == {
            first
        }
    for _ in range(3):
        other = TransformPool(workers_max=1)
        assert json.dumps(await run(other, work, input)) == first
        await other.close()


@pytest.mark.parametrize("function", [ENDLESS, NATIVE_ENDLESS])
async def test_phs_5_what_never_ends_is_ended_and_nothing_else_with_it(pool: TransformPool, function: str) -> None:
    """PHS-5"""
    ended, value = await asyncio.gather(failure(pool, function, time_ms=200), run(pool, "(i) => i + 1", 1))
    assert ended.code == "TRANSFORM_TIMEOUT"
    assert "200 ms" in str(ended)
    assert not ended.retryable
    assert value == 2
    assert await run(pool, "(i) => i", "again") == "again"


async def test_phs_5_each_run_has_its_own_time_whatever_that_of_the_one_before_was() -> None:
    """PHS-5"""
    single = TransformPool(workers_max=1)
    assert await run(single, "() => 1", time_ms=100) == 1
    # Longer than the first one had, and looked at when that would have been late.
    assert await run(single, "() => { let n = 0; while (n < 8e6) n++; return n; }", time_ms=600_000) == 8_000_000
    (worker,) = single._workers
    assert (await failure(single, NATIVE_ENDLESS, time_ms=50)).code == "TRANSFORM_TIMEOUT"
    assert worker._was_late
    await single.close()


async def test_phs_5_memory_is_limited_and_a_worker_that_had_none_left_is_replaced(pool: TransformPool) -> None:
    """PHS-5"""
    assert await run(pool, "() => 'x'.repeat(5e6).length") == 5_000_000
    failed = await failure(pool, "() => 'x'.repeat(5e6).length", memory_bytes=4 * MEGABYTE)
    assert failed.code == "TRANSFORM_MEMORY"
    assert "4 MB" in str(failed)
    for bomb in ("() => 'x'.repeat(1e9)", "() => { const a = []; for (;;) a.push([a.length]); }"):
        assert (await failure(pool, bomb)).code == "TRANSFORM_MEMORY"
    assert await run(pool, "() => 1") == 1
    # What QuickJS throws when there is no memory left for an error; a large input alone is no reason to think so.
    assert (await failure(pool, "() => { throw null; }", "x" * 5_000_000)).code == "TRANSFORM_THREW"


async def test_phs_5_a_worker_is_no_larger_after_many_runs_of_all_sorts(pool: TransformPool) -> None:
    """PHS-5"""
    sorts = [
        "() => { const f = () => f() + 1; return f(); }",
        "() => { throw new Error('x'.repeat(1e6)); }",
        "() => ({ a: Array.from({ length: 1e4 }, (_, i) => ({ i })), b: NaN })",
        "() => { const a = []; a.push(a, new Map([[a, a]])); globalThis.kept = a; return a; }",
        "() => 'x'.repeat(1e6)",
    ]

    async def one(function: str) -> None:
        with suppress(TransformFailed):
            await run(pool, function)

    for _ in range(12):
        await asyncio.gather(*(one(function) for function in sorts * 2))
    await until(lambda: len(pool._idle) == 2)
    for worker in pool._workers:
        assert resident_kib(worker.pid) < worker.kib_at_start + (48 << 10)


async def test_a_worker_that_dies_takes_nothing_with_it_and_what_it_did_is_done_again(pool: TransformPool) -> None:
    await run(pool, "() => 1")
    running = asyncio.create_task(failure(pool, NATIVE_ENDLESS, time_ms=1_500))
    before = children()
    await until(lambda: any(worker.is_busy for worker in pool._workers))
    busy = next(worker for worker in pool._workers if worker.is_busy)
    os.kill(busy.pid, signal.SIGKILL)
    # Begun again in another process, where it comes to its own end.
    assert (await running).code == "TRANSFORM_TIMEOUT"
    assert await run(pool, "() => 1") == 1
    assert children() - before


async def test_a_transform_whose_workers_die_twice_fails_alone(pool: TransformPool) -> None:
    running = asyncio.create_task(failure(pool, NATIVE_ENDLESS))
    killed: set[int] = set()
    while not running.done():
        for worker in list(pool._workers):
            if worker.is_busy and worker.pid not in killed:
                killed.add(worker.pid)
                os.kill(worker.pid, signal.SIGKILL)
        await asyncio.sleep(0.002)
    failed = await running
    assert (failed.code, len(killed)) == ("TRANSFORM_CRASHED", 2)
    assert "SIGKILL" in str(failed)
    assert await run(pool, "() => 1") == 1


async def test_an_answer_at_the_last_moment_counts_and_its_worker_is_not_asked_again(pool: TransformPool) -> None:
    await run(pool, "() => 1")
    running = asyncio.create_task(run(pool, "() => 2"))
    await asyncio.sleep(0)
    (busy,) = (worker for worker in pool._workers if worker.is_busy)
    # The answer is there, and nobody has read it when its time is over.
    assert select.select([busy._from], [], [], 60)[0]
    busy._was_late = True
    busy.kill()
    assert await running == 2
    assert [await run(pool, "(i) => i", number) for number in range(3)] == [0, 1, 2]


async def test_a_worker_that_has_ended_is_not_written_to(pool: TransformPool) -> None:
    await run(pool, "() => 1")
    worker = pool._idle[0]
    worker.kill()
    await worker.ended
    answer = asyncio.get_running_loop().create_future()
    worker.ask(b"x", 1.0, answer)
    with pytest.raises(WorkerLost):
        await answer


async def test_an_idle_worker_that_dies_is_not_missed(pool: TransformPool) -> None:
    await run(pool, "() => 1")
    for worker in list(pool._workers):
        os.kill(worker.pid, signal.SIGKILL)
    assert await run(pool, "() => 2") == 2
    await until(lambda: all(not worker.is_ending for worker in pool._workers))
    assert await run(pool, "() => 3") == 3


async def test_one_who_gives_up_frees_the_place_for_the_next_in_line(pool: TransformPool) -> None:
    endless = [asyncio.create_task(failure(pool, ENDLESS)) for _ in range(2)]
    await until(lambda: sum(worker.is_busy for worker in pool._workers) == 2)
    waiting = [asyncio.create_task(run(pool, "(i) => i", number)) for number in range(10)]
    gone = waiting.pop(3)
    await asyncio.sleep(0)
    for task in (gone, *endless):
        task.cancel()
    assert await asyncio.gather(*waiting) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    await asyncio.wait((gone, *endless))
    assert all(task.cancelled() for task in (gone, *endless))


async def test_one_who_gives_up_with_the_answer_there_does_not_end_the_next() -> None:
    single, script = TransformPool(workers_max=1), "globalThis.__transform = (i) => i"
    assert await run(single, "() => 1") == 1
    (worker,) = single._workers

    def begin() -> None:
        # The next begins with the answer to the first, before that has heard of it.
        first.cancel()

    first = asyncio.create_task(run(single, "() => 1"))
    await asyncio.sleep(0)
    assert worker.is_busy
    assert await single.run(script, 2, time_ms=20_000, memory_bytes=64 * MEGABYTE, on_start=begin) == 2
    await asyncio.wait([first])
    assert first.cancelled()
    assert single._workers == {worker}
    assert not worker.is_ending
    await single.close()


async def test_what_is_told_of_the_start_is_told_to_who_has_asked() -> None:
    single, asker, told = TransformPool(workers_max=1), ContextVar[int]("asker"), list[int]()

    async def one(number: int) -> None:
        asker.set(number)
        await single.run(
            "globalThis.__transform = () => 1",
            None,
            time_ms=20_000,
            memory_bytes=64 * MEGABYTE,
            on_start=lambda: told.append(asker.get()),
        )

    await asyncio.gather(*(one(number) for number in range(3)))
    await single.close()
    assert told == [0, 1, 2]


async def test_those_in_line_are_served_in_order(pool: TransformPool) -> None:
    single, served = TransformPool(workers_max=1), list[int]()

    async def one(number: int) -> None:
        await single.run(
            "globalThis.__transform = () => 1",
            None,
            time_ms=20_000,
            memory_bytes=64 * MEGABYTE,
            on_start=lambda: served.append(number),
        )

    await asyncio.gather(*(one(number) for number in range(50)))
    await single.close()
    assert served == list(range(50))
    assert len(single._workers) == 0


async def test_a_pool_has_a_worker_ready_when_it_was_told_to_begin(pool: TransformPool) -> None:
    assert pool._workers == set()
    pool.begin()
    pool.begin()
    await until(lambda: len(pool._idle) == 1)
    assert len(pool._workers) == 1


async def test_workers_that_cannot_start_fail_who_waits_and_are_tried_again(
    pool: TransformPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    pool.begin()
    assert (await failure(pool, "() => 1")).code == "TRANSFORM_NOT_STARTED"
    monkeypatch.setattr(sys, "executable", "/bin/true")
    failures = await asyncio.gather(*(failure(pool, "() => 1") for _ in range(5)))
    assert {(failed.code, failed.retryable) for failed in failures} == {("TRANSFORM_NOT_STARTED", True)}
    monkeypatch.undo()
    assert await run(pool, "() => 1") == 1


async def test_what_is_large_goes_through_whole(pool: TransformPool) -> None:
    rows = [{"number": number, "text": "é😀" * 20} for number in range(10_000)]
    assert await run(pool, "(rows) => rows.map((row) => row.text)", rows) == [row["text"] for row in rows]


async def test_a_worker_has_no_files_no_processes_and_no_environment(pool: TransformPool) -> None:
    await run(pool, "() => 1")
    worker = pool._idle[0]
    process = Path(f"/proc/{worker.pid}")
    limits = {line[:25].strip(): line[26:].split()[0] for line in (process / "limits").read_text().splitlines()}
    assert limits["Max open files"] == limits["Max file size"] == limits["Max core file size"] == "0"
    assert limits["Max processes"] == "0"
    assert int(limits["Max address space"]) < 600 * MEGABYTE
    assert limits["Max cpu time"] != "unlimited"
    assert (process / "environ").read_bytes() in (
        b"",
        f"LD_LIBRARY_PATH={os.environ.get('LD_LIBRARY_PATH')}\0".encode(),
    )
    assert os.getsid(worker.pid) == worker.pid
    links = {file.name: str(file.readlink()) for file in (process / "fd").iterdir()}
    assert {number: link for number, link in links.items() if not link.startswith("pipe:")} == {
        "2": "/dev/null",
        **{number: link for number, link in links.items() if link.endswith("/statm")},
    }


async def test_phs_5_workers_end_with_an_engine_that_is_killed_whatever_they_do() -> None:
    """PHS-5"""
    program = """
import asyncio
from wonder.sandbox.pool import TransformPool

async def main():
    pool = TransformPool(workers_max=2)
    endless = "globalThis.__transform = () => new Array(4294967295).join('x')"
    for _ in range(2):
        asyncio.create_task(pool.run(endless, None, time_ms=600_000, memory_bytes=1 << 26))
    while sum(worker.is_busy for worker in pool._workers) < 2:
        await asyncio.sleep(0.01)
    print(*(worker.pid for worker in pool._workers), flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""
    engine = await asyncio.create_subprocess_exec(sys.executable, "-c", program, stdout=subprocess.PIPE)
    assert engine.stdout
    async with asyncio.timeout(60):
        workers = [int(word) for word in (await engine.stdout.readline()).split()]
    assert len(workers) == 2
    assert all(computes(pid) for pid in workers)
    engine.kill()
    await engine.wait()
    await until(lambda: not any(computes(pid) for pid in workers))


def computes(pid: int) -> bool:
    """Say whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
