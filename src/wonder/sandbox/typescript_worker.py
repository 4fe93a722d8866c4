"""The compiler's worker: an interpreter in which the TypeScript compiler is loaded once, then compiles what it is sent.

It is started by its path, without the packages of the engine, and speaks frames over its standard input and output. It
ends when its input does.
"""

import json
import os
import resource
import struct
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

FRAME: Final = struct.Struct("!I")
"""The bytes that follow."""
# The author's code is never run here, so that only the compiler's own appetite has to be limited.
_THREAD_STACK_BYTES: Final = 64 << 20
_STACK_BYTES: Final = 48 << 20
_SCRIPTS: Final = ("messages.js", "rules.js", "written.js", "schemas.js", "compile.js")
_LIBRARY: Final = ("lib.d.ts", "lib_reflection.d.ts", "lib_binary.d.ts")


def main(packages: str, compiler_path: str, folder: str, memory_bytes: int, seconds: float) -> None:
    """Compile until there is nothing more to compile."""
    sys.path.append(packages)
    _give_up(memory_bytes)
    # In a thread, because the parent process decides how large a stack is, and the compiler's recursions
    # go deep.
    threading.stack_size(_THREAD_STACK_BYTES)
    thread = threading.Thread(target=_serve, args=(compiler_path, folder, memory_bytes, seconds))
    thread.start()
    thread.join()


def compiler_script(text: str) -> str:
    """Leave the language services out: what editors ask for is a third of the compiler, and takes its time to load."""
    services, end = text.find("\n// src/jsTyping/"), text.rfind("\n})({")
    return text[:services] + text[end:] if 0 < services < end else text


def _serve(compiler_path: str, folder: str, memory_bytes: int, seconds: float) -> None:
    context = import_module("_quickjs").Context()
    context.set_max_stack_size(_STACK_BYTES)
    context.eval(compiler_script(_text(compiler_path)))
    scripts = "\n".join(_text(f"{folder}/{name}") for name in _SCRIPTS)
    compile = context.eval(f"(() => {{\n{scripts}\nreturn (library) => (setLibrary(library), compile);\n}})()")(
        "\n".join(_text(f"{folder}/{name}") for name in _LIBRARY)
    )
    context.set_memory_limit(memory_bytes)
    while request := _read():
        context.set_time_limit(seconds)
        _limit_cpu(seconds)
        began = time.process_time()
        answer, is_sound = _compiled(compile, request.decode("ascii"))
        _write(b'{"cpu_seconds":%.3f,"answer":%s}' % (time.process_time() - began, answer.encode()))
        if not is_sound:
            return  # What was interrupted may have been left half done.


def _compiled(compile: Any, request: str) -> tuple[str, bool]:
    try:
        answer: str = compile(request)
    except MemoryError:
        return json.dumps({"stopped": "memory"}), False
    except Exception as error:
        return json.dumps({"stopped": _reason(error), "message": str(error)[:2_000]}), False
    return answer, True


def _reason(error: Exception) -> str:
    message = str(error)
    if "interrupted" in message:
        return "time"
    # Without any memory left there is none for an error either, and null is thrown.
    if "out of memory" in message or message.strip() == "null":
        return "memory"
    return "stack" if type(error).__name__ == "StackOverflow" or "call stack size" in message else "fault"


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123  # pathlib takes longer to load than all else
        return file.read()


def _give_up(memory_bytes: int) -> None:
    """Give up processes, files to write, and memory without end."""
    beside = _THREAD_STACK_BYTES + (512 << 20)
    wanted = {"RLIMIT_AS": memory_bytes + beside, "RLIMIT_CORE": 0, "RLIMIT_FSIZE": 0}
    for name, value in wanted.items():
        # Where a system does not let us, the others have to do.
        with suppress(OSError, ValueError, AttributeError):
            resource.setrlimit(getattr(resource, name), (value, value))


def _limit_cpu(seconds: float) -> None:
    """Have the kernel end this process where QuickJS does not: late, and for certain."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(time.process_time() + seconds) + 2
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _read() -> bytes:
    """Read a frame; nothing at the end."""
    head = _exactly(FRAME.size)
    return _exactly(FRAME.unpack(head)[0]) if head else b""


def _exactly(size: int) -> bytes:
    parts = []
    while size:
        chunk = os.read(0, min(size, 1 << 20))
        if not chunk:
            return b""
        parts.append(chunk)
        size -= len(chunk)
    return b"".join(parts)


def _write(content: bytes) -> None:
    left = memoryview(FRAME.pack(len(content)) + content)
    while left:
        left = left[os.write(1, left) :]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
