"""What an `llm_call` takes."""

from wonder.definitions.records.fields import Identifier, Record


class LlmCall(Record):
    """A prompt sent to a model; without a profile, the project's default."""

    prompt_spec_id: Identifier
    model_profile_id: Identifier | None = None
