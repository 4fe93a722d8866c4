"""What a ModelProfile says of its provider in `execution_config`: a record per provider."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field

from wonder.definitions.records.fields import Json, Milliseconds, Name, Record
from wonder.definitions.records.tenancy import ModelProvider

CALL_MS: Final = 600_000
"""How long one call may take where neither the profile nor the action says so."""

Structured: TypeAlias = Literal["native", "prompt", "both"]
"""How a model is asked for JSON: by the provider's structured output, in the prompt, or both."""

_OutgoingText = Annotated[str, Field(min_length=1, max_length=10_000)]
_Tokens = Annotated[int, Field(ge=0, le=1_000_000_000)]


OWN_ADDRESSES: Final[Mapping[str, str]] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "google": "https://generativelanguage.googleapis.com/",
}
"""Where providers are; Cloudflare's has an account in it, and `local` has none."""


class ExecutionConfig(Record):
    """What a profile may say of its provider; `{{secrets.NAME}}` may stand in any of its texts."""

    api_key: _OutgoingText | None = None
    base_url: _OutgoingText | None = None
    headers: dict[Name, str] = {}
    timeout_ms: Milliseconds = CALL_MS
    structured: Structured | None = None

    @property
    def account(self) -> str | None:
        """The account that is part of the provider's address, where it has one."""
        return None


class CloudflareConfig(ExecutionConfig):
    """The same for Cloudflare, whose address has an account in it."""

    account_id: _OutgoingText | None = None

    @property
    def account(self) -> str | None:
        """The account that is part of the provider's address."""
        return self.account_id


class MockUsage(Record):
    """The tokens that an answer is said to have taken."""

    input_tokens: _Tokens = 0
    output_tokens: _Tokens = 0


class MockError(Record):
    """A failure as a provider's HTTP status; with `retry_after_ms`, it asks to wait."""

    status: Annotated[int, Field(ge=300, le=599)] = 500
    message: str = "a scripted failure"
    retry_after_ms: Milliseconds | None = None


class ScriptedAnswer(Record):
    """One answer of the script; with an error, what is in `answer` is said before it breaks off."""

    when: str | None = None
    answer: Json = None
    delay_ms: Annotated[int, Field(ge=0, le=86_400_000)] = 0
    error: MockError | None = None
    usage: MockUsage | None = None
    ended: Literal["complete", "cut_off", "refused", "filtered", "tool_call"] = "complete"


class MockConfig(Record):
    """The script of a `mock` profile: each answer is a value, or an object with `answer` or `error` that says more."""

    answers: list[Json] = []
    timeout_ms: Milliseconds = CALL_MS


CONFIGURATIONS: Final[Mapping[ModelProvider, type[ExecutionConfig] | type[MockConfig]]] = {
    "anthropic": ExecutionConfig,
    "openai": ExecutionConfig,
    "google": ExecutionConfig,
    "cloudflare": CloudflareConfig,
    "local": ExecutionConfig,
    "mock": MockConfig,
}


def says_more(answer: object) -> bool:
    """Say whether an answer of a script is an object that describes one, and not the answer itself."""
    return isinstance(answer, dict) and bool(answer.keys() & {"answer", "error"})
