"""When something is tried again, and after how long (RET-1, RET-2)."""

from collections.abc import Iterable
from typing import assert_never

from wonder.actions.protocol import ActionFailed
from wonder.backoff import doubled_ms
from wonder.definitions.records.actions import RetryPolicy
from wonder.definitions.records.fields import Retry

JITTER = 0.25
"""How much longer than its backoff says a wait may be, as a share, so that what failed together comes back apart."""

_DELAY_MAX_MS = 3_155_760_000_000
_RETRY_AFTER_MAX_MS = 3_600_000


def delay_ms(retry: Retry, attempt: int, chance: float) -> float:
    """Return how long to wait after the n-th attempt has failed; `chance` is a number from 0 to below 1.

    Constant delays are exact. Those that grow get up to a quarter of jitter on top. None is above `max_delay_ms`.
    """
    match retry.backoff:
        case "none":
            delay: float = retry.initial_delay_ms
        case "linear":
            delay = retry.initial_delay_ms * attempt * (1 + JITTER * chance)
        case "exponential":
            delay = doubled_ms(retry.initial_delay_ms, attempt - 1) * (1 + JITTER * chance)
        case _:
            assert_never(retry.backoff)
    return min(delay, _DELAY_MAX_MS if retry.max_delay_ms is None else retry.max_delay_ms)


class InfrastructureRetry:
    """A compiled retry policy of an action."""

    __slots__ = ("_includes_default", "_patterns", "policy")

    def __init__(self, policy: RetryPolicy) -> None:
        self.policy = policy
        errors = policy.retryable_errors
        self._includes_default = errors is None or "default" in errors
        self._patterns = [_Pattern(error) for error in errors or () if error != "default"]

    def allows(self, failure: ActionFailed, attempt: int) -> bool:
        """Say whether there is another attempt after the n-th has failed so."""
        if attempt >= self.policy.max_attempts:
            return False
        return (self._includes_default and failure.retryable) or self._names(failure)

    def delay_ms(self, failure: ActionFailed, attempt: int, chance: float) -> float:
        """Return how long to wait: the backoff, or what the other side asked for if that is longer.

        That is obeyed up to an hour, or up to `max_delay_ms` where the policy allows more: a server can't park a run.
        """
        longest_ms = max(_RETRY_AFTER_MAX_MS, self.policy.max_delay_ms or 0)
        return max(delay_ms(self.policy, attempt, chance), min(failure.retry_after_ms or 0, longest_ms))

    def _names(self, failure: ActionFailed) -> bool:
        return any(pattern.matches_any((failure.code, *failure.names)) for pattern in self._patterns)


class _Pattern:
    """A text in which `*` stands for any text; matched by parts, because a regular expression could take for ever."""

    __slots__ = ("_first", "_last", "_middle", "_whole")

    def __init__(self, text: str) -> None:
        self._first, *rest = text.split("*")
        self._whole = not rest
        *self._middle, self._last = rest or [""]

    def matches_any(self, names: Iterable[str]) -> bool:
        return any(map(self._matches, names))

    def _matches(self, name: str) -> bool:
        if self._whole:
            return name == self._first
        if not name.startswith(self._first):
            return False
        position = len(self._first)
        for part in self._middle:
            position = name.find(part, position)
            if position < 0:
                return False
            position += len(part)
        return len(name) - len(self._last) >= position and name.endswith(self._last)
