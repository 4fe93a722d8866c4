"""Linux AIO: a write that goes on while this thread does something else, without another thread to be woken."""

import ctypes
import errno
import os
import platform
import struct
import sys
from typing import Any, Final

# io_setup, io_destroy, io_submit, io_getevents: glibc has no functions for them.
_NUMBERS: Final = {"x86_64": (206, 207, 209, 208), "aarch64": (0, 1, 2, 4)}
_PWRITE: Final = 1
# `struct iocb` of linux/aio_abi.h, on a little-endian machine: number, key, flags of the write, what to do, priority,
# file, address, length, offset, and what is not used.
_REQUEST: Final = struct.Struct("<QIIHhIQQq16x")
# `struct io_event`: number, request, and two results.
_EVENT: Final = struct.Struct("<QQqq")
# Nanoseconds are not looked at: it asks, or it waits for as long as it takes.
_ASK: Final = (ctypes.c_long * 2)(0, 0)


# `struct aio_ring`, as words: how many events there may be, which is the next to take, where the kernel puts the next
# one (both go round), what tells that it is one, and how long this head of it is. The events follow.
_COUNT: Final = 1
_HEAD: Final = 2
_TAIL: Final = 3
_MAGIC: Final = 4
_HEAD_LENGTH: Final = 7
_HEAD_WORDS: Final = 8
# An event in words of twice the length: where its number is, and its result.
_EVENT_WORDS: Final = 4
_NUMBER: Final = 0
_RESULT: Final = 2


class _Ring:
    """What is over, as the kernel writes it into our memory: looked at without a system call."""

    def __init__(self, context: int) -> None:
        self._words: Any = (ctypes.c_uint32 * _HEAD_WORDS).from_address(context)
        self._count: int = self._words[_COUNT]
        self._events: Any = (ctypes.c_int64 * (_EVENT_WORDS * self._count)).from_address(context + 4 * _HEAD_WORDS)

    @classmethod
    def at(cls, context: int) -> "_Ring | None":
        """Find the ring of a context; None where it may not be read like this."""
        if platform.machine() != "x86_64":
            return None  # Others may see what was written later sooner.
        words: Any = (ctypes.c_uint32 * _HEAD_WORDS).from_address(context)
        is_known = words[_MAGIC] == 0xA10A10A1 and words[_HEAD_LENGTH] == 4 * _HEAD_WORDS
        return cls(context) if is_known else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is over that was not taken."""
        words = self._words
        return bool(words[_HEAD] == words[_TAIL])

    def take(self) -> tuple[int, int]:
        """Give the number and the result of the next one."""
        head: int = self._words[_HEAD]
        event = _EVENT_WORDS * head
        number, result = self._events[event + _NUMBER], self._events[event + _RESULT]
        self._words[_HEAD] = (head + 1) % self._count
        return number, result


class AsyncWriter:
    """One write at a time, from a buffer that stays in its place."""

    def __init__(self, context: int, numbers: tuple[int, int, int, int], buffer: Any) -> None:
        # The one keeps the interpreter's lock, because asking takes less time than giving it away; the other waits.
        self._ask, self._wait = _system_calls()
        self._context = ctypes.c_ulong(context)
        _, self._destroy, self._submit, self._events = (ctypes.c_long(number) for number in numbers)
        self._buffer: int = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        self._request: Any = ctypes.create_string_buffer(_REQUEST.size)
        self._requests = (ctypes.c_void_p * 1)(ctypes.addressof(self._request))
        self._event: Any = ctypes.create_string_buffer(_EVENT.size)
        self._one, self._none = ctypes.c_long(1), ctypes.c_long(0)
        self._given = ctypes.c_void_p(ctypes.addressof(self._requests))
        self._taken = ctypes.c_void_p(ctypes.addressof(self._event))
        self._at_once = ctypes.c_void_p(ctypes.addressof(_ASK))
        self._ring = _Ring.at(context)
        self._number = self._result = self._length = 0

    @classmethod
    def open(cls, buffer: Any) -> "AsyncWriter | None":
        """Make one for a buffer; None where the system has no such thing."""
        numbers = _NUMBERS.get(platform.machine())
        if numbers is None or sys.platform != "linux" or ctypes.sizeof(ctypes.c_long) != 8:
            return None
        context = ctypes.c_ulong(0)
        try:
            ask, _ = _system_calls()
        except OSError:
            return None
        if ask(ctypes.c_long(numbers[0]), ctypes.c_long(8), ctypes.byref(context)) != 0:
            return None
        return cls(context.value, numbers, buffer)

    def begin(self, descriptor: int, offset: int, length: int) -> None:
        """Begin to write the first bytes of the buffer; raises OSError if that can't be."""
        # So that the end of one that nobody waited for is not taken for the end of another.
        self._number += 1
        self._length = length
        _REQUEST.pack_into(self._request, 0, self._number, 0, 0, _PWRITE, 0, descriptor, self._buffer, length, offset)
        if self._ask(self._submit, self._context, self._one, self._given) != 1:
            raise _error(ctypes.get_errno())

    def is_done(self) -> bool:
        """Say whether the write is over, without waiting; once it has said so, `check` tells how it went."""
        ring = self._ring
        if ring is not None:
            while not ring.is_empty:
                number, self._result = ring.take()
                if number == self._number:
                    return True
            return False
        while self._ask(self._events, self._context, self._none, self._one, self._taken, self._at_once) == 1:
            if self._is_this_one():
                return True
        return False

    def wait(self) -> None:
        """Wait until the write is over."""
        while True:
            if self._wait(self._events, self._context, self._one, self._one, self._taken, None) == 1:
                if self._is_this_one():
                    return
            elif ctypes.get_errno() != errno.EINTR:
                raise _error(ctypes.get_errno())

    def _is_this_one(self) -> bool:
        number, _, self._result, _ = _EVENT.unpack_from(self._event)
        return bool(number == self._number)

    def check(self) -> None:
        """Raise OSError if the write that is over went wrong."""
        result = self._result
        if result < 0:
            raise _error(-result)
        if result != self._length:
            raise _error(errno.ENOSPC)

    def close(self) -> None:
        """Let go of it, once the write under way is over."""
        self._wait(self._destroy, self._context)


def _system_calls() -> tuple[Any, Any]:
    keeping, giving = ctypes.PyDLL(None, use_errno=True).syscall, ctypes.CDLL(None, use_errno=True).syscall
    keeping.restype = giving.restype = ctypes.c_long
    return keeping, giving


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
