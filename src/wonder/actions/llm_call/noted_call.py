"""A call of a model as an event: which profile and model, how long it took, what it used, how it ended (EVT-1)."""

import time
from types import TracebackType

from wonder.actions.protocol import ActionContext
from wonder.definitions.records.resources import ModelProfile
from wonder.engine.events import LLM_CALL_COMPLETED, LlmCallCompleted
from wonder.errors import WonderError


class NotedCall:
    """Notes one call when it ends, whatever ends it; one that never began, because a budget forbids it, is none."""

    def __init__(self, profile: ModelProfile, context: ActionContext) -> None:
        self._profile, self._context = profile, context
        self._began: float | None = None
        self._told: LlmCallCompleted | None = None

    def __enter__(self) -> "NotedCall":
        return self

    def begin(self) -> None:
        """Count the time from now."""
        self._began = time.monotonic()

    def answered(self, input_tokens: int, output_tokens: int, cost_usd: float) -> None:
        """Say what the call has used, also where it failed."""
        assert self._began is not None
        self._context.report_usage(input_tokens=input_tokens, output_tokens=output_tokens, cost_usd=cost_usd)
        self._told = LlmCallCompleted(
            profile=self._profile.name,
            model=f"{self._profile.provider}/{self._profile.model_id}",
            duration_ms=round((time.monotonic() - self._began) * 1000),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cost_usd=cost_usd,
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._told is None:
            return
        if isinstance(error, WonderError):
            self._told["error"] = {"code": error.code, "message": str(error)}
        elif error is not None:
            self._told["error"] = {
                "code": "CALL_ABORTED",
                "message": "the call was aborted before its answer was there",
            }
        self._context.note(LLM_CALL_COMPLETED(self._told))
