"""One call of a model: its pieces gathered, shown to watchers, counted, and bounded in time and size."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, cast

from wonder.actions.http.addresses import AddressRefused
from wonder.actions.llm_call.answers import ANSWER_MAX, clean, too_large
from wonder.actions.llm_call.failures import failure_of
from wonder.actions.llm_call.question import Ended, Piece, Provider, Question, Text
from wonder.actions.money.tokens import Used
from wonder.actions.protocol import ActionContext, ActionFailed

_SHOWN_EVERY_SECONDS: Final = 0.05
# About as many characters as a token has, in most languages.
_CHARACTERS_PER_TOKEN: Final = 4
_CAUSES_MAX: Final = 10
# What the HTTP client raises before anything was sent.
_NOT_SENT: Final = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "AddressRefused", "BadHost"})


class Talk:
    """A question on its way, and what came back of it so far."""

    def __init__(self, provider: Provider, question: Question, model: str, context: ActionContext) -> None:
        self._provider, self._question, self._model, self._context = provider, question, model, context
        self._parts: list[str] = []
        self._length = 0
        self._watched = _Watched(context)
        self._counted: Used | None = None
        self._is_heard = False
        self._is_refused = False
        self.ended: Ended | None = None

    @property
    def text(self) -> str:
        """All that the model has said, as it can be stored."""
        return clean("".join(self._parts))

    @property
    def used(self) -> Used:
        """The tokens that were counted; where nobody did, or the talk broke off before, about as many as there were.

        Nothing if the provider did not take the question at all: then it charges nothing either.
        """
        said = -(-self._length // _CHARACTERS_PER_TOKEN)
        counted = self._counted
        if counted and counted.input_tokens:
            return counted if self.ended else counted._replace(output_tokens=max(counted.output_tokens, said))
        if not self._is_heard:
            return Used()
        return Used(self._question.size_bytes // _CHARACTERS_PER_TOKEN + 1, said)

    @property
    def charged(self) -> Used:
        """The same where the server is not the provider's own and may say what it likes.

        At least what was sent and said by our own estimate, at most the worst case that was reserved.
        """
        used = self.used
        if used == Used():
            return used
        size, most = self._question.size_bytes, self._question.parameters.max_tokens
        said = -(-self._length // _CHARACTERS_PER_TOKEN)
        return Used(
            min(max(used.input_tokens, size // _CHARACTERS_PER_TOKEN + 1), size),
            min(max(used.output_tokens, said), most),
        )

    @property
    def is_counted(self) -> bool:
        """Whether it is known what was used: the answer came to its end, or the question was never taken.

        What a provider charges for an answer that broke off, only its bill will say.
        """
        return self.ended is not None or self._is_refused

    async def run(self, timeout_ms: int) -> None:
        """Ask, and gather the answer until it ends; raises ActionFailed if it does not."""
        try:
            async with asyncio.timeout(timeout_ms / 1000) as limit:
                await self._gather()
        except TimeoutError as error:
            if not limit.expired():
                raise failure_of(error, self._provider, self._model) from error
            # It has worked on the question all that time, and may charge for it.
            self._is_heard = True
            raise failure_of(error, self._provider, self._model) from None
        except AddressRefused as error:
            self._is_refused = True
            raise failure_of(error, self._provider, self._model) from None
        except ActionFailed:
            raise
        except asyncio.CancelledError:
            self._is_heard = True
            raise
        except Exception as error:
            failure = failure_of(error, self._provider, self._model)
            fault = self._provider.fault_of(error)
            if fault and fault.is_taken:
                self._is_heard = True
            is_status = fault is not None and fault.kind == "status"
            self._is_refused = not self._is_heard and (is_status or not _was_sent(error))
            raise failure from error
        self._watched.show_rest()
        if self.ended is None:
            message = f"the connection to {self._model} was cut before its answer ended; try again"
            raise ActionFailed("PROVIDER_LOST", message, retryable=True, names=("ConnectionError",))

    async def _gather(self) -> None:
        # Closed in any case: that is what ends the connection, and so the work of the model, when this is cancelled.
        async with aclosing(cast("AsyncGenerator[Piece, None]", self._provider.ask(self._question))) as pieces:
            async for piece in pieces:
                self._is_heard = True
                match piece:
                    case Text(text):
                        self._length += len(text)
                        if self._length > ANSWER_MAX:
                            raise too_large(self._model)
                        self._parts.append(text)
                        self._watched.add(text)
                    case Used():
                        self._counted = piece
                    case Ended():
                        self.ended = piece


class _Watched:
    """Shows an answer to watchers while it arrives, in whole words and not too often.

    In whole words, because what is redacted is found only where it is not in two pieces: a server that repeats the key
    which it was given must not have one half of it shown, and then the other.
    """

    __slots__ = ("_at", "_context", "_offset", "_pending", "_ready")

    def __init__(self, context: ActionContext) -> None:
        self._context = context
        self._ready: list[str] = []
        self._pending: list[str] = []
        self._offset = 0
        self._at = 0.0

    def add(self, text: str) -> None:
        """Take the next part of the answer, and show all words that have ended if it is time to."""
        if whole := _words(text):
            self._ready += [*self._pending, text[:whole]]
            self._pending = []
        if whole < len(text):
            self._pending.append(text[whole:])
        if self._ready and time.monotonic() - self._at >= _SHOWN_EVERY_SECONDS:
            self._show()

    def show_rest(self) -> None:
        """Show what is left."""
        self._ready += self._pending
        if self._ready:
            self._show()

    def _show(self) -> None:
        # `offset` lets a watcher see whether it has missed something.
        self._at = time.monotonic()
        shown, self._ready = "".join(self._ready), []
        self._context.report_progress({"text": clean(shown), "offset": self._offset})
        self._offset += len(shown)


def _was_sent(error: BaseException) -> bool:
    """Say whether a provider was reached at all."""
    cause: BaseException | None = error
    for _ in range(_CAUSES_MAX):
        if cause is None or type(cause).__name__ in _NOT_SENT:
            break
        cause = cause.__cause__ or cause.__context__
    return type(cause).__name__ not in _NOT_SENT


def _words(text: str) -> int:
    """Return the length of what ends with a word's end; in scripts without spaces, any character is one."""
    for end in range(len(text), 0, -1):
        if text[end - 1].isspace() or not text[end - 1].isascii():
            return end
    return 0
