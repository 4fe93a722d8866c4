"""A provider with scripted answers, for samples and for tests of workflows: no key, no network, no cost.

The `execution_config` of its profile has `answers`. Each is the answer itself (a text, or a value that is given as
JSON), or an object that says more: `{when, answer, delay_ms, error: {status, message, retry_after_ms}, usage, ended}`.
The first whose `when` is in the prompt's text counts. Where none is, those without `when` are given in turn: to each
prompt of a run the first one, to the same prompt asked again the next, and after the last the first again. Without any
answers, a model that was asked for JSON gives a value of its schema, and any other repeats what it was asked.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from pydantic import ValidationError

from wonder.actions.llm_call.connection import bad_config, read_config
from wonder.actions.llm_call.question import Ended, Fault, Piece, Question, Text
from wonder.actions.llm_call.structure import NativeForm
from wonder.actions.money.tokens import Used
from wonder.definitions.records.providers import MockConfig, MockError, MockUsage, ScriptedAnswer, says_more
from wonder.definitions.records.resources import ModelProfile
from wonder.language.values import JsonValue, encode_json

_PIECE_LENGTH: Final = 24
_TURNS_MAX: Final = 10_000
_LEVELS: Final = 8


class MockProvider:
    """Gives a profile's scripted answers."""

    def __init__(self, profile: ModelProfile, sleep: Callable[[float], Awaitable[None]]) -> None:
        config: MockConfig = read_config(profile, MockConfig)
        self.timeout_ms = config.timeout_ms
        script = [_scripted(profile, given) for given in config.answers]
        self._matching = [answer for answer in script if answer.when is not None]
        self._others = [answer for answer in script if answer.when is None]
        self._sleep = sleep
        self._given: dict[tuple[str, str], int] = {}

    def native(self, schema: dict[str, Any]) -> NativeForm | None:
        """Take any schema, to make a value of it where none is scripted."""
        return NativeForm(schema, is_strict=True)

    async def ask(self, question: Question) -> AsyncIterator[Piece]:
        """Give the answer whose turn it is."""
        answer = self._choose(question)
        if answer.delay_ms:
            await self._sleep(answer.delay_ms)
        said = answer.answer
        text = said if isinstance(said, str) else "" if said is None and answer.error else encode_json(said)
        for begin in range(0, len(text), _PIECE_LENGTH):
            yield Text(text[begin : begin + _PIECE_LENGTH])
        if answer.error:
            raise _ScriptedFailure(answer.error)
        usage = answer.usage or MockUsage(input_tokens=question.size_bytes // 4 + 1, output_tokens=len(text) // 4 + 1)
        yield Used(usage.input_tokens, usage.output_tokens)
        yield Ended(answer.ended)

    def fault_of(self, error: Exception) -> Fault | None:
        """Read a scripted failure."""
        if not isinstance(error, _ScriptedFailure):
            return None
        given = error.given
        return Fault("status", given.message, given.status, given.retry_after_ms)

    def _choose(self, question: Question) -> ScriptedAnswer:
        asked = question.turns[-1].text
        for answer in self._matching:
            if answer.when and (answer.when in asked or answer.when in (question.system or "")):
                return answer
        if not self._others:
            value = asked if question.schema is None else value_like(question.schema)
            return ScriptedAnswer(answer=value)
        key = (question.run_id, asked)
        turn = self._given.get(key, 0)
        while len(self._given) >= _TURNS_MAX:
            del self._given[next(iter(self._given))]
        self._given[key] = turn + 1
        return self._others[turn % len(self._others)]


class _ScriptedFailure(Exception):
    def __init__(self, given: MockError) -> None:
        super().__init__(given.message)
        self.given = given


def value_like(schema: Any, levels: int = _LEVELS) -> JsonValue:
    """Return a plain value of a schema; of a schema with conditions, it may be none that fits."""
    if not isinstance(schema, dict) or not levels:
        return None
    for keyword in ("const", "default"):
        if keyword in schema:
            return schema[keyword]  # type: ignore[no-any-return]
    for keyword in ("enum", "examples"):
        if schema.get(keyword):
            return schema[keyword][0]  # type: ignore[no-any-return]
    for keyword in ("anyOf", "oneOf", "allOf"):
        if schema.get(keyword):
            return value_like(schema[keyword][0], levels - 1)
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: value_like(part, levels - 1) for name, part in properties.items()}
        case "array":
            count = max(schema.get("minItems", 1), 0)
            return [value_like(schema.get("items", {}), levels - 1) for _ in range(min(count, 100))]
        case "integer" | "number":
            return schema.get("minimum", min(schema.get("maximum", 1), 1))  # type: ignore[no-any-return]
        case "boolean":
            return True
        case "string":
            return "text".ljust(min(schema.get("minLength", 0), 1_000), "x")[: schema.get("maxLength", 1_000)]
    return None


def _scripted(profile: ModelProfile, given: Any) -> ScriptedAnswer:
    if not says_more(given):
        return ScriptedAnswer(answer=given)
    try:
        return ScriptedAnswer.model_validate(given)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise bad_config(profile, f"an answer has a wrong {where!r}: {fault['msg']}; correct it") from None
