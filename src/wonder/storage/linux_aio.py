"""Linux AIO: a write that goes on while this thread does something else, without another thread to be woken."""

import ctypes
import errno
import os
import platform
import sys
from typing import Any, ClassVar, Final

# io_setup, io_destroy, io_submit, io_getevents: glibc has no functions for them.
_NUMBERS: Final = {"x86_64": (206, 207, 209, 208), "aarch64": (0, 1, 2, 4)}
_PWRITE: Final = 1
# Nanoseconds are not looked at: it asks, or it waits for as long as it takes.
_ASK: Final = (ctypes.c_long * 2)(0, 0)


class _Request(ctypes.Structure):
    """`struct iocb` of linux/aio_abi.h, on a little-endian machine."""

    _fields_: ClassVar[Any] = [
        ("data", ctypes.c_uint64),
        ("key", ctypes.c_uint32),
        ("rw_flags", ctypes.c_uint32),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("descriptor", ctypes.c_uint32),
        ("buffer", ctypes.c_uint64),
        ("length", ctypes.c_uint64),
        ("offset", ctypes.c_int64),
        ("reserved", ctypes.c_uint64),
        ("flags", ctypes.c_uint32),
        ("eventfd", ctypes.c_uint32),
    ]


class _Event(ctypes.Structure):
    """`struct io_event`."""

    _fields_: ClassVar[Any] = [
        ("data", ctypes.c_uint64),
        ("object", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("result2", ctypes.c_int64),
    ]


class _Ring:
    """What is over, as the kernel writes it into our memory (`struct aio_ring`): looked at without a system call."""

    # Of the head, which is followed by the events: how many there may be, which is the next to take, and where the
    # kernel puts the next one. Both go round.
    _COUNT, _HEAD, _TAIL, _MAGIC, _LENGTH = 1, 2, 3, 4, 7
    _WORDS, _EVENT_WORDS, _NUMBER, _RESULT = 8, 4, 0, 2

    def __init__(self, context: int) -> None:
        self._words = (ctypes.c_uint32 * self._WORDS).from_address(context)
        self._count = self._words[self._COUNT]
        self._events = (ctypes.c_int64 * (self._EVENT_WORDS * self._count)).from_address(context + 4 * self._WORDS)

    @classmethod
    def at(cls, context: int) -> "_Ring | None":
        """Find the ring of a context; None where it may not be read like this."""
        if platform.machine() != "x86_64":
            return None  # Others may see what was written later sooner.
        words = (ctypes.c_uint32 * cls._WORDS).from_address(context)
        is_known = words[cls._MAGIC] == 0xA10A10A1 and words[cls._LENGTH] == 4 * cls._WORDS
        return cls(context) if is_known else None

    @property
    def is_empty(self) -> bool:
        words = self._words
        return bool(words[self._HEAD] == words[self._TAIL])

    def take(self) -> tuple[int, int]:
        """Give the number and the result of the next one."""
        head = self._words[self._HEAD]
        event = self._EVENT_WORDS * head
        number, result = self._events[event + self._NUMBER], self._events[event + self._RESULT]
        self._words[self._HEAD] = (head + 1) % self._count
        return number, result


class AsyncWriter:
    """One write at a time, from a buffer that stays in its place."""

    def __init__(self, context: int, numbers: tuple[int, int, int, int], buffer: Any) -> None:
        # The one keeps the interpreter's lock, because asking takes less time than giving it away; the other waits.
        self._ask, self._wait = _system_calls()
        self._context = ctypes.c_ulong(context)
        _, self._destroy, self._submit, self._events = (ctypes.c_long(number) for number in numbers)
        self._request = _Request(opcode=_PWRITE, buffer=ctypes.addressof(ctypes.c_char.from_buffer(buffer)))
        self._requests = (ctypes.c_void_p * 1)(ctypes.addressof(self._request))
        self._event = _Event()
        self._one, self._none = ctypes.c_long(1), ctypes.c_long(0)
        self._given = ctypes.c_void_p(ctypes.addressof(self._requests))
        self._taken = ctypes.c_void_p(ctypes.addressof(self._event))
        self._at_once = ctypes.c_void_p(ctypes.addressof(_ASK))
        self._ring = _Ring.at(context)
        self._number = self._result = 0

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
        request = self._request
        request.descriptor, request.offset, request.length = descriptor, offset, length
        # So that the end of one that nobody waited for is not taken for the end of another.
        self._number += 1
        request.data = self._number
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
        self._result = self._event.result
        return bool(self._event.data == self._number)

    def check(self) -> None:
        """Raise OSError if the write that is over went wrong."""
        result = self._result
        if result < 0:
            raise _error(-result)
        if result != self._request.length:
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
