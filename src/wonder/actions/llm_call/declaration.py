"""The declaration of `llm_call`."""

from typing import ClassVar

from wonder.actions.llm_call.record import LlmCall
from wonder.definitions.kinds import ANYTHING, Kind, Named
from wonder.language.schemas import Schema


class Declaration(Kind):
    """Sends a prompt to a model."""

    kind = "llm_call"
    configuration = LlmCall
    summary = "sends a prompt to a model"
    gives = "the value that fits `produces`; a string where that is empty or a string"
    errors = (
        "ANSWER_BROKEN",
        "ANSWER_CUT_OFF",
        "ANSWER_EMPTY",
        "ANSWER_FILTERED",
        "ANSWER_MISFIT",
        "ANSWER_REFUSED",
        "ANSWER_TOO_LARGE",
        "ANSWER_UNASKED",
        "BAD_EXECUTION_CONFIG",
        "BASE_URL_NOT_ALLOWED",
        "BUDGET_EXCEEDED",
        "MODEL_UNKNOWN",
        "NO_MODEL",
        "PRICE_UNKNOWN",
        "PROMPT_INPUT_SCHEMA",
        "PROVIDER_FLOOD",
        "PROVIDER_GARBLED",
        "PROVIDER_KEY_MISSING",
        "PROVIDER_KEY_REFUSED",
        "PROVIDER_LOST",
        "PROVIDER_NOT_ALLOWED",
        "PROVIDER_RATE_LIMITED",
        "PROVIDER_REFUSED",
        "PROVIDER_TIMEOUT",
        "PROVIDER_UNAVAILABLE",
        "RATE_LIMITED",
    )
    references: ClassVar = {"prompt_spec_id": "prompt", "model_profile_id": "model"}
    at_work = "wonder.actions.llm_call.kind:LlmCallKind"

    def input_schema(self, implementation: LlmCall | None, named: Named) -> Schema:
        """Give what the prompt requires."""
        prompt = named("prompt")
        return prompt.requires if prompt else ANYTHING

    def output_schema(self, implementation: LlmCall | None, named: Named) -> Schema:
        """Give what the prompt produces; a text where it does not say."""
        prompt = named("prompt")
        if prompt is None:
            return ANYTHING
        is_open = prompt.produces is True or prompt.produces == {}
        return {"type": "string"} if is_open else prompt.produces
