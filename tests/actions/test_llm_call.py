"""`llm_call` (ACT-1): what is asked, what comes of the answer, what is allowed; with a provider that is scripted."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.llm_peers import KnownResources, asking
from wonder.actions.protocol import ActionContext
from wonder.actions.resources import Tenancy

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def scripted(*answers: Any, produces: Any = None, **fields: Any) -> KnownResources:
    """A prompt that says what it is given, and a model that answers by a script."""
    resources = KnownResources()
    resources.prompt("prompt", "{{say}}", produces={} if produces is None else produces)
    resources.model("model", "mock", {"answers": list(answers)}, **fields)
    return resources


async def test_an_answer_is_a_text_where_produces_is_empty_or_a_string() -> None:
    """ACT-10."""
    for produces in ({}, True, {"type": "string", "minLength": 2}):
        async with asking(scripted("  Well, 12!\n", produces=produces)) as ask:
            assert (await ask("model", {"say": "Hi"})).output == "  Well, 12!\n"


@pytest.mark.parametrize(
    "answer",
    [
        {"n": 3},
        '{"n": 3}',
        '  {"n":3}\n',
        'Sure:\n```json\n{"n": 3}\n```\nAnything else?',
        '```\n{"n": 3}\n```',
        'The answer is {"n": 3}, of course.',
        'Some {words}:\n```json\n{"n": 3}\n```\nand {others}',
    ],
)
async def test_an_answer_is_the_value_that_fits_produces(answer: Any) -> None:
    """ACT-1: fences, and words around it, are tolerated; the value is checked."""
    async with asking(scripted({"answer": answer}, produces=NUMBER)) as ask:
        assert (await ask("model", {"say": "three"})).output == {"n": 3}


@pytest.mark.parametrize(
    ("produces", "answer", "output"),
    [
        ({"type": "array", "items": {"type": "string"}}, ["a", "b"], ["a", "b"]),
        ({"type": "array", "items": {"type": "string"}}, {"answer": ["a"]}, ["a"]),
        ({"type": "integer"}, "12", 12),
        ({"type": "string", "enum": ["yes", "no"]}, "yes", "yes"),
        ({"type": "string", "enum": ["yes", "no"]}, " yes\n", "yes"),
        ({"type": "string", "enum": ["yes", "no"]}, '{"answer": "no"}', "no"),
        ({"anyOf": [NUMBER, {"type": "null"}]}, "null", None),
        ({"$ref": "#/$defs/x", "$defs": {"x": NUMBER}}, {"n": 1}, {"n": 1}),
        ({"type": "string", "maxLength": 3}, " abc\n", "abc"),
    ],
)
async def test_any_json_value_can_be_asked_for(produces: Any, answer: Any, output: Any) -> None:
    """Providers give objects, so others are asked for inside of one."""
    async with asking(scripted({"answer": answer}, produces=produces)) as ask:
        result = await ask("model", {"say": "it"})
    assert (result.error, result.output) == (None, output)


@pytest.mark.parametrize(
    "answer", ["three", '{"n": "three"}', '{"n": 3', "[" * 5_000, '{"n": 3}' * 2, '{"a":' * 300 + "1" + "}" * 300, "  "]
)
async def test_an_answer_that_does_not_fit_is_a_business_error_with_its_beginning(answer: str) -> None:
    """ACT-1: the infrastructure does not try again."""
    async with asking(scripted({"answer": answer}, produces=NUMBER)) as ask:
        failure = await ask.fails("model", {"say": "three"})
    assert failure.code == "ANSWER_MISFIT"
    assert not failure.retryable
    assert failure.details["answer"] == (answer if len(answer) <= 500 else answer[:499] + "…")


async def test_the_retry_of_the_task_acts_on_a_wrong_answer() -> None:
    """RET-2: the same prompt of a run gets the next scripted answer."""
    retry = {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 0}
    async with asking(scripted("no", {"n": 7}, produces=NUMBER)) as ask:
        result = await ask("model", {"say": "seven"}, task={"retry": retry}, step={"on_failure": "retry"})
    assert (result.output, result.attempts) == ({"n": 7}, 2)
    assert result.usage.output_tokens == 1 + 2  # of both


async def test_produces_of_the_action_counts_before_that_of_the_prompt() -> None:
    """ACT-10."""
    async with asking(scripted("12", produces=NUMBER)) as ask:
        assert (await ask("model", {"say": "x"}, produces={"type": "integer"})).output == 12


async def test_the_input_must_have_what_the_prompt_requires() -> None:
    """ACT-1: and nothing is asked if it has not."""
    resources = scripted("never")
    requires = {"type": "object", "required": ["say"], "properties": {"say": {"type": "string"}}}
    resources.prompt("prompt", "{{say}}", requires=requires)
    async with asking(resources) as ask:
        for input in ({}, {"say": 1}, ["say"], "say"):
            failure = await ask.fails("model", input)
            assert failure.code == "PROMPT_INPUT_SCHEMA"
            assert "prompt" in failure.message


async def test_values_are_never_read_as_templates() -> None:
    """ACT-9: what a value says in braces stays what it says, also with secrets in it."""
    resources = scripted()
    resources.prompt("prompt", "{{say}} {{input.say}} {{secrets.KEY}}|{{this.missing}}")
    async with asking(resources) as ask:
        result = await ask("model", {"say": "{{secrets.KEY}} {{#each x}}", "secrets": {"KEY": "mine"}})
    assert result.output == "{{secrets.KEY}} {{#each x}} {{secrets.KEY}} {{#each x}} |"


async def test_without_a_model_the_default_of_the_project_is_asked() -> None:
    """ACT-10; without either, the error says what to set."""
    resources = scripted("default")
    async with asking(resources) as ask:
        assert (await ask.fails(None, {"say": "x"})).code == "NO_MODEL"
        resources.project = resources.project.model_copy(update={"default_model_profile_id": "model"})
        assert (await ask(None, {"say": "x"})).output == "default"


async def test_act_1_one_prompt_is_asked_of_several_models() -> None:
    """ACT-1: so that they can be compared; each answer is priced by its own profile."""
    usage = {"input_tokens": 1_000, "output_tokens": 0}
    resources = scripted({"answer": "dear", "usage": usage}, cost_per_1k_input_tokens=5.0)
    resources.model("cheap", "mock", {"answers": [{"answer": "cheap", "usage": usage}]}, cost_per_1k_input_tokens=1.0)
    async with asking(resources) as ask:
        answers = [await ask(model, {"say": "x"}) for model in ("model", "cheap")]
    assert [(one.output, one.usage.cost_usd) for one in answers] == [("dear", 5.0), ("cheap", 1.0)]


async def test_a_provider_that_the_workspace_does_not_allow_is_not_asked() -> None:
    """RES-6: null allows all, [] none; what changes counts at once."""
    resources = scripted("allowed")
    async with asking(resources) as ask:
        for allowed, code in (([], "PROVIDER_NOT_ALLOWED"), (["openai"], "PROVIDER_NOT_ALLOWED"), (["mock"], None)):
            resources.workspace = resources.workspace.model_copy(update={"allowed_model_providers": allowed})
            error = (await ask("model", {"say": "x"})).error
            assert (error and error.code) == code


async def test_a_model_that_is_not_there_is_an_error_that_names_it() -> None:
    """RES-2: models are read when they are used."""
    async with asking(scripted("x")) as ask:
        result = await ask("other", {"say": "x"})
    assert result.error
    assert result.error.code == "NOT_FOUND"
    assert "'other'" in result.error.message


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        ("cut_off", "ANSWER_CUT_OFF"),
        ("refused", "ANSWER_REFUSED"),
        ("filtered", "ANSWER_FILTERED"),
        ("tool_call", "ANSWER_UNASKED"),
    ],
)
async def test_an_answer_that_did_not_end_by_itself_has_a_code_of_its_own(ended: str, code: str) -> None:
    """ACT-1: even where what was said so far would fit; the tokens count."""
    async with asking(scripted({"answer": {"n": 1}, "ended": ended}, produces=NUMBER)) as ask:
        result = await ask("model", {"say": "one"})
    assert result.error
    assert (result.error.code, result.error.retryable) == (code, False)
    assert result.usage.output_tokens == 2


async def test_an_answer_without_words_is_an_error() -> None:
    """A text that is empty is no answer."""
    async with asking(scripted({"answer": " "})) as ask:
        assert (await ask.fails("model", {"say": "x"})).code == "ANSWER_EMPTY"


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        *[(status, True) for status in (408, 425, 429, 500, 502, 503, 504, 529)],
        *[(status, False) for status in (302, 400, 401, 403, 404, 413, 422)],
    ],
)
async def test_a_failure_is_retryable_exactly_where_the_list_says_so(status: int, retryable: bool) -> None:
    """RET-1."""
    error = {"error": {"status": status, "message": "no", "retry_after_ms": 70}}
    async with asking(scripted(error)) as ask:
        failure = await ask.fails("model", {"say": "x"})
    assert (failure.retryable, failure.retry_after_ms) == (retryable, 70 if retryable else None)
    assert f"HTTP_{status}" in failure.names
    assert "no; " in failure.message  # and what to do about it


async def test_a_retryable_failure_is_tried_again_by_the_policy_of_the_action() -> None:
    """RET-1: after as long as the provider asks for."""
    policy = {"max_attempts": 3, "backoff": "none", "initial_delay_ms": 0}
    error = {"error": {"status": 429, "retry_after_ms": 40}}
    async with asking(scripted(error, error, "there")) as ask:
        result = await ask("model", {"say": "x"}, execution={"retry_policy": policy})
    assert (result.output, result.steps[0].attempts) == ("there", 3)
    assert result.steps[0].duration_ms >= 80


async def test_what_was_used_is_reported_at_the_prices_of_the_profile() -> None:
    """ACT-1: tokens and cost, also of an attempt that failed after the provider had counted."""
    prices = {"cost_per_1k_input_tokens": 2.0, "cost_per_1k_output_tokens": 10.0}
    answer = {"answer": "x", "usage": {"input_tokens": 500, "output_tokens": 100}}
    async with asking(scripted(answer, produces={}, **prices)) as ask:
        usage = (await ask("model", {"say": "x"})).usage
        assert (usage.input_tokens, usage.output_tokens, usage.cost_usd) == (500, 100, 2.0)
        failed = await ask("model", {"say": "x"}, produces=NUMBER)
        assert failed.error
        assert failed.usage == usage


async def test_partial_text_is_shown_to_whoever_watches() -> None:
    """ACT-1: in pieces that together are the answer."""
    said = "Once upon a time, there was a model that spoke in many, many words. " * 3
    async with asking(scripted(said)) as ask:
        await ask("model", {"say": "a story"})
    assert "".join(shown["text"] for shown in ask.shown) == said
    assert [shown["offset"] for shown in ask.shown] == sorted({shown["offset"] for shown in ask.shown})


class Budget:
    """Spending that notes what it is asked."""

    def __init__(self) -> None:
        self.reserved: list[float] = []
        self.settled: list[float] = []
        self.ended = 0

    def charge(self, cost_usd: float) -> None:
        """Note a cost."""
        self.settled.append(cost_usd)

    @asynccontextmanager
    async def call(self, context: ActionContext, tenancy: Tenancy, worst_case_usd: float) -> AsyncIterator["Budget"]:
        """Note a reservation."""
        assert (context.origin.project_id, tenancy.project_id) == ("project", "project")
        self.reserved.append(worst_case_usd)
        try:
            yield self
        finally:
            self.ended += 1


async def test_the_worst_case_is_reserved_before_a_call_and_its_cost_settled_after_it() -> None:
    """RES-6: also when it fails, and nothing where the provider took nothing."""
    budget = Budget()
    prices = {"cost_per_1k_input_tokens": 1.0, "cost_per_1k_output_tokens": 1.0, "parameters": {"max_tokens": 1000}}
    answers = [{"answer": "x", "usage": {"input_tokens": 3, "output_tokens": 1}}, {"error": {"status": 500}}]
    async with asking(scripted(*answers, **prices), budget) as ask:
        await ask("model", {"say": "hello"})
        await ask("model", {"say": "hello"})
    assert budget.settled == [pytest.approx(0.004), 0.0]
    assert budget.ended == 2
    assert budget.reserved == [pytest.approx(1.037)] * 2  # 5 bytes and what stands around them, and all of max_tokens


async def test_a_call_that_is_cancelled_or_late_ends_and_counts_what_may_be_charged() -> None:
    """RET-3: the time-out of the profile is an infrastructure error."""
    budget = Budget()
    prices = {"cost_per_1k_input_tokens": 1.0, "cost_per_1k_output_tokens": 1.0}
    slow = {"answer": "x", "delay_ms": 60_000}
    resources = scripted(slow, **prices)
    async with asking(resources, budget) as ask:
        result = await ask("model", {"say": "x"}, execution={"timeout_ms": 30})
        assert result.error
        assert result.error.code == "ACTION_TIMEOUT"
        resources.model("model", "mock", {"answers": [slow], "timeout_ms": 30}, **prices)
        failure = await ask.fails("model", {"say": "x"})
        assert (failure.code, failure.retryable) == ("PROVIDER_TIMEOUT", True)
    assert budget.ended == 2
    assert budget.settled == []  # so that the worst case counts


async def test_many_calls_at_once_do_not_mix() -> None:
    """Each gets what it asked for."""
    resources = scripted(*[{"when": f"<{i}>", "answer": f"answer {i}", "delay_ms": i % 7} for i in range(100)])
    async with asking(resources) as ask:
        results = await asyncio.gather(*[ask("model", {"say": f"<{i}>"}) for i in range(100)])
    assert [result.output for result in results] == [f"answer {i}" for i in range(100)]


async def test_the_mock_gives_a_value_of_the_schema_or_what_it_was_asked_where_nothing_is_scripted() -> None:
    """So that a sample runs without a script."""
    produces = {
        "type": "object",
        "properties": {
            "verdict": {"enum": ["good", "bad"]},
            "score": {"type": "integer", "minimum": 3},
            "reasons": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "sure": {"type": "boolean"},
        },
        "required": ["verdict", "score", "reasons", "sure"],
    }
    async with asking(scripted(produces=produces)) as ask:
        assert (await ask("model", {"say": "x"})).output == {
            "verdict": "good",
            "score": 3,
            "reasons": ["text", "text"],
            "sure": True,
        }
    async with asking(scripted()) as ask:
        assert (await ask("model", {"say": "echo"})).output == "echo"


async def test_a_script_with_a_mistake_says_where() -> None:
    """Bad input of any kind gets a clear error."""
    async with asking(scripted({"answer": 1, "delay": 3})) as ask:
        failure = await ask.fails("model", {"say": "x"})
    assert failure.code == "BAD_EXECUTION_CONFIG"
    assert "'delay'" in failure.message


async def test_a_library_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install."""
    resources = scripted()
    resources.model("model", "google", {"api_key": "k"})
    monkeypatch.setitem(sys.modules, "wonder.actions.llm_call.google", None)
    async with asking(resources) as ask:
        failure = await ask.fails("model", {"say": "x"})
    assert failure.code == "EXTRA_MISSING"
    assert "pip install 'wonder-workflows[llm]'" in failure.message
