"""What the process of the TypeScript compiler answers; not trusted, because that process has read hostile sources."""

import json
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

Stopped = Literal["time", "memory", "stack", "death", "fault", "budget"]

DIED: Final[dict[str, Any]] = {"stopped": "death"}
"""The answer of a process that has ended instead of giving one."""


class _Place(Struct):
    line: Annotated[int, Meta(ge=1)]
    column: Annotated[int, Meta(ge=1)]


class _Places(Struct):
    input: _Place
    output: _Place


class _Fault(Struct):
    message: str
    line: Annotated[int, Meta(ge=1)]
    column: Annotated[int, Meta(ge=1)]


class _Faulty(Struct):
    faults: list[_Fault]


class _Halted(Struct):
    stopped: Stopped
    message: str = ""


class _Compiled(Struct):
    javascript: str
    input: dict[str, Any] | bool
    output: dict[str, Any] | bool
    places: _Places


class _Told(Struct):
    answer: dict[str, Any]
    cpu_seconds: Annotated[float, Meta(ge=0, le=1e6)]


def read_answer(content: bytes) -> tuple[dict[str, Any], float]:
    """Read an answer, and how many seconds of CPU it took; anything that is no answer counts as the process's death."""
    try:
        told = msgspec.convert(json.loads(content, parse_constant=_refuse), _Told)
        form = _Halted if "stopped" in told.answer else _Faulty if "faults" in told.answer else _Compiled
        # Written anew, so that it has what it must have, and nothing else.
        return msgspec.to_builtins(msgspec.convert(told.answer, form)), told.cpu_seconds
    except (msgspec.MsgspecError, OverflowError, RecursionError, ValueError):
        return dict(DIED), 0.0


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
