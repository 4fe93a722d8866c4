"""The `execution_config` of a model, and what a call costs."""

import logging
from dataclasses import replace
from typing import Any

import pytest

from support.llm_peers import KnownSecrets
from support.stored_records import model
from wonder.actions.llm_call.connection import Connection, Connections
from wonder.actions.llm_call.question import Question, Turn
from wonder.actions.money.model_prices import Prices
from wonder.actions.money.tokens import Used
from wonder.actions.protocol import ActionFailed
from wonder.actions.resources import SecretMissing
from wonder.definitions.records.resources import ModelParameters
from wonder.definitions.records.tenancy import WorkspaceSettings


async def connect(provider: str, config: dict[str, Any] | None, **secrets: str) -> Connection:
    """Read the configuration of a profile."""
    profile = model("m", "project", provider=provider, execution_config=config)
    return await Connections(KnownSecrets(secrets)).of(profile, WorkspaceSettings(), local=True)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no key of whoever runs the tests count."""
    for name in ("ANTHROPIC", "OPENAI", "GOOGLE", "GEMINI", "CLOUDFLARE"):
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    monkeypatch.delenv("CLOUDFLARE_API_TOKEN", raising=False)
    monkeypatch.delenv("CLOUDFLARE_ACCOUNT_ID", raising=False)


@pytest.mark.parametrize(
    ("provider", "config", "told"),
    [
        ("openai", {"api_key": "k", "api_base": "x"}, "there is no 'api_base' (known: api_key, base_url, headers"),
        ("openai", {"api_key": 3}, "api_key: "),
        ("openai", {"api_key": "k", "timeout_ms": 0}, "timeout_ms: "),
        ("openai", {"api_key": "{{input.key}}"}, "api_key reads more than secrets"),
        ("openai", {"api_key": "{{secrets}}"}, "api_key reads more than secrets"),
        ("openai", {"api_key": "{{#each secrets}}{{this}}{{/each}}"}, "api_key reads more than secrets"),
        ("openai", {"api_key": "{{secrets.A"}, "api_key can't be read"),
        ("openai", {"api_key": "k", "base_url": "ftp://x"}, "base_url is no address of HTTP"),
        ("openai", {"api_key": "k", "base_url": "https://"}, "base_url is no address of HTTP"),
        ("openai", {"api_key": "k", "headers": {"X": "{{secrets.BROKEN}}"}}, "line break"),
        ("openai", {"api_key": "k", "headers": {"hOST": "other.example"}}, "header 'hOST' can't be given"),
        ("local", {}, "base_url is missing"),
        ("local", None, "base_url is missing"),
        ("cloudflare", {"api_key": "k"}, "account_id is missing"),
        ("cloudflare", {"api_key": "k", "account_id": "../../x"}, "account_id is missing or wrong"),
    ],
)
async def test_a_configuration_that_can_not_be_used_says_why(provider: str, config: Any, told: str) -> None:
    """Unknown keys, wrong types, templates that read what they must not."""
    with pytest.raises(ActionFailed) as failed:
        await connect(provider, config, A="a-secret", BROKEN="x\r\nX-Evil: 1")
    assert failed.value.code == "BAD_EXECUTION_CONFIG"
    assert told in failed.value.message
    assert "model 'm'" in failed.value.message
    assert "Evil" not in failed.value.message


@pytest.mark.parametrize("model_id", ["x:other#", "x/%2e%2e/y", "x?y=", "x\\y", "x y"])
async def test_a_model_of_google_leads_to_no_other_part_of_its_api(model_id: str) -> None:
    """The model is in the path there; and a model that was good a moment ago may have another id now."""
    connections = Connections(KnownSecrets({}))
    for id, is_good in (("gemini-2.5-flash", True), ("tunedModels/a-1", True), (model_id, False)):
        profile = model("m", "project", provider="google", model_id=id, execution_config={"api_key": "k"})
        if is_good:
            await connections.of(profile, WorkspaceSettings(), local=True)
        else:
            with pytest.raises(ActionFailed, match="not the model_id"):
                await connections.of(profile, WorkspaceSettings(), local=True)


async def test_secrets_are_filled_in_where_they_go_out() -> None:
    """`{{secrets.NAME}}` in the key, the address and the headers; one that is missing is named."""
    config = {
        "api_key": "{{secrets.A}}",
        "base_url": "https://{{secrets.HOST}}/v1",
        "headers": {"X-Team": "team {{secrets.TEAM}}"},
    }
    made = await connect("openai", config, A="key", HOST="host.example", TEAM="t")
    assert (made.api_key, made.base_url, made.headers) == ("key", "https://host.example/v1", (("X-Team", "team t"),))
    assert "key" not in repr(made)
    with pytest.raises(SecretMissing, match="'TEAM'"):
        await connect("openai", config, A="key", HOST="host.example")


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY"), ("google", "GEMINI_API_KEY")],
)
async def test_the_key_of_the_environment_is_for_the_providers_own_address(
    provider: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And for no other, because whoever may define a model could have it sent to himself."""
    with pytest.raises(ActionFailed, match="has no api_key"):
        await connect(provider, None)
    monkeypatch.setenv(variable, "operators-key")
    made = await connect(provider, None)
    assert made.api_key == "operators-key"
    assert made.base_url.startswith("https://")
    with pytest.raises(ActionFailed, match="only sent to the provider's own address") as failed:
        await connect(provider, {"base_url": "https://elsewhere.example"})
    assert "operators-key" not in failed.value.message


async def test_cloudflare_is_reached_by_its_account() -> None:
    """Over the OpenAI-compatible wire."""
    made = await connect("cloudflare", {"api_key": "k", "account_id": "abc123"})
    assert made.base_url == "https://api.cloudflare.com/client/v4/accounts/abc123/ai/v1"


def test_the_prices_of_a_profile_count_before_the_published_ones() -> None:
    """Per thousand tokens, those read from a cache included."""
    own = model("m", "project", provider="openai", cost_per_1k_input_tokens=1.0, cost_per_1k_output_tokens=2.0)
    assert Prices(lambda: 0).cost_usd(own, Used(2_000, 500, 1_000)) == 3.0


def test_one_price_is_enough_for_a_model_that_would_be_free_without() -> None:
    half = model("m", "project", provider="local", cost_per_1k_output_tokens=2.0)
    assert Prices(lambda: 0).cost_usd(half, Used(1_000, 500)) == 1.0


def test_a_question_counts_the_bytes_of_its_schema_as_they_are_sent() -> None:
    """RES-6: the worst case is one token for each byte, and a character may be six of them."""
    parameters = ModelParameters.model_validate({"max_tokens": 1})
    schema = {"enum": ["☃" * 1_000]}
    plain = Question("m", parameters, None, (Turn("user", "x"),))
    assert replace(plain, schema=schema).size_bytes >= plain.size_bytes + 6_000


def test_published_prices_know_caches_and_long_prompts() -> None:
    """What is read from a cache is cheaper; a long prompt may have prices of its own."""
    prices = Prices(lambda: 0)
    small = model("m", "project", provider="openai", model_id="gpt-4o-mini")
    plain = prices.cost_usd(small, Used(1_000_000, 0))
    assert plain == pytest.approx(0.15)
    assert 0 < prices.cost_usd(small, Used(1_000_000, 0, 1_000_000)) < plain
    tiered = model("m", "project", provider="google", model_id="gemini-2.5-pro")
    assert prices.cost_usd(tiered, Used(300_000, 0)) > 5 * prices.cost_usd(tiered, Used(100_000, 0))
    assert prices.cost_usd(tiered, Used(1_000, 10, 10**9, 10**9)) > 0


def test_an_unknown_price_counts_nothing_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A person can see that what it costs is not counted, and what to set."""
    prices = Prices(lambda: 0)
    unknown = model("mine", "project", provider="openai", model_id="no-such-model")
    with caplog.at_level(logging.WARNING, "wonder"):
        assert [prices.cost_usd(unknown, Used(1_000, 10)) for _ in range(3)] == [0.0] * 3
        free = model("m", "project", provider="local", model_id="no-such-model")
        assert prices.cost_usd(free, Used(1_000, 10)) == 0.0
    (record,) = caplog.records
    assert "cost_per_1k_input_tokens" in record.getMessage()
