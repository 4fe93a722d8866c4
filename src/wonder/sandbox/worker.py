"""A worker: an interpreter that imports little, in which transforms are run, each in a fresh QuickJS context.

It is started by its path, without the packages of the engine, and speaks frames over its standard input and output. It
gives up what it could do harm with, and ends with its engine, however that ends. Nothing else may be imported here than
a few modules of the standard library: what is loaded is what every worker costs.
"""

import fcntl
import os
import resource
import struct
import sys
import time
from importlib import import_module
from typing import Any, Final

REQUEST: Final = struct.Struct("!IIQd")
"""The bytes of the script and of the input, those of memory that it may use, and the seconds of CPU."""
ANSWER: Final = struct.Struct("!cII")
"""What it is, the KiB of memory that the worker had before the run, and the bytes that follow."""

READY: Final = b"R"
OUTPUT: Final = b"="
REFUSED: Final = b"?"
THROWN: Final = b"!"
OUT_OF_TIME: Final = b"T"
OUT_OF_MEMORY: Final = b"M"
BROKEN: Final = b"B"

OUTPUT_BYTES_MAX: Final = 16_000_000
# For the texts of an input and an output, which Python and QuickJS each hold in several forms for a moment.
_TEXTS_BYTES: Final = 256 << 20
_STACK_BYTES: Final = 8 << 20
_PURE: Final = (
    "Object Array String Number Boolean BigInt Symbol Math JSON RegExp Map Set WeakMap WeakSet Reflect Proxy "
    "Iterator Error EvalError RangeError ReferenceError SyntaxError TypeError URIError InternalError "
    "AggregateError ArrayBuffer DataView Uint8ClampedArray Int8Array Uint8Array Int16Array Uint16Array Int32Array "
    "Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array Float64Array parseInt parseFloat isNaN "
    "isFinite decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape atob btoa Infinity NaN "
    "undefined globalThis"
)
_CHUNK_BYTES: Final = 64 << 10
_PAGE_KIB: Final = os.sysconf("SC_PAGE_SIZE") // 1024


def main(packages: str, folder: str, lifeline: int, memory_bytes: int) -> None:
    """Run transforms until there are no more."""
    sys.path.append(packages)
    quickjs: Any = import_module("_quickjs")
    begin, explain = _text(folder, "worker.js"), _text(folder, "worker_faults.js")
    begin = begin.replace("IMPURE;", _without_impure(quickjs.Context()))
    statm = os.open("/proc/self/statm", os.O_RDONLY) if sys.platform == "linux" else None
    _end_with(lifeline)
    stack_bytes = _give_up(memory_bytes, _pages(statm, 0))
    is_ready, faults, kib = False, -1, 0
    limits: tuple[int, float] | None = None
    while True:
        # Made before it is asked for, so that nobody waits for it.
        context = quickjs.Context()
        context.set_max_stack_size(stack_bytes)
        run = context.eval(begin)
        if limits:
            _limit(context, *limits)  # as the run before, which most often is right
        before = resource.getrusage(resource.RUSAGE_SELF)
        if before.ru_minflt != faults:  # it can't have grown without one
            kib, faults = _pages(statm, 1) * _PAGE_KIB, before.ru_minflt
        if not is_ready:
            _write(ANSWER.pack(READY, kib, 0))
            is_ready = True
        asked = _read_request()
        if not asked:
            return
        script, text, memory, seconds = asked
        if (memory, seconds) != limits:
            limits = memory, seconds
            _limit(context, memory, seconds)
        if len(text) > _CHUNK_BYTES:
            before = resource.getrusage(resource.RUSAGE_SELF)  # what its input takes is not its doing
        kind, answer = _carry_out(run, script, text, explain)
        if kind == THROWN and b'"message":"null"' in answer and _has_used_much(before, memory):
            # QuickJS throws null when there is no memory left for an error.
            kind, answer = OUT_OF_MEMORY, b""
        _write(ANSWER.pack(kind, kib, len(answer)) + answer)
        del run, context, asked, script, text, answer


def _carry_out(run: Any, script: str, text: str, explain: str) -> tuple[bytes, bytes]:
    try:
        output = run(script, text)
        told = (output if isinstance(output, str) else str(run(explain, None))).encode()
    except MemoryError:
        return OUT_OF_MEMORY, b""
    except Exception as error:
        # What the author's code throws does not come here: only what ends it.
        message = str(error)
        if "interrupted" in message:
            return OUT_OF_TIME, b""
        return (OUT_OF_MEMORY, b"") if "out of memory" in message else (BROKEN, message[:2_000].encode())
    if not isinstance(output, str):
        return (REFUSED if told.startswith(b'{"reason"') else THROWN), told
    if len(told) > OUTPUT_BYTES_MAX:
        reason = f"it takes {len(told):,} bytes; the limit is {OUTPUT_BYTES_MAX:,}"
        return REFUSED, f'{{"reason":"{reason}","path":[]}}'.encode()
    return OUTPUT, told


def _text(folder: str, name: str) -> str:
    """Read a script without its comments and indents, which would be read by QuickJS again and again."""
    with open(f"{folder}/{name}", encoding="utf-8") as file:  # noqa: PTH123  # pathlib takes longer to load than all else
        lines = [line.lstrip() for line in file]
    return "".join(line for line in lines if not line.startswith("//"))


def _without_impure(context: Any) -> str:
    """Write what takes away all globals not known to be pure: what QuickJS learns one day is given to nobody."""
    names, pure = str(context.eval("Object.getOwnPropertyNames(globalThis).join()")), _PURE.split()
    return "".join(f'delete world["{name}"];' for name in names.split(",") if name not in pure)


def _end_with(lifeline: int) -> None:
    """Have the kernel end this process when the engine is gone, even in the midst of a loop that nothing interrupts."""
    # Its other end is the engine's: nothing is ever written there, so the only thing that happens to it is its end,
    # and the signal of that ends who does not handle it.
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    try:
        gone = os.read(lifeline, 1) == b""
    except BlockingIOError:
        gone = False
    if gone:
        os._exit(0)


def _give_up(memory_bytes: int, pages: int) -> int:
    """Give up files, processes and memory; gives how much of the stack a transform may use."""
    stack_bytes = _lower(resource.RLIMIT_STACK, 2 * _STACK_BYTES) // 2
    if pages:
        _lower(resource.RLIMIT_AS, pages * _PAGE_KIB * 1024 + memory_bytes + _TEXTS_BYTES)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_NPROC, 0)
    _lower(resource.RLIMIT_NOFILE, 0)
    return stack_bytes


def _lower(limit: int, wanted: int) -> int:
    hard = resource.getrlimit(limit)[1]
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(limit, (value, value))
    except (OSError, ValueError):  # where a system does not let us, the others have to do
        return min(value, 4 << 20)
    return value


def _limit(context: Any, memory_bytes: int, seconds: float) -> None:
    """Limit what comes next in memory and time."""
    context.set_memory_limit(memory_bytes)
    context.set_time_limit(seconds)
    # Where the engine does not end this process, the kernel does: far too late, and for certain.
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(time.process_time() + 2 * seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _has_used_much(before: resource.struct_rusage, memory_bytes: int) -> bool:
    """Say whether this process has taken much of what it may: it was never as large, or had many pages given to it."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    grown_kib, pages = now.ru_maxrss - before.ru_maxrss, now.ru_minflt - before.ru_minflt
    return grown_kib > memory_bytes / 4096 or pages * _PAGE_KIB > memory_bytes / 4096


def _pages(statm: int | None, field: int) -> int:
    """Read the memory of this process: field 0 is all that is mapped, 1 what is really there."""
    return int(os.pread(statm, 100, 0).split()[field]) if statm is not None else 0


def _read_request() -> tuple[str, str, int, float] | None:
    """Read a script, an input, and their limits in memory and time; None at the end."""
    # Nothing follows before it is answered, so whatever is there belongs to it; most often that is all.
    content = os.read(0, _CHUNK_BYTES)
    if len(content) < REQUEST.size:
        content += _read(REQUEST.size - len(content))
        if len(content) < REQUEST.size:
            return None
    script_bytes, input_bytes, memory, seconds = REQUEST.unpack_from(content)
    middle = REQUEST.size + script_bytes
    if missing := middle + input_bytes - len(content):
        content += _read(missing)
    whole = memoryview(content)
    return str(whole[REQUEST.size : middle], "utf-8"), str(whole[middle:], "utf-8"), memory, seconds


def _read(size: int) -> bytes:
    """Read exactly so many bytes; fewer at the end."""
    parts = []
    while size and (chunk := os.read(0, min(size, 1 << 20))):
        parts.append(chunk)
        size -= len(chunk)
    return b"".join(parts)


def _write(content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(1, left) :]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
