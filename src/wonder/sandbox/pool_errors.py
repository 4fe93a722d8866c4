"""What a transform can fail with."""

from collections.abc import Mapping

from wonder.errors import WonderError
from wonder.language.values import JsonValue


class TransformFailed(WonderError):
    """A transform gave no value; `retryable` says that the fault is not its own, and another attempt may fix it."""

    code = "TRANSFORM_FAILED"

    def __init__(
        self, code: str, message: str, *, details: Mapping[str, JsonValue] | None = None, retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code  # type: ignore[misc]  # each way to fail has a code of its own
        self.message, self.details, self.retryable = message, dict(details or {}), retryable


class WorkerLost(WonderError):
    """A worker has ended in the midst of a run: by a signal, if the exit code is negative; by us, if it was late."""

    code = "TRANSFORM_WORKER_LOST"

    def __init__(self, exit_code: int | None, *, was_late: bool) -> None:
        super().__init__(f"the process of the transform has ended with {exit_code}")
        self.exit_code, self.was_late = exit_code, was_late


class WorkerNotStarted(WonderError):
    """No worker can be started."""

    code = "TRANSFORM_WORKER_NOT_STARTED"

    def __init__(self, reason: str) -> None:
        super().__init__(f"no process for transforms can be started: {reason}")
        self.reason = reason
