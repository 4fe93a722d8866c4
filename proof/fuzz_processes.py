"""Targets for what our own processes answer that have run or read what others wrote: transforms, TypeScript."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any, Final

from wonder.actions.transform.kind import _Loaded as LoadedTransform
from wonder.errors import WonderError
from wonder.language.values import check_value, encode_json
from wonder.sandbox.pool_values import failure, is_worn, read_output
from wonder.sandbox.typescript import CompileBudget
from wonder.sandbox.typescript import _taken as take_compiled
from wonder.sandbox.typescript_answers import read_answer
from wonder.sandbox.typescript_process import CompilerLimits
from wonder.sandbox.worker import ANSWER, OUTPUT_BYTES_MAX, THROWN
from wonder.sandbox.worker_process import Answer, WorkerProcess

# An order of the compiler without anybody who waits for it.
_ORDER: Final[Any] = SimpleNamespace(source="type Input = {};", budget=CompileBudget())
_THREW: Final = b'{"name": "Error", "message": "m", "stack": "    at f (<input>:%d:1)"}'
_LIMITS: Final[Any] = {"time_ms": 1_000, "memory_bytes": 1 << 20}


def transform_messages(data: bytes) -> None:
    """Read what the process of a transform answers: a value, a failure, or neither, and the bytes that it sends."""
    kind, content = data[:1], data[1:]
    with suppress(WonderError):
        check_value(read_output(content))
    is_worn(kind, content)
    failed = failure(kind, content, **_LIMITS)
    check_value([str(failed), failed.details])
    assert len(str(failed)) < 5_000, "a failure is told in a few words"
    if kind:
        frame = ANSWER.pack(kind, 7, len(content)) + content
        assert [*_answers(frame)] in ([Answer(kind, 7, content)], []), "an answer is read as it was written"
    for answer in _answers(data):
        assert len(answer.content) <= OUTPUT_BYTES_MAX, "no answer is too large"


def compiler_messages(data: bytes) -> None:
    """Read what the process of the TypeScript compiler answers, and in its lines where a transform threw."""
    answer, seconds = read_answer(data)
    assert seconds >= 0, "time does not go back"
    compiled = take_compiled(answer, _ORDER, CompilerLimits())
    encode_json([compiled.input_schema, compiled.output_schema])
    loaded = LoadedTransform(compiled.javascript, None, None)
    for line in (0, 1, 2, 999_999_999):
        failed = loaded.failure(failure(THROWN, _THREW % line, **_LIMITS))
        check_value([str(failed), failed.details])


def _answers(sent: bytes) -> Iterator[Answer]:
    """Give the answers that are read from a process, some bytes at a time."""
    found: list[Answer] = []
    with _process(found) as (worker, pipe):
        size = max(1, len(sent) // 3)
        for start in range(0, len(sent), size):
            os.write(pipe, sent[start : start + size])
            worker._readable()
    yield from found


@contextmanager
def _process(found: list[Answer]) -> Iterator[tuple[WorkerProcess, int]]:
    """Make the engine's side of a worker without any process behind it."""
    worker: Any = WorkerProcess.__new__(WorkerProcess)
    worker._from, pipe = os.pipe()
    os.set_blocking(worker._from, False)
    worker._read, worker._missing = bytearray(), 0
    worker._take, worker.kill = found.append, lambda: None
    try:
        yield worker, pipe
    finally:
        os.close(worker._from)
        os.close(pipe)
